package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// readyHook is the queue that client-go's delaying queue adds to when a time
// has come. It lets one Add or Done through at a time, so that the table can
// tell from what the queue was told whether the key was ready or being processed: then
// the table is client-go's state and not a guess at it.
type readyHook[K comparable] struct {
	workqueue.TypedInterface[K]
	table *keyTable[K]
	order sync.Mutex
}

// Add is called by the delaying queue alone: a time has come.
func (s *readyHook[K]) Add(key K) {
	s.put(key, func() { s.table.timerFired(key) })
}

// put records with note, if there is one, and adds the key.
func (s *readyHook[K]) put(key K, note func()) {
	s.order.Lock()
	defer s.order.Unlock()
	if note != nil {
		note()
	}
	s.table.adding()
	s.TypedInterface.Add(key)
	s.table.added(key, s.ShuttingDown())
}

// Done tells the table first: as soon as client-go knows, the key may be at
// work again.
func (s *readyHook[K]) Done(key K) {
	s.order.Lock()
	defer s.order.Unlock()
	s.table.done(key)
	s.TypedInterface.Done(key)
}

// ShutDown waits for an Add under way, whose end asks whether it was dropped.
func (s *readyHook[K]) ShutDown() {
	s.order.Lock()
	defer s.order.Unlock()
	s.TypedInterface.ShutDown()
}

// activeQueueHook is the queue of ready keys inside client-go's queue. It is called
// under that queue's lock, so it sees each key come and go exactly when it does.
type activeQueueHook[K comparable] struct {
	active workqueue.Queue[K]
	table  *keyTable[K]
}

// Touch is called for a key that is added while it is in the queue.
func (s *activeQueueHook[K]) Touch(key K) {
	s.active.Touch(key)
	s.table.touched()
}

// Push is called for a key that becomes ready.
func (s *activeQueueHook[K]) Push(key K) {
	s.active.Push(key)
	s.table.pushed(key)
}

// Len is the number of ready keys.
func (s *activeQueueHook[K]) Len() int { return s.active.Len() }

// Pop is called when a worker takes a key.
func (s *activeQueueHook[K]) Pop() K {
	key := s.active.Pop()
	s.table.popped(key)
	return key
}

// rateLimiterHook is the rate limiter. AddRateLimited asks it for a delay and passes
// that to the delaying queue behind the back of every outer wrapper, so this is
// the one place that sees the back-off of a key.
type rateLimiterHook[K comparable] struct {
	workqueue.TypedRateLimiter[K]
	table *keyTable[K]
}

// When counts a failure of the key and says how long it has to wait.
func (s *rateLimiterHook[K]) When(key K) time.Duration {
	wait := s.TypedRateLimiter.When(key)
	s.table.backedOff(key, wait, s.NumRequeues(key))
	return wait
}

// Forget clears the failures of the key.
func (s *rateLimiterHook[K]) Forget(key K) {
	s.TypedRateLimiter.Forget(key)
	s.table.forgotten(key)
}
