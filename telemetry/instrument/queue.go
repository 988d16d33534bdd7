package instrument

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/queue"
)

// Queue is a rate-limiting work queue that records every sync of its keys: from Get to
// Done, with everything that led to it. It takes the place of client-go's, whose rules
// are its own; a key reads "namespace/name" when printed, or "name". It runs from the
// beginning. All methods are safe for concurrent use.
type Queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	known *known[K] // nil where it is switched off
}

// known is what is recorded of the keys of a queue.
type known[K comparable] struct {
	controller *Controller
	queue      *queue.Queue[K]

	mu      sync.Mutex
	syncs   map[K]*syncUnderWay
	objects map[K]identity
	gone    map[K]bool // of those that were deleted, the last ones
	// announced are the causes of the next Add of a key.
	announced map[K][]telemetry.Cause
	ended     bool
	draining  bool      // ShutDownWithDrain waits
	idle      sync.Cond // a key is done, or draining has ended
}

// identity is what is known of an object beyond its name.
type identity struct {
	uid   types.UID
	owner string
}

// NewQueue is the queue of a controller. A limiter of nil is client-go's default for
// controllers. In controller-runtime it is what Options.NewQueue returns.
func NewQueue[K comparable](c *Controller, limiter workqueue.TypedRateLimiter[K]) *Queue[K] {
	if limiter == nil {
		limiter = workqueue.DefaultTypedControllerRateLimiter[K]()
	}
	if c.Off() {
		return &Queue[K]{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueue(limiter)}
	}
	k := &known[K]{controller: c, queue: queue.New(queue.Options[K]{Name: c.loop.Name, Limiter: limiter, Text: text[K]}), syncs: map[K]*syncUnderWay{}, objects: map[K]identity{}, gone: map[K]bool{}, announced: map[K][]telemetry.Cause{}}
	k.idle.L = &k.mu
	k.queue.Start()
	c.mu.Lock()
	c.queue = k.queue.State
	c.mu.Unlock()
	return &Queue[K]{TypedRateLimitingInterface: k, known: k}
}

// text is a key as it is printed. Some print a namespace of "" with its slash.
func text[K comparable](key K) string { return strings.TrimPrefix(fmt.Sprint(key), "/") }

// Sync calls the handler of a key that was taken from the queue. What it does with the
// context that it gets is recorded: its writes, if their client has the Transport, and
// what it asks and holds back.
func (q *Queue[K]) Sync(ctx context.Context, key K, handle func(context.Context, K) error) error {
	if q.known == nil {
		return handle(ctx, key)
	}
	s := q.known.of(key)
	if s == nil {
		return handle(ctx, key)
	}
	return s.run(ctx, func(ctx context.Context) error { return handle(ctx, key) })
}

// Because is a way into the queue for keys that have this cause.
func (q *Queue[K]) Because(cause telemetry.Cause) Adder[K] { return Adder[K]{q, cause} }

// Adder adds keys to a queue for one cause.
type Adder[K comparable] struct {
	queue *Queue[K]
	cause telemetry.Cause
}

// Add makes the key run as soon as a worker is free.
func (a Adder[K]) Add(key K) {
	if k := a.queue.known; k != nil {
		k.queue.Enqueue(key, a.cause)
		return
	}
	a.queue.TypedRateLimitingInterface.Add(key)
}

// AddAfter makes the key run after that time, or earlier.
func (a Adder[K]) AddAfter(key K, wait time.Duration) {
	if k := a.queue.known; k != nil {
		k.queue.EnqueueAfter(key, a.cause, wait)
		return
	}
	a.queue.TypedRateLimitingInterface.AddAfter(key, wait)
}

// What is announced is forgotten when no Add has followed for announcedFor, by the time
// that there are mostAnnounced keys.
const (
	announcedFor  = time.Second
	mostAnnounced = 4096
)

// announce keeps the cause of an Add of the key that is about to follow.
func (k *known[K]) announce(key K, cause telemetry.Cause) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.announced) >= mostAnnounced {
		maps.DeleteFunc(k.announced, func(_ K, list []telemetry.Cause) bool { return !recent(list[len(list)-1]) })
	}
	if len(k.announced) < mostAnnounced && len(k.announced[key]) < maxTimers {
		k.announced[key] = append(k.announced[key], cause)
	}
}

func recent(c telemetry.Cause) bool { return time.Since(c.At) < announcedFor }

// why are the causes of an Add.
func (k *known[K]) why(key K) []telemetry.Cause {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := slices.DeleteFunc(k.announced[key], func(c telemetry.Cause) bool { return !recent(c) })
	delete(k.announced, key)
	if len(list) == 0 {
		list = append(list, telemetry.Cause{Kind: telemetry.CauseAsked})
	}
	return list
}

// mostGone bounds the objects of which is kept that they are gone. What has its key run later, as an
// old back-off or the end of what it owned, says nothing of it.
const mostGone = 4096

// saw notes what an object of the controller's own kind is, or with nil that it is gone.
func (k *known[K]) saw(key K, o metav1.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o == nil {
		delete(k.objects, key)
		if len(k.gone) >= mostGone {
			clear(k.gone)
		}
		k.gone[key] = true
		return
	}
	delete(k.gone, key)
	id := identity{uid: o.GetUID()}
	if ref := metav1.GetControllerOf(o); ref != nil {
		id.owner = ref.Name
	}
	k.objects[key] = id
}

func (k *known[K]) of(key K) *syncUnderWay {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.syncs[key]
}

// Add implements workqueue.TypedInterface.
func (k *known[K]) Add(key K) {
	for _, cause := range k.why(key) {
		k.queue.Enqueue(key, cause)
	}
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (k *known[K]) AddAfter(key K, wait time.Duration) {
	if wait <= 0 {
		k.Add(key)
		return
	}
	due := time.Now().Add(wait).Round(10 * time.Millisecond) // Syncs that want the same time find it a little apart.
	if s := k.of(key); s != nil {
		s.note(func() {
			if len(s.trace.Timers) < maxTimers {
				s.trace.Timers = append(s.trace.Timers, decision.Timer{At: due, Code: telemetry.CodeRequeue})
			}
		})
	}
	k.queue.EnqueueAfter(key, telemetry.Cause{Kind: telemetry.CauseTimer, Code: telemetry.CodeRequeue, Due: due}, wait)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface: the sync is tried again.
func (k *known[K]) AddRateLimited(key K) {
	s := k.of(key)
	code := string(telemetry.ResultFailed)
	if s != nil {
		s.note(func() { code = string(s.result()) })
	}
	next := k.queue.Retry(key, telemetry.Cause{Kind: telemetry.CauseBackoff, Code: code})
	if s == nil {
		return
	}
	tries := int64(k.queue.NumRequeues(key))
	s.note(func() {
		s.trace.Try = decision.Try{Number: tries, Next: next}
		if !next.IsZero() { // Otherwise the queue was shut down.
			s.trace.Timers = append(s.trace.Timers, decision.Timer{At: next, Code: telemetry.CodeBackoff})
		}
	})
}

// Forget implements workqueue.TypedRateLimitingInterface. The failures of a sync that
// failed now are forgotten where nobody will try it again.
func (k *known[K]) Forget(key K) { k.queue.Forget(key) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (k *known[K]) NumRequeues(key K) int { return k.queue.NumRequeues(key) }

// Len implements workqueue.TypedInterface.
func (k *known[K]) Len() int { return k.queue.Len() }

// Get implements workqueue.TypedInterface. A sync begins.
func (k *known[K]) Get() (key K, shutdown bool) {
	w, shutdown := k.queue.Get()
	if shutdown {
		return key, true
	}
	namespace, name := telemetry.SplitKey(text(w.Key))
	t := &telemetry.Trace{
		Object: telemetry.Object{Loop: k.controller.loop.Name, Namespace: namespace, Name: name},
		Causes: w.Causes, Folded: w.Folded, TakenBy: w.TakenBy, Queued: w.Queued, Started: time.Now(),
	}
	if t.Causes == nil {
		t.Causes = []telemetry.Cause{}
	}
	t.Worker = k.controller.enter(t.Wait())
	s := &syncUnderWay{controller: k.controller, trace: t}
	k.mu.Lock()
	defer k.mu.Unlock()
	id, found := k.objects[w.Key]
	t.UID, t.Owner = string(id.uid), id.owner
	s.gone = !found && (k.gone[w.Key] || deleted(t.Causes, k.controller.loop.Kind+" "+name))
	k.syncs[w.Key] = s
	return w.Key, false
}

// deleted reports whether the end of an object is among the causes.
func deleted(causes []telemetry.Cause, object string) bool {
	return slices.ContainsFunc(causes, func(c telemetry.Cause) bool {
		return c.Object == object && (c.Kind == telemetry.CauseDeleted || c.Kind == telemetry.CauseTombstone)
	})
}

// Done implements workqueue.TypedInterface. The sync is over and recorded.
func (k *known[K]) Done(key K) {
	s := k.take(key)
	if s != nil {
		t := s.finish(time.Now())
		k.controller.ours(t)
		k.controller.leave(t.Worker)
		k.controller.record(t)
		k.queue.Taken(key, t.Seq)
	}
	k.queue.Done(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle.Broadcast()
}

// take ends a sync for everybody who looks for it; nil where the key is with no worker.
func (k *known[K]) take(key K) *syncUnderWay {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.syncs[key]
	delete(k.syncs, key)
	return s
}

// ShutDown implements workqueue.TypedInterface. A ShutDownWithDrain that waits stops waiting.
func (k *known[K]) ShutDown() { k.end(false) }

// ShutDownWithDrain implements workqueue.TypedInterface: it waits until no worker has a key,
// or for ShutDown. As with client-go's, ready keys that no worker takes are not waited for.
func (k *known[K]) ShutDownWithDrain() {
	k.end(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	// The queue itself is asked: it knows of a key from the moment that a worker takes it.
	for k.draining && k.queue.Phases().Busy > 0 {
		k.idle.Wait()
	}
}

// end shuts the queue down. draining is whether somebody waits for the workers from now on.
func (k *known[K]) end(draining bool) {
	k.mu.Lock()
	k.ended, k.draining = true, draining
	k.idle.Broadcast()
	k.mu.Unlock()
	k.queue.ShutDown()
}

// ShuttingDown implements workqueue.TypedInterface.
func (k *known[K]) ShuttingDown() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended
}
