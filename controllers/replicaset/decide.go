package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// parentRecheck is how soon a sync looks again after a live read contradicted
// the cache about the object itself.
const parentRecheck = time.Second

// usualPath is the number of questions of an ordinary sync.
const usualPath = 10

// Decide is the first round of a sync. The claims come first in the verdict's
// actions; pods they adopt already count, so acting must not go on to create or
// delete where one of them failed ([RS-6]).
func Decide(s *Snapshot) decision.Verdict { return NewSync(s).Decide() }

func newDecider(s *Snapshot) *decider {
	t := &decider{s: s, pods: canonical(s.Pods), v: decision.Verdict{Path: make(decision.Path, 0, usualPath)}}
	for _, p := range t.pods {
		if s.claimed(p) {
			t.active = append(t.active, p)
		}
	}
	return t
}

// decide answers every question, in upstream's order.
func (t *decider) decide() {
	if !t.caughtUp() {
		t.stop(leafEcho)
		return
	}
	if !t.found() {
		t.stop(leafGone)
		return
	}
	seen := t.requestsSeen()
	if !t.selectorReadable() {
		t.stop(leafInvalid)
		return
	}
	if !t.parentThere() {
		t.stop(leafParent)
		return
	}
	t.release()
	t.adopt()
	switch {
	case t.deleting():
		t.leaf = leafDeleting
	case !seen:
		if t.hold(heldRequests, "RS-3", t.s.Expect.Expires); len(t.v.Held) > 0 {
			t.leaf = leafExpects
		}
	default:
		t.manage()
	}
}

// stop ends the sync without a report.
func (t *decider) stop(at leaf) { t.v.Stop, t.leaf = true, at }

// leaf is where a walk through the questions came out: what is said of the sync
// follows from it.
type leaf uint8

const (
	leafManages   leaf = iota // the number of pods
	leafEcho                  // a write of its own is not seen yet
	leafGone                  // there is no such object
	leafInvalid               // its selector cannot be read
	leafParent                // read live, it is gone or being deleted
	leafDeleting              // its pods are the garbage collector's
	leafExpects               // pods that it asked for are not seen yet, and hold others back
	leafNamespace             // its namespace is being deleted
)

// caughtUp asks [RS-1]: deciding on a cache that lacks our own write would
// repeat the write or take it back.
func (t *decider) caughtUp() bool {
	writes := int64(len(t.s.Echo))
	if writes == 0 {
		return t.v.Path.Ask("RS-1", true, decision.Count("writes", 0))
	}
	first := t.s.Echo[0]
	for _, e := range t.s.Echo[1:] {
		if e.Check.Before(first.Check) {
			first = e
		}
	}
	t.v.Path.Ask("RS-1", false, decision.Count("writes", writes),
		decision.Text("object", first.Object), decision.Text("written", first.Written),
		decision.Text("cached", first.Cached), decision.Instant("since", first.Since))
	t.timer(first.Check, timerEcho, "RS-1")
	if t.s.Found && !t.s.Deleting {
		t.hold(heldEcho, "RS-1", first.Check)
	}
	return false
}

// found asks [RS-2].
func (t *decider) found() bool { return t.v.Path.Ask("RS-2", t.s.Found) }

// requestsSeen asks [RS-3]. Too old a request no longer blocks, or a lost pod
// event would stop the loop forever.
func (t *decider) requestsSeen() bool {
	e := t.s.Expect
	outstanding := e.Creates > 0 || e.Deletes > 0
	facts := []decision.Fact{
		decision.Count("creates", max(0, e.Creates)), decision.Count("deletes", max(0, e.Deletes)),
	}
	if outstanding {
		facts = append(facts, decision.Duration("age", t.s.Now.Sub(e.Since)), decision.Instant("expires", e.Expires))
	}
	seen := t.v.Path.Ask("RS-3", !outstanding || !t.s.Now.Before(e.Expires), facts...)
	if !seen {
		t.timer(e.Expires, timerRequests, "RS-3")
	}
	return seen
}

// selectorReadable asks [RS-4].
func (t *decider) selectorReadable() bool {
	t.v.Invalid = t.s.SelectorError
	if t.s.SelectorError == "" {
		return t.v.Path.Ask("RS-4", true)
	}
	return t.v.Path.Ask("RS-4", false, decision.Text("error", t.s.SelectorError))
}

// parentThere asks [RS-6] whether a live read still allows to adopt. Without a
// pod to adopt upstream does not look, and neither does this.
func (t *decider) parentThere() bool {
	if t.s.Learnt.Parent == "" {
		return true
	}
	orphans := t.those(t.s.orphan)
	if len(orphans) == 0 {
		return true
	}
	there := t.v.Path.Ask("RS-6.parent", false,
		decision.Text("live", t.s.Learnt.Parent), decision.Count("orphans", int64(len(orphans))))
	t.v.Path.Last().Holds = true
	t.v.Held = append(t.v.Held, decision.Held{
		Code: heldParent, Question: "RS-6.parent", Kind: decision.Adopt, Target: t.s.ref(orphans[0]),
		Unblocks: decision.Words{}.Say("when the cache shows it too"),
		When:     decision.Unblock{Event: decision.ParentSeen, Of: t.s.self(), At: t.s.Now.Add(parentRecheck).UTC().Round(0)},
		Blockers: []decision.Blocker{{Kind: t.s.Kind, Name: t.s.Name, Reason: t.s.Learnt.Parent}}, BlockerCount: 1,
	})
	t.timer(t.s.Now.Add(parentRecheck), timerEcho, "RS-6.parent")
	return there
}

// release asks [RS-6] for its own pods that no longer match.
func (t *decider) release() {
	strays := t.those(t.s.stray)
	t.v.Path.Ask("RS-6.release", len(strays) > 0, decision.Count("strays", int64(len(strays))))
	for _, p := range strays {
		t.claim(decision.Release, "RS-6.release", p, decision.Change{Field: "metadata.ownerReferences", From: t.s.Name})
	}
}

// adopt asks [RS-6] for matching pods that nobody controls.
func (t *decider) adopt() {
	orphans := t.those(t.s.orphan)
	t.v.Path.Ask("RS-6.adopt", len(orphans) > 0, decision.Count("orphans", int64(len(orphans))))
	for _, p := range orphans {
		t.claim(decision.Adopt, "RS-6.adopt", p, decision.Change{Field: "metadata.ownerReferences", To: t.s.Name})
	}
}

func (t *decider) claim(kind decision.ActionKind, question string, p *Pod, change decision.Change) {
	t.v.Actions = append(t.v.Actions, decision.Action{
		Kind: kind, Target: t.s.ref(p), Discipline: decision.VisitAll, Question: question,
		Changes: []decision.Change{change},
	})
}

// deleting asks [RS-8] whether its pods are the garbage collector's already.
func (t *decider) deleting() bool { return t.v.Path.Ask("RS-8.deleting", t.s.Deleting) }

// those selects candidates in canonical order.
func (t *decider) those(want func(*Pod) bool) []*Pod {
	var found []*Pod
	for _, p := range t.pods {
		if want(p) {
			found = append(found, p)
		}
	}
	return found
}

func (t *decider) timer(at time.Time, code, question string) {
	t.v.Timers = append(t.v.Timers, decision.Timer{At: at.UTC().Round(0), Code: code, Question: question})
}
