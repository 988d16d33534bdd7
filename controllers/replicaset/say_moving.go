package replicaset

import (
	"github.com/loopscope/loopscope/telemetry/decision"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// working tells what this sync wrote or, where nobody acted, would write. Pods
// that come and go are told before claims.
func (t *teller) working() bool {
	for _, kind := range []decision.ActionKind{decision.CreatePods, decision.DeletePods, decision.Adopt, decision.Release} {
		for _, r := range t.rounds {
			for i := range r.Verdict.Actions {
				a := &r.Verdict.Actions[i]
				if a.Kind != kind || i < len(r.Outcomes) && r.Outcomes[i].State == decision.Tolerated {
					continue
				}
				t.tellWork(a, r, i < len(r.Outcomes) && r.Outcomes[i].State != decision.NotTried)
				return true
			}
		}
	}
	return false
}

func (t *teller) tellWork(a *decision.Action, r decision.Round, done bool) {
	switch a.Kind {
	case decision.CreatePods:
		t.is(decision.ToneMoving, "creating", "moving")
		t.out.Lead = tense(done, "created ", "the next write creates ").Count("creating", a.Count).Say(prose.Plural(a.Count, " pod", " pods"))
	case decision.DeletePods:
		t.is(decision.ToneMoving, "deleting-pods", "moving")
		t.out.Lead = tense(done, "deleted ", "the next write deletes ").Count("deleting", a.Count).Say(prose.Plural(a.Count, " pod", " pods"))
		if len(a.Victims) > 0 {
			t.out.Lead = t.out.Lead.Say(" (").Name(a.Victims[0].Name).Say(prose.Plural(a.Count, ")", " first)"))
		}
	case decision.Adopt:
		t.is(decision.ToneMoving, "claiming", "moving")
		t.out.Lead, _ = claimed(tense(done, "adopted ", "the next write adopts "), r, a, "orphans")
		t.out.Lead = t.out.Lead.Say(" without a controller")
	default:
		t.is(decision.ToneMoving, "claiming", "moving")
		var n int64
		t.out.Lead, n = claimed(tense(done, "released ", "the next write releases "), r, a, "strays")
		t.out.Lead = t.out.Lead.Say(" that no longer " + prose.Plural(n, "matches", "match") + " its selector")
	}
	managing := a.Kind == decision.CreatePods || a.Kind == decision.DeletePods
	if managing {
		t.out.Lead = t.out.Lead.Say("; it had ").Count("pods", t.tally.pods).Say(" and wants ").Count("wanted", t.s.Want)
	}
	switch {
	case !done:
		t.out.Code = "planned"
	case managing:
		t.out.Then = decision.Words{}.Say("Continues when the cache shows " + prose.Plural(a.Count, "it", "them"))
	}
}

// tense begins with what was written or, where nobody acted, would be.
func tense(done bool, past, future string) decision.Words {
	if done {
		return decision.Words{}.Say(past)
	}
	return decision.Words{}.Say(future)
}

// claimed counts the pods of one kind of claim, or names the first one where some of
// them turned out to be gone. n is how many it speaks of.
func claimed(w decision.Words, r decision.Round, first *decision.Action, fact string) (said decision.Words, n int64) {
	for i := range r.Verdict.Actions {
		a := &r.Verdict.Actions[i]
		switch {
		case a.Kind != first.Kind:
		case i < len(r.Outcomes) && r.Outcomes[i].State == decision.Tolerated:
			return w.Say("pod ").Name(first.Target.Name), 1
		default:
			n++
		}
	}
	return w.Count(fact, n).Say(prose.Plural(n, " pod", " pods")), n
}

func (t *teller) expecting() bool {
	e := t.s.Expect
	if t.leaf != leafExpects && (t.s.Want > 0 || e.Creates <= 0 || !t.s.Now.Before(e.Expires)) {
		return false // None is held back. Of those that it does not want, it says that they exist.
	}
	t.is(decision.ToneWaiting, "expectations", "waiting")
	seen := "it"
	switch {
	case e.Creates > 0:
		seen = prose.Plural(e.Creates, "it", "them")
		t.out.Lead = decision.Words{}.Count("creates", e.Creates).
			Say(prose.Plural(e.Creates, " pod it created is", " pods it created are"))
	default:
		t.out.Lead = decision.Words{}.Say("the deletion of ").Count("deletes", e.Deletes).
			Say(prose.Plural(e.Deletes, " pod is", " pods is"))
	}
	t.out.Lead = t.out.Lead.Say(" not in the cache after ").Since(e.Since)
	t.out.Then = decision.Words{}.Say("Nothing is created or deleted until the cache shows " + seen + ", for at most ").Until(e.Expires).Say(" more")
	t.out.Since, t.out.ChangesAt = e.Since, e.Expires
	return true
}

func (t *teller) settling() bool {
	n := t.tally.settling
	if n == 0 {
		return false
	}
	t.is(decision.ToneWaiting, "min-ready", "waiting")
	t.out.Lead = decision.Words{}.Count("settling", n).Say(prose.Plural(n, " pod is", " pods are"))
	at := t.tally.settledAt
	if at.IsZero() {
		t.out.Lead = t.out.Lead.Say(" ready, but " + prose.Plural(n, "its", "their") + " Ready condition has no time")
	} else {
		t.out.Lead = t.out.Lead.Say(" ready but must stay ready for ").Until(at).Say(" more")
		t.out.ChangesAt = at
	}
	t.out.Lead = t.out.Lead.Say(" (minReadySeconds ").Count("minReadySeconds", t.s.MinReady).Say(")")
	t.out.Then = decision.Words{}.Count("available", t.tally.available).Say(" of ").Count("wanted", t.s.Want).
		Say(podsAre(t.tally.available, t.s.Want) + " available")
	if at.IsZero() {
		t.out.Then = t.out.Then.Say("; unblocks when the condition has a time")
	}
	return true
}
