// Package queue is client-go's rate-limiting work queue that knows why every key is
// in it, where it is, and since when. It may not decide, write, or know what a key
// stands for: the loops of this program and those of others use the same one.
package queue

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry"
)

// Options says how a queue is built.
type Options[K comparable] struct {
	// Name is the label of the queue's metrics.
	Name string
	// Metrics takes the workqueue metrics; nil for none. The process-wide
	// provider of client-go is never used.
	Metrics workqueue.MetricsProvider
	// Clock is the real one if nil.
	Clock clock.WithTicker
	// Limiter paces retries. Nil is client-go's default for controllers: the
	// longer of 5 ms doubling to 1000 s per key and 10 a second, burst 100, for
	// the whole queue ([W-1]).
	Limiter workqueue.TypedRateLimiter[K]
	// Text is how a key is written in states; it must tell any two apart. Nil is
	// fmt.Sprint.
	Text func(K) string
}

// Queue is client-go's rate-limiting work queue with a side table that knows
// why every key is in it, where it is, and since when. Callers use one door,
// Enqueue and its two delayed forms, and each gives a cause.
//
// Before Start the table alone is filled, no goroutine runs, and Get reports a
// shutdown. All methods are safe for concurrent use.
//
// A lock of the queue is never held while another package's code runs, client-go's
// queue excepted; the order of locks is gate, then order (see readyHook), then
// client-go's own, then the table's.
type Queue[K comparable] struct {
	name    string
	metrics workqueue.MetricsProvider
	clock   clock.WithTicker
	table   *keyTable[K]
	limiter *rateLimiterHook[K]
	ready   *readyHook[K]

	// gate keeps Start and ShutDown apart from everybody who adds: what is
	// enqueued is either replayed by Start or goes to the live queue.
	gate    sync.RWMutex
	live    workqueue.TypedRateLimitingInterface[K]
	stopped bool

	// retrying lets one Retry at a time hand its cause to the rate limiter.
	retrying sync.Mutex
}

// Work is a key that a worker was given, with everything that led to it.
type Work[K comparable] struct {
	Key K
	// Causes is what was coalesced into this sync, oldest first; Folded counts
	// those beyond the bound.
	Causes []telemetry.Cause
	Folded int
	// Queued is when the key became ready.
	Queued time.Time
	// Attempts is the number of failures since the last Forget.
	Attempts int
	// TakenBy is the sync that took the causes, where this one found none.
	TakenBy uint64
}

// New builds a queue that has not started.
func New[K comparable](o Options[K]) *Queue[K] {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Limiter == nil {
		o.Limiter = workqueue.DefaultTypedControllerRateLimiter[K]()
	}
	if o.Text == nil {
		o.Text = func(key K) string { return fmt.Sprint(key) }
	}
	table := newKeyTable(o.Clock, o.Text)
	return &Queue[K]{
		name:    o.Name,
		metrics: o.Metrics,
		clock:   o.Clock,
		table:   table,
		limiter: &rateLimiterHook[K]{TypedRateLimiter: o.Limiter, table: table},
		ready:   &readyHook[K]{table: table},
	}
}

// Start creates client-go's queue, which starts its goroutines, and replays
// what was enqueued before, in the order of the keys' first mention. ShutDown
// ends those goroutines. A second Start does nothing.
func (q *Queue[K]) Start() {
	q.gate.Lock()
	defer q.gate.Unlock()
	if q.live != nil || q.stopped {
		return
	}
	q.live = q.build()
	now := q.clock.Now()
	for _, e := range q.table.replay() {
		if e.add {
			q.ready.put(e.key, nil)
		}
		if !e.due.IsZero() {
			q.live.AddAfter(e.key, e.due.Sub(now))
		}
	}
}

// build stacks client-go's three queues with our seams in between.
func (q *Queue[K]) build() workqueue.TypedRateLimitingInterface[K] {
	name := q.name
	if q.metrics == nil {
		name = "" // a queue without a name asks no provider for metrics, also not the global one
	}
	q.ready.TypedInterface = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{
		Name: name, MetricsProvider: q.metrics, Clock: q.clock,
		Queue: &activeQueueHook[K]{active: workqueue.DefaultQueue[K](), table: q.table},
	})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{
		Name: name, MetricsProvider: q.metrics, Clock: q.clock, Queue: q.ready,
	})
	return workqueue.NewTypedRateLimitingQueueWithConfig(q.limiter, workqueue.TypedRateLimitingQueueConfig[K]{
		DelayingQueue: delaying,
	})
}

// Enqueue makes the key run as soon as a worker is free. The cause is recorded
// first, so that a sync that starts in between has it.
func (q *Queue[K]) Enqueue(key K, c telemetry.Cause) {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.stopped {
		return
	}
	if q.live == nil {
		q.table.early(key, c)
		return
	}
	q.ready.put(key, func() { q.table.enqueued(key, c) })
}

// EnqueueAfter makes the key run after wait, or earlier: client-go keeps one
// time per key, the earliest that was asked for, and the sync at that time takes
// the causes of all. A wait that is not positive is none. The cause's Due is set
// unless it says one: give the same Due to a timer that is armed again, and it is
// kept once. It returns when the key runs. Zero is never: the queue was shut down.
func (q *Queue[K]) EnqueueAfter(key K, c telemetry.Cause, wait time.Duration) time.Time {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.stopped {
		return time.Time{}
	}
	due := q.table.arm(key, c, wait)
	if q.live != nil {
		q.live.AddAfter(key, wait)
	}
	return due
}

// Retry makes the key run when the rate limiter allows it, or at an earlier time that
// was asked for before, and returns when that is. Zero is never: the queue was shut down.
func (q *Queue[K]) Retry(key K, c telemetry.Cause) time.Time {
	q.gate.RLock()
	defer q.gate.RUnlock()
	q.retrying.Lock()
	defer q.retrying.Unlock()
	if q.stopped {
		return time.Time{}
	}
	q.table.failed(c)
	if q.live == nil {
		q.limiter.When(key)
	} else {
		q.live.AddRateLimited(key)
	}
	return q.table.retryDue()
}

// Forget clears the failures of a key. A time that it waits for stays.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues is the number of failures of a key since the last Forget.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// Get waits for a ready key and hands it to the caller, who owes a Done. It
// reports a shutdown when there will be no more keys.
func (q *Queue[K]) Get() (Work[K], bool) {
	live := q.running()
	if live == nil {
		return Work[K]{}, true
	}
	key, shutdown := live.Get()
	if shutdown {
		return Work[K]{}, true
	}
	return q.table.taken(key), false
}

// Taken remembers which sync took the causes of a key that is being
// processed, for a follow-up sync that will find none. Call it before Done.
func (q *Queue[K]) Taken(key K, seq uint64) { q.table.takenBy(key, seq) }

// Done ends the processing of a key. If it was enqueued meanwhile it is ready again.
func (q *Queue[K]) Done(key K) {
	if live := q.running(); live != nil {
		live.Done(key)
	}
}

// ShutDown drops everything that is added from now on. Get hands out what is
// ready and then reports the shutdown.
func (q *Queue[K]) ShutDown() {
	q.gate.Lock()
	q.stopped = true
	live := q.live
	q.gate.Unlock()
	if live != nil {
		live.ShutDown()
	}
}

// Len is the number of ready keys.
func (q *Queue[K]) Len() int {
	if live := q.running(); live != nil {
		return live.Len()
	}
	return 0
}

func (q *Queue[K]) running() workqueue.TypedRateLimitingInterface[K] {
	q.gate.RLock()
	defer q.gate.RUnlock()
	return q.live
}

// State is the queue as it stands now. Workers is left to the loop.
func (q *Queue[K]) State() telemetry.QueueState { return sortedByKey(q.state(true)) }

// Phases is the State in no order and without the causes of its keys.
func (q *Queue[K]) Phases() telemetry.QueueState { return q.state(false) }

func (q *Queue[K]) state(causes bool) telemetry.QueueState {
	q.ready.order.Lock()
	s := q.table.state(causes)
	q.ready.order.Unlock()
	s.Name = q.name
	return s
}

// KeyState is one key as it stands now; false if the queue knows nothing of it.
func (q *Queue[K]) KeyState(key K) (telemetry.KeyState, bool) {
	q.ready.order.Lock()
	defer q.ready.order.Unlock()
	return q.table.keyState(key)
}
