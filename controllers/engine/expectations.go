package engine

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// expectationLife is how long creations and deletions are waited for.
const expectationLife = 5 * time.Minute

// Expectations counts the pod creations and deletions that a key asked for and
// has not seen ([RS-3]). They stand where there is no resourceVersion to compare:
// a create has none before it returns, and a delete none after. Safe for
// concurrent use.
type Expectations struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	keys  map[string]*expectation
}

type expectation struct {
	creates int64
	deletes map[types.UID]struct{}
	since   time.Time
}

// Expected is what a key waits for at one instant.
type Expected struct {
	Creates, Deletes int64
	Since            time.Time
	// Expires is when it stops blocking.
	Expires time.Time
	// Gone are the objects whose deletion was asked for and has not been seen; nil for none,
	// and in a list of all keys.
	Gone map[types.UID]struct{}
}

// NewExpectations returns an empty table.
func NewExpectations(c clock.PassiveClock) *Expectations {
	return &Expectations{clock: c, keys: map[string]*expectation{}}
}

// Expect replaces what a key waits for with n creations and these deletions.
func (e *Expectations) Expect(key string, creates int64, deletes ...types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := &expectation{creates: creates, deletes: map[types.UID]struct{}{}, since: e.clock.Now()}
	for _, uid := range deletes {
		x.deletes[uid] = struct{}{}
	}
	e.keys[key] = x
}

// Created notes that n creations were seen, or will never be.
func (e *Expectations) Created(key string, n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.keys[key]; x != nil {
		x.creates -= n
	}
}

// Deleted notes that a deletion was seen, or will never be. It counts once for
// each pod: the first sight of a deletion timestamp counts, the removal does not.
func (e *Expectations) Deleted(key string, uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.keys[key]; x != nil {
		delete(x.deletes, uid)
	}
}

// Forget drops a key that is gone.
func (e *Expectations) Forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.keys, key)
}

// Outstanding is what a key still waits for; zero when satisfied. One that has
// outlived expectationLife no longer blocks and is reported as satisfied.
func (e *Expectations) Outstanding(key string) Expected {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.keys[key]
	if x == nil || x.creates <= 0 && len(x.deletes) == 0 || e.clock.Since(x.since) > expectationLife {
		return Expected{}
	}
	is := e.view(x)
	is.Gone = maps.Clone(x.deletes)
	return is
}

func (e *Expectations) view(x *expectation) Expected {
	since := asOfNow(e.clock, x.since)
	return Expected{
		Creates: max(x.creates, 0),
		Deletes: int64(len(x.deletes)),
		Since:   since,
		Expires: since.Add(expectationLife),
	}
}

// All lists what every key waits for, for the debug pages.
func (e *Expectations) All() map[string]Expected {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := map[string]Expected{}
	for key, x := range e.keys {
		if v := e.view(x); v.Creates > 0 || v.Deletes > 0 {
			list[key] = v
		}
	}
	return list
}
