package leadership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// watchedLock tells what becomes of every request, and makes no Lease that may not be made.
type watchedLock struct {
	resourcelock.Interface
	namespace string
	note      func(ctx context.Context, record *resourcelock.LeaderElectionRecord, write bool, err error)
	free      func() error // nil where nobody may still hold a Lease that is gone
}

func (l watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.note(ctx, record, false, err)
	return record, raw, err
}

func (l watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.free(); err != nil {
		return err
	}
	err := l.explain(l.Interface.Create(ctx, record))
	l.note(ctx, &record, true, err)
	return err
}

// explain says what is wrong with the namespace in which a Lease could not be made, where that is why.
func (l watchedLock) explain(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("namespace %s does not exist: create it, or name another one with --leader-elect-resource-namespace", l.namespace)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("namespace %s is being deleted: create it again once it is gone, or name another one with --leader-elect-resource-namespace", l.namespace)
	}
	return err
}

func (l watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.note(ctx, &record, true, err)
	return err
}

// late reports whether a request failed because the election itself did not wait longer, or the
// client's rate limiter would not have let it through in that time: the API server did not answer
// badly.
func late(ctx context.Context, err error) bool {
	_, bounded := ctx.Deadline()
	return bounded && err != nil && (errors.Is(ctx.Err(), context.DeadlineExceeded) || strings.Contains(err.Error(), "would exceed context deadline"))
}

// eventWithin is how long the API server may take to accept an event.
const eventWithin = time.Second

// events writes the events of a Lease at once: those of a broadcaster may come after the
// end of the process, which is what the last one is about.
type events struct {
	client typedcorev1.EventsGetter
	logger *slog.Logger
}

// Eventf writes an event of an object that has a name.
func (e events) Eventf(of runtime.Object, kind, reason, format string, args ...any) {
	m, err := meta.Accessor(of)
	if err != nil {
		return
	}
	now, gvk := metav1.Now(), of.GetObjectKind().GroupVersionKind()
	ctx, cancel := context.WithTimeout(context.Background(), eventWithin)
	defer cancel()
	_, err = e.client.Events(m.GetNamespace()).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: m.GetNamespace(), Name: m.GetName() + "." + strconv.FormatInt(now.UnixNano(), 16)},
		InvolvedObject: corev1.ObjectReference{Kind: gvk.Kind, APIVersion: gvk.GroupVersion().String(), Namespace: m.GetNamespace(), Name: m.GetName()},
		Type:           kind, Reason: reason, Message: fmt.Sprintf(format, args...), Source: corev1.EventSource{Component: "loopscope"},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil {
		e.logger.Warn("The event of a Lease was not written", "lease", m.GetNamespace()+"/"+m.GetName(), "event", fmt.Sprintf(format, args...), "error", err)
	}
}
