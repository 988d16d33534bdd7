package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// The answers of RS-8.size.
const (
	enough = "enough"
	short  = "short"
	over   = "over"
)

// size compares the pods it has with the pods it wants.
func (t *decider) size() (answer string, e *decision.Equation) {
	pods := decision.Term{Label: "pods", Value: int64(len(t.active)), Origin: "active pods, adopted ones included"}
	wanted := decision.Term{Label: "wanted", Value: t.s.Want, Origin: "spec.replicas"}
	switch {
	case pods.Value < wanted.Value:
		return short, decision.Subtract("missing", wanted, pods)
	case pods.Value > wanted.Value:
		return over, decision.Subtract("surplus", pods, wanted)
	default:
		return enough, nil
	}
}

// manage asks [RS-8]: create what is missing, delete what is too many, never both.
func (t *decider) manage() {
	answer, e := t.size()
	t.v.Path.Name("RS-8.size", answer,
		decision.Count("pods", int64(len(t.active))), decision.Count("wanted", t.s.Want))
	t.v.Path.Last().Equation = e
	switch {
	case answer == over:
		t.remove(e.Result.Value)
	case answer == short && t.namespaceOpen():
		t.create(e.Result.Value)
	}
}

// namespaceOpen asks whether creating can succeed at all. It is asked only
// where a create of this sync was told that the namespace is being deleted.
func (t *decider) namespaceOpen() bool {
	if !t.s.Learnt.NamespaceTerminating {
		return true
	}
	t.v.Path.Ask("RS-8.namespace", false)
	t.leaf = leafNamespace
	t.hold(heldNamespace, "RS-8.namespace", time.Time{})
	return false
}

// create decides how many pods to create now.
func (t *decider) create(missing int64) {
	n := t.v.Path.Count("RS-8.create", min(missing, t.burst(missing)),
		decision.Count("missing", missing), decision.Count("burst", t.s.Burst))
	t.v.Path.Last().Facts = append(t.v.Path.Last().Facts, decision.Count("creating", n))
	t.v.Actions = append(t.v.Actions, decision.Action{
		Kind: decision.CreatePods, Target: t.s.self(), Discipline: decision.SlowStart,
		Question: "RS-8.create", Count: n,
	})
}

// remove decides how many pods to delete now, and which.
func (t *decider) remove(surplus int64) {
	n := t.v.Path.Count("RS-8.delete", min(surplus, t.burst(surplus)),
		decision.Count("surplus", surplus), decision.Count("burst", t.s.Burst))
	t.v.Path.Last().Facts = append(t.v.Path.Last().Facts, decision.Count("deleting", n))
	var victims []decision.Victim
	if t.v.Path.Ask("RS-8.rank", n < int64(len(t.active)),
		decision.Count("deleting", n), decision.Count("pods", int64(len(t.active)))) {
		victims = ranked(t.s, t.active, n)
	} else {
		victims = listed(t.active)
	}
	t.v.Actions = append(t.v.Actions, decision.Action{
		Kind: decision.DeletePods, Target: t.s.self(), Discipline: decision.AllAtOnce,
		Question: "RS-8.rank", Count: n, Victims: victims,
	})
}

// burst bounds one sync; a snapshot without a bound has none.
func (t *decider) burst(n int64) int64 {
	if t.s.Burst <= 0 {
		return n
	}
	return t.s.Burst
}
