package replicaset

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

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
		return diagnosis.NamespaceGoes
	}
}
