package controllers

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// expectationLife is how long creations and deletions are waited for.
const expectationLife = 5 * time.Minute

// expectations counts the pod creations and deletions that a key asked for and
// has not seen ([RS-3]). They stand where there is no resourceVersion to compare:
// a create has none before it returns, and a delete none after. Safe for
// concurrent use.
type expectations struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	keys  map[string]*expectation
}

type expectation struct {
	creates int64
	deletes map[types.UID]struct{}
	since   time.Time
}

// expected is what a key waits for at one instant.
type expected struct {
	Creates, Deletes int64
	Since            time.Time
	// Expires is when it stops blocking.
	Expires time.Time
	// gone are the objects whose deletion was asked for and has not been seen; nil for none,
	// and in a list of all keys.
	gone map[types.UID]struct{}
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, keys: map[string]*expectation{}}
}

// expect replaces what a key waits for with n creations and these deletions.
func (e *expectations) expect(key string, creates int64, deletes ...types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := &expectation{creates: creates, deletes: map[types.UID]struct{}{}, since: e.clock.Now()}
	for _, uid := range deletes {
		x.deletes[uid] = struct{}{}
	}
	e.keys[key] = x
}

// created notes that n creations were seen, or will never be.
func (e *expectations) created(key string, n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.keys[key]; x != nil {
		x.creates -= n
	}
}

// deleted notes that a deletion was seen, or will never be. It counts once for
// each pod: the first sight of a deletion timestamp counts, the removal does not.
func (e *expectations) deleted(key string, uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.keys[key]; x != nil {
		delete(x.deletes, uid)
	}
}

// forget drops a key that is gone.
func (e *expectations) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.keys, key)
}

// outstanding is what a key still waits for; zero when satisfied. One that has
// outlived expectationLife no longer blocks and is reported as satisfied.
func (e *expectations) outstanding(key string) expected {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.keys[key]
	if x == nil || x.creates <= 0 && len(x.deletes) == 0 || e.clock.Since(x.since) > expectationLife {
		return expected{}
	}
	is := x.view()
	is.gone = maps.Clone(x.deletes)
	return is
}

func (x *expectation) view() expected {
	return expected{
		Creates: max(x.creates, 0),
		Deletes: int64(len(x.deletes)),
		Since:   x.since,
		Expires: x.since.Add(expectationLife),
	}
}

// all lists what every key waits for, for the debug pages.
func (e *expectations) all() map[string]expected {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := map[string]expected{}
	for key, x := range e.keys {
		if v := x.view(); v.Creates > 0 || v.Deletes > 0 {
			list[key] = v
		}
	}
	return list
}
