package telemetry

import (
	"hash/maphash"
	"sync"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// written is one version of an object, or with no rv that it was created or deleted.
type written struct{ kind, namespace, name, rv string }

// writes remembers which sync wrote what, for as many of the newest writes as it has
// room for. It knows them by a digest of 64 bits, and so holds no texts. That a look-up
// takes one for another has a chance of 1 in 2^48 with 65,536 of them.
type writes struct {
	loops decision.Loops
	limit int
	seed  maphash.Seed

	mu    sync.RWMutex
	syncs map[uint64]uint64
	order []uint64 // a ring as soon as it is full
	next  int
}

func newWrites(loops decision.Loops, limit int) *writes {
	return &writes{loops: loops, limit: limit, seed: maphash.MakeSeed(), syncs: map[uint64]uint64{}}
}

// note enters everything that a trace says was written.
func (w *writes) note(t *Trace) {
	t.outcomes(func(a *decision.Action, o *decision.Outcome) {
		if !took(o) {
			return
		}
		if a == nil { // The status of its own object.
			w.add(written{w.loops.Kind(t.Loop), t.Namespace, t.Name, o.RV}, t.Seq)
			return
		}
		if !ofPods(a) {
			w.one(a, written{a.Target.Kind, a.Target.Namespace, nameOf(a, o), o.RV}, t.Seq)
			return
		}
		for i, name := range o.Names {
			w.add(written{kind: "Pod", namespace: t.Namespace, name: name}, t.Seq)
			if i < len(o.RVs) {
				w.add(written{"Pod", t.Namespace, name, o.RVs[i]}, t.Seq)
			}
		}
	})
}

// one enters the object of an action, by its version and, where it begins or ends, by its name.
func (w *writes) one(a *decision.Action, what written, seq uint64) {
	if what.rv != "" {
		w.add(what, seq)
	}
	if a.Kind.Creates() || a.Kind.Deletes() {
		what.rv = ""
		w.add(what, seq)
	}
}

// nameOf is the object's name, which a create may only know afterwards.
func nameOf(a *decision.Action, o *decision.Outcome) string {
	if a.Target.Name == "" && len(o.Names) == 1 {
		return o.Names[0]
	}
	return a.Target.Name
}

// ofPods reports whether an action is on several pods, which the outcome names: they have
// their owner as the target.
func ofPods(a *decision.Action) bool {
	return a.Kind == decision.CreatePods || a.Kind == decision.DeletePods
}

func (w *writes) add(what written, seq uint64) {
	digest := maphash.Comparable(w.seed, what)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.syncs[digest]; !known {
		w.enter(digest)
	}
	w.syncs[digest] = seq
}

// enter puts a write in the place of the oldest, where there is no more room.
func (w *writes) enter(digest uint64) {
	if len(w.order) < w.limit {
		w.order = append(w.order, digest)
		return
	}
	delete(w.syncs, w.order[w.next])
	w.order[w.next] = digest
	w.next = (w.next + 1) % w.limit
}

func (w *writes) find(what written) (uint64, bool) {
	digest := maphash.Comparable(w.seed, what)
	w.mu.RLock()
	defer w.mu.RUnlock()
	seq, ok := w.syncs[digest]
	return seq, ok
}
