package telemetry

import (
	"sync"

	"github.com/loopscope/loopscope/controllers/decision"
)

// written is one version of an object, or with no rv one that was created or deleted.
type written struct{ kind, namespace, name, rv string }

// writes remembers which sync wrote what, for as many of the newest writes as
// it has room for.
type writes struct {
	limit int

	mu    sync.RWMutex
	syncs map[written]uint64
	order []written // a ring as soon as it is full
	next  int
}

func newWrites(limit int) *writes { return &writes{limit: limit, syncs: map[written]uint64{}} }

// kinds are the objects that the loops work on, whose status their reports write.
var kinds = map[string]string{LoopDeployment: "Deployment", LoopReplicaSet: "ReplicaSet", LoopReplicationController: "ReplicationController"}

// note enters everything that a trace says was written.
func (w *writes) note(t *Trace) {
	t.outcomes(func(a *decision.Action, o *decision.Outcome) {
		if !took(o) {
			return
		}
		if a == nil {
			w.add(written{kinds[t.Loop], t.Namespace, t.Name, o.RV}, t.Seq)
			return
		}
		if o.RV != "" {
			w.add(written{a.Target.Kind, a.Target.Namespace, nameOf(a, o), o.RV}, t.Seq)
			return
		}
		for i, name := range o.Names {
			w.add(written{kind: manyOf(a), namespace: t.Namespace, name: name}, t.Seq)
			if i < len(o.RVs) {
				w.add(written{manyOf(a), t.Namespace, name, o.RVs[i]}, t.Seq)
			}
		}
	})
}

// nameOf is the object's name, which a create may only know afterwards.
func nameOf(a *decision.Action, o *decision.Outcome) string {
	if a.Target.Name == "" && len(o.Names) == 1 {
		return o.Names[0]
	}
	return a.Target.Name
}

// manyOf is the kind of the objects that an outcome names. Actions on pods have
// their owner as the target.
func manyOf(a *decision.Action) string {
	if a.Kind == decision.CreatePods || a.Kind == decision.DeletePods {
		return "Pod"
	}
	return a.Target.Kind
}

func (w *writes) add(what written, seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.syncs[what]; !known {
		w.enter(what)
	}
	w.syncs[what] = seq
}

// enter puts a write in the place of the oldest, where there is no more room.
func (w *writes) enter(what written) {
	if len(w.order) < w.limit {
		w.order = append(w.order, what)
		return
	}
	delete(w.syncs, w.order[w.next])
	w.order[w.next] = what
	w.next = (w.next + 1) % w.limit
}

func (w *writes) find(what written) (uint64, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	seq, ok := w.syncs[what]
	return seq, ok
}
