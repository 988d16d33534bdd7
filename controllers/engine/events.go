package engine

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// lastEventsWithin is how long the end of a loop waits for the events of its last syncs.
const lastEventsWithin = 3 * time.Second

// broadcast starts the event pipeline, until end is called, which waits until what was handed
// over is sent or ctx ends. In watch mode events go nowhere.
func (l *Loop) broadcast(ctx context.Context) (end func()) {
	b := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	l.recorder = b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: l.component})
	if l.opts.Mode != Act { // Where another process leads there are none to send.
		return b.Shutdown
	}
	s := eventSink{&typedcorev1.EventSinkImpl{Interface: l.client.CoreV1().Events("")}, make(chan struct{})}
	b.StartRecordingToSink(s)
	return func() {
		s.drain(ctx, l.recorder)
		b.Shutdown()
	}
}

// eventSink sends events, one after the other, until the one that ends them. client-go's Shutdown
// drops what waits to be sent.
type eventSink struct {
	record.EventSink
	drained chan struct{}
}

// endOfEvents is what the last event is about. It is not sent.
var endOfEvents = corev1.ObjectReference{Kind: "Loop", Namespace: corev1.NamespaceDefault, Name: "end-of-events"}

// drain waits until everything that recorder was given before is sent.
func (s eventSink) drain(ctx context.Context, recorder record.EventRecorder) {
	ctx, cancel := context.WithTimeout(ctx, lastEventsWithin)
	defer cancel()
	recorder.Event(&endOfEvents, corev1.EventTypeNormal, "Ended", "")
	select {
	case <-s.drained:
	case <-ctx.Done():
	}
}

// Create implements record.EventSink.
func (s eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	if e.InvolvedObject == endOfEvents {
		close(s.drained)
		return e, nil
	}
	return s.EventSink.Create(e)
}
