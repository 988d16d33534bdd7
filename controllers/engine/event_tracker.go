package engine

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// eventTracker is a handler that remembers the newest event that it has passed on. An
// informer gives its handlers their events one after the other, so that one of
// them can be behind the store that all share.
type eventTracker struct {
	cache.ResourceEventHandler
	clock clock.PassiveClock

	mu sync.Mutex
	rv string
	at time.Time
}

// OnAdd passes the event on.
func (s *eventTracker) OnAdd(obj any, initial bool) {
	s.ResourceEventHandler.OnAdd(obj, initial)
	s.note(obj)
}

// OnUpdate passes the event on. A resync is no news of the API server.
func (s *eventTracker) OnUpdate(old, obj any) {
	s.ResourceEventHandler.OnUpdate(old, obj)
	if rvOf(old) != rvOf(obj) {
		s.note(obj)
	}
}

// OnDelete passes the event on.
func (s *eventTracker) OnDelete(obj any) {
	s.ResourceEventHandler.OnDelete(obj)
	if t, lost := obj.(cache.DeletedFinalStateUnknown); lost {
		obj = t.Obj
	}
	s.note(obj)
}

func (s *eventTracker) note(obj any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv, s.at = rvOf(obj), s.clock.Now()
}

// last is the version of the newest event, and when it was handled.
func (s *eventTracker) last() (rv string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rv, s.at
}

func rvOf(obj any) string {
	if o, ok := obj.(metav1.Object); ok {
		return o.GetResourceVersion()
	}
	return ""
}
