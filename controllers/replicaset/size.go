package replicaset

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
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

// hold records the creation or deletion that is refused for now, if there would
// be one, and marks the question that refuses it.
func (t *decider) hold(code, question string, until time.Time) {
	answer, e := t.size()
	if answer == enough {
		return
	}
	kind := decision.CreatePods
	if answer == over {
		kind = decision.DeletePods
	}
	h := decision.Held{
		Code: code, Question: question, Kind: kind, Target: t.s.self(),
		Equation: e, Unblocks: unblocks(code, until),
	}
	t.blame(&h, until)
	t.v.Held = append(t.v.Held, h)
	for i := range t.v.Path {
		if t.v.Path[i].Question == question {
			t.v.Path[i].Holds = true
		}
	}
}

// blame names what holds a creation or deletion, and what would release it.
func (t *decider) blame(h *decision.Held, until time.Time) {
	switch h.Code {
	case heldEcho:
		h.When = decision.Unblock{Event: decision.WriteSeen, At: until.UTC().Round(0)}
		for _, e := range t.s.Echo {
			kind, name, _ := strings.Cut(e.Object, " ")
			h.Blockers = append(h.Blockers, decision.Blocker{Kind: kind, Name: name, Since: e.Since})
		}
		kind, name, _ := strings.Cut(t.s.Echo[0].Object, " ")
		h.When.Of = decision.Ref{Kind: kind, Namespace: t.s.Namespace, Name: name, RV: t.s.Echo[0].Written}
	case heldRequests:
		e := t.s.Expect
		h.When = decision.Unblock{Event: decision.RequestsSeen, Of: t.s.self(), Needed: max(0, e.Creates) + max(0, e.Deletes), At: until.UTC().Round(0)}
		for _, p := range t.pods {
			if p.Expected {
				h.Blockers = append(h.Blockers, decision.Blocker{Kind: "Pod", Name: p.Name, Since: e.Since})
			}
		}
		h.BlockerCount = h.When.Needed
	default:
		h.When = decision.Unblock{Event: decision.Never}
		h.Blockers = []decision.Blocker{{Kind: "Namespace", Name: t.s.Namespace, Reason: "Terminating"}}
	}
	h.BlockerCount = max(h.BlockerCount, int64(len(h.Blockers)))
	h.Blockers = h.Blockers[:min(len(h.Blockers), maxBlockers)]
}

// maxBlockers bounds the blockers that a held write names one by one.
const maxBlockers = 10

// The codes of held writes.
const (
	heldEcho      = "echo"
	heldRequests  = "expectations"
	heldNamespace = "namespace-terminating"
	heldParent    = "parent"
)

// unblocks says what releases a write that is held back for the code.
func unblocks(code string, until time.Time) decision.Words {
	switch code {
	case heldEcho:
		return decision.Words{}.Say("when the cache shows its own write; it looks again in ").Until(until)
	case heldRequests:
		return decision.Words{}.Say("when the pods it asked for are seen, or in ").Until(until)
	default:
		return decision.Words{}.Say("never: its namespace is being deleted")
	}
}
