package telemetry

import (
	"maps"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

const (
	maxRecent = 4096
	// maxRecentBytes bounds the same by the estimated size of the syncs, which the journal may have
	// given up long ago: one of a ReplicaSet of 500 pods has a hundred kilobytes.
	maxRecentBytes = 64 << 20
	// fewest is how many of the newest syncs of each object are kept whatever happens to all others, and
	// fewestLarge how many where the oldest of them is large.
	fewest, fewestLarge = 4, 2
	largeSync           = 16 << 10
)

// lookBack is the last syncs of all objects, which writes are held against. They are given up in their
// order, but for the newest few of each object: where thousands of objects move at once, none is left
// without a state that its next write can have been decided on.
type lookBack struct {
	order []*Trace            // beyond the few, the oldest first
	bytes int64               // their estimated size
	past  map[Object][]*Trace // the newest last
	// owned are the objects of each owner, and how many syncs say so.
	owned map[Object]map[Object]int
	// events are what the rules publish on what some of these syncs decided on.
	events map[*Trace][]decision.Event
}

func newLookBack() *lookBack {
	return &lookBack{past: map[Object][]*Trace{}, owned: map[Object]map[Object]int{}, events: map[*Trace][]decision.Event{}}
}

// remember keeps a sync, and gives up others.
func (b *lookBack) remember(t *Trace) {
	b.order, b.bytes = append(b.order, t), b.bytes+estimate(t)
	b.past[t.Object] = append(b.past[t.Object], t)
	if t.Owner != "" {
		of := familyOf(t)
		if b.owned[of] == nil {
			b.owned[of] = map[Object]int{}
		}
		b.owned[of][t.Object]++
	}
	for len(b.order) > maxRecent || b.bytes > maxRecentBytes && len(b.order) > 1 {
		oldest := b.order[0]
		b.bytes -= estimate(oldest)
		b.order[0], b.order = nil, b.order[1:]
		b.give(oldest)
	}
}

// give gives up the oldest sync of the object of t, which is the oldest of all, beyond the few; and all of
// an object whose last sync that is.
func (b *lookBack) give(t *Trace) {
	list, n := b.past[t.Object], 0
	switch {
	case t.Gone && list[len(list)-1] == t:
		n = len(list)
	case len(list) > few(list):
		n = 1
	}
	for i := range n {
		b.disown(list[i])
		delete(b.events, list[i])
		list[i] = nil
	}
	if b.past[t.Object] = list[n:]; n == len(list) {
		delete(b.past, t.Object)
	}
}

func few(list []*Trace) int {
	if estimate(list[0]) > largeSync {
		return fewestLarge
	}
	return fewest
}

func (b *lookBack) disown(t *Trace) {
	of := familyOf(t)
	if b.owned[of] == nil {
		return
	}
	if b.owned[of][t.Object]--; b.owned[of][t.Object] <= 0 {
		delete(b.owned[of], t.Object)
	}
	if len(b.owned[of]) == 0 {
		delete(b.owned, of)
	}
}

// familyOf is the owner of the object of a sync, as far as it takes to tell owners of one loop's objects apart.
func familyOf(t *Trace) Object { return Object{t.Loop, t.Namespace, t.Owner} }

// of are the last syncs of an object, the newest last. They are valid until the next one is remembered.
func (b *lookBack) of(o Object) []*Trace { return slices.Clip(b.past[o]) }

// keepEvents keeps the events of a sync for as long as the sync itself.
func (b *lookBack) keepEvents(t *Trace, list []decision.Event) {
	if !slices.Contains(b.past[t.Object], t) {
		return
	}
	if len(b.events) >= maxEvents {
		clear(b.events)
	}
	b.events[t] = list
}

// kin are the other objects of the same owner: where they share something, the other controller has it
// from one cache.
func (b *lookBack) kin(t *Trace) []Object {
	if t.Owner == "" {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(b.owned[familyOf(t)]), func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(list, func(o Object) bool { return o == t.Object })
}
