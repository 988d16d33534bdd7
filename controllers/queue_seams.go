package controllers

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// readySeam is the queue that client-go's delaying queue adds to when a time
// has come. It lets one Add or Done through at a time, so that the table can
// tell from what the line was told whether the key was ready or at work: then
// the table is client-go's state and not a guess at it.
type readySeam struct {
	workqueue.TypedInterface[string]
	table *keyTable
	order sync.Mutex
}

// Add is called by the delaying queue alone: a time has come.
func (s *readySeam) Add(key string) {
	s.put(key, func() { s.table.rings(key) })
}

// put records with note, if there is one, and adds the key.
func (s *readySeam) put(key string, note func()) {
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
func (s *readySeam) Done(key string) {
	s.order.Lock()
	defer s.order.Unlock()
	s.table.done(key)
	s.TypedInterface.Done(key)
}

// ShutDown waits for an Add under way, whose end asks whether it was dropped.
func (s *readySeam) ShutDown() {
	s.order.Lock()
	defer s.order.Unlock()
	s.TypedInterface.ShutDown()
}

// lineSeam is the line of ready keys inside client-go's queue. It is called
// under that queue's lock, so it sees each key come and go exactly when it does.
type lineSeam struct {
	line  workqueue.Queue[string]
	table *keyTable
}

// Touch is called for a key that is added while it is in the line.
func (s *lineSeam) Touch(key string) {
	s.line.Touch(key)
	s.table.touched()
}

// Push is called for a key that becomes ready.
func (s *lineSeam) Push(key string) {
	s.line.Push(key)
	s.table.pushed(key)
}

// Len is the number of ready keys.
func (s *lineSeam) Len() int { return s.line.Len() }

// Pop is called when a worker takes a key.
func (s *lineSeam) Pop() string {
	key := s.line.Pop()
	s.table.popped(key)
	return key
}

// paceSeam is the rate limiter. AddRateLimited asks it for a delay and passes
// that to the delaying queue behind the back of every outer wrapper, so this is
// the one place that sees the back-off of a key.
type paceSeam struct {
	workqueue.TypedRateLimiter[string]
	table *keyTable
}

// When counts a failure of the key and says how long it has to wait.
func (s *paceSeam) When(key string) time.Duration {
	wait := s.TypedRateLimiter.When(key)
	s.table.backsOff(key, wait, s.NumRequeues(key))
	return wait
}

// Forget clears the failures of the key.
func (s *paceSeam) Forget(key string) {
	s.TypedRateLimiter.Forget(key)
	s.table.forgets(key)
}
