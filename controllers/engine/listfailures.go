package engine

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// failureLasts is how long a failure to list or watch is held to be the present state of
	// a cache that was filled before: informers try again at least twice as often.
	failureLasts = 2 * time.Minute
	// failureCounts is how long it has to have failed: once is no news.
	failureCounts = 20 * time.Second
)

// ListFailures remembers why informers could not list or watch, by resource. All loops of a
// process share one, as they share informers. Safe for concurrent use.
type ListFailures struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[string]listFailure
}

type listFailure struct {
	text        string
	unserved    bool // the API server knows no such resource
	first, last time.Time
	rv          string // that the cache had come to: with another one it has gone on since
}

// NewListFailures knows of none.
func NewListFailures(c clock.PassiveClock) *ListFailures {
	return &ListFailures{clock: c, last: map[string]listFailure{}}
}

// follow has an informer, which must not have been started, tell of its failures.
func (f *ListFailures) follow(resource string, informer cache.SharedIndexInformer) error {
	return informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		f.note(resource, r.LastSyncResourceVersion(), err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
}

// note takes a failure. A watch that ends is none: it is begun again.
func (f *ListFailures) note(resource, rv string, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	text := err.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) { // Without the types of a library around it.
		text = status.Status().Message
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	x := listFailure{text: redact.Line(text), unserved: apierrors.IsNotFound(err), first: now, last: now, rv: rv}
	if old, known := f.last[resource]; known && old.rv == rv && now.Sub(old.last) < failureLasts {
		x.first = old.first
	}
	f.last[resource] = x
}

// of is why the cache of a resource that has come to rv cannot be filled or kept up to date
// now, zero for nothing.
func (f *ListFailures) of(resource, rv string, synced bool) listFailure {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.last[resource]
	if synced && (rv != x.rv || f.clock.Since(x.last) >= failureLasts || x.last.Sub(x.first) < failureCounts) {
		return listFailure{}
	}
	return x
}

// Forget drops what is remembered: it was the API server that was away. What that does not
// serve it did not serve before either.
func (f *ListFailures) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.last, func(_ string, x listFailure) bool { return !x.unserved })
}
