package engine

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// failureLasts is how long a failure to list or watch is held to be the present state of a
// cache that was filled before: informers try again at least twice as often.
const failureLasts = 2 * time.Minute

// ListFailures remembers why informers could not list or watch, by resource. All loops of a
// process share one, as they share informers. Safe for concurrent use.
type ListFailures struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[string]listFailure
}

type listFailure struct {
	text string
	at   time.Time
}

// NewListFailures knows of none.
func NewListFailures(c clock.PassiveClock) *ListFailures {
	return &ListFailures{clock: c, last: map[string]listFailure{}}
}

// follow has an informer, which must not have been started, tell of its failures.
func (f *ListFailures) follow(resource string, informer cache.SharedIndexInformer) error {
	return informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		f.note(resource, err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
}

// note takes a failure. A watch that ends is none: it is begun again.
func (f *ListFailures) note(resource string, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	text := err.Error()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) { // Without the types of a library around it.
		text = status.Status().Message
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[resource] = listFailure{redact.Line(text), f.clock.Now()}
}

// of is why a resource cannot be listed now, "" for nothing.
func (f *ListFailures) of(resource string, synced bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.last[resource]
	if synced && f.clock.Since(x.at) >= failureLasts {
		return ""
	}
	return x.text
}
