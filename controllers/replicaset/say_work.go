package replicaset

import (
	"strings"

	"github.com/loopscope/loopscope/controllers/decision"
)

func (t *telling) claimRefused() bool {
	a, o := failed(t.last, decision.Adopt, decision.Release)
	if o == nil {
		return false
	}
	t.has("claim-refused")
	verb := "pod cannot be adopted: "
	if a.Kind == decision.Release {
		verb = "pod cannot be released: "
	}
	t.out.Lead = decision.Words{}.Say(verb).Name(a.Target.Name).Say(" (").Quote(told(o)).
		Say("), so nothing is created or deleted")
	t.out.Then = t.again(nil)
	return true
}

// told is the message of a failed outcome, or its state where there is none.
func told(o *decision.Outcome) string {
	if o.Failure == nil || o.Failure.Message == "" {
		return string(o.State)
	}
	return brief(o.Failure.Message)
}

func (t *telling) manageRefused() bool {
	a, o := managed(t.rounds)
	if failure(o) == nil {
		return false
	}
	creating := a.Kind == decision.CreatePods
	if o.State == decision.Unknown {
		t.is(decision.ToneWaiting, "unknown", "waiting")
		t.out.Lead = decision.Words{}.Say("the reply to " + gerund(creating) + " pods was lost (").Quote(told(o)).
			Say("), so the next sync reads them live before it decides")
		t.out.Then = t.again(nil)
		return true
	}
	t.has("delete-refused")
	t.out.Lead = decision.Words{}.Count("surplus", t.tally.pods-t.s.Want).Say(" of ").Count("pods", t.tally.pods).
		Say(plural(t.tally.pods, " pod", " pods") + " cannot be deleted (").Quote(told(o)).Say(")")
	if creating {
		t.out.Code = "create-refused"
		t.out.Lead = decision.Words{}.Count("missing", t.s.Want-t.tally.pods).Say(" of ").Count("wanted", t.s.Want).
			Say(plural(t.s.Want, " pod", " pods") + " cannot be created (").Quote(told(o)).Say(")")
	}
	t.out.Then = t.again(nil)
	return true
}

func gerund(creating bool) string {
	if creating {
		return "creating"
	}
	return "deleting"
}

func (t *telling) statusRefused() bool {
	if t.report == nil || t.report.Outcome == nil || t.report.Outcome.OK() {
		return false
	}
	o := t.report.Outcome
	switch o.State {
	case decision.Conflicted:
		t.is(decision.ToneWaiting, "conflict", "waiting")
		t.out.Lead = decision.Words{}.Say("another writer was first").Say(otherWriter(o))
		if o.Other != nil && o.Other.Manager != "" {
			t.out.Lead = decision.Words{}.Quote(o.Other.Manager).Say(" wrote it first, at rv ").Quote(o.Other.RV)
		}
	case decision.Superseded:
		t.is(decision.ToneWaiting, "superseded", "waiting")
		t.out.Lead = decision.Words{}.Say("a newer write of this process to it is on its way back, so its status was not written")
	case decision.Unknown:
		t.is(decision.ToneWaiting, "unknown", "waiting")
		t.out.Lead = decision.Words{}.Say("the reply to its status was lost (").Quote(told(o)).Say(")")
	default:
		t.has("status-refused")
		t.out.Lead = decision.Words{}.Say("its status could not be written (").Quote(told(o)).Say(")")
	}
	t.out.Then = t.again(nil)
	return true
}

func otherWriter(o *decision.Outcome) string {
	if o.Failure == nil {
		return ""
	}
	return ", so it decides again on what that one wrote"
}

// working tells what this sync wrote or, where nobody acted, would write. Pods
// that come and go are told before claims.
func (t *telling) working() bool {
	for _, kind := range []decision.ActionKind{decision.CreatePods, decision.DeletePods, decision.Adopt, decision.Release} {
		for _, r := range t.rounds {
			for i, a := range r.Verdict.Actions {
				if a.Kind == kind {
					t.tellWork(a, r, i < len(r.Outcomes) && r.Outcomes[i].State != decision.NotTried)
					return true
				}
			}
		}
	}
	return false
}

func (t *telling) tellWork(a decision.Action, r decision.Round, done bool) {
	switch a.Kind {
	case decision.CreatePods:
		t.is(decision.ToneMoving, "creating", "moving")
		t.out.Lead = t.amount("creating", a.Count, done, "created", "to be created")
	case decision.DeletePods:
		t.is(decision.ToneMoving, "deleting-pods", "moving")
		t.out.Lead = t.amount("deleting", a.Count, done, "deleted", "to be deleted")
		if len(a.Victims) > 0 {
			t.out.Lead = t.out.Lead.Say(", ").Name(a.Victims[0].Name).Say(plural(a.Count, "", " first"))
		}
	case decision.Adopt:
		t.is(decision.ToneMoving, "claiming", "moving")
		n := claims(r, a.Kind)
		t.out.Lead = decision.Words{}.Count("orphans", n).
			Say(plural(n, " pod", " pods") + " without a controller " + tense(done, "adopted", "to be adopted"))
	default:
		t.is(decision.ToneMoving, "claiming", "moving")
		n := claims(r, a.Kind)
		t.out.Lead = decision.Words{}.Count("strays", n).
			Say(plural(n, " pod that no longer matches ", " pods that no longer match ") + tense(done, "released", "to be released"))
	}
	if !done {
		t.out.Code = "planned"
	}
	t.out.Then = t.then(a)
}

// amount says how many pods are created or deleted, and of how many.
func (t *telling) amount(fact string, n int64, done bool, past, future string) decision.Words {
	return decision.Words{}.Count(fact, n).Say(plural(n, " pod ", " pods ")+tense(done, past, future)+"; it had ").
		Count("pods", t.tally.pods).Say(" and wants ").Count("wanted", t.s.Want)
}

func tense(done bool, past, future string) string {
	if done {
		return past
	}
	return future
}

// claims counts the actions of the kind in the round.
func claims(r decision.Round, kind decision.ActionKind) int64 {
	var n int64
	for _, a := range r.Verdict.Actions {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// then says what follows on the work.
func (t *telling) then(a decision.Action) decision.Words {
	switch a.Kind {
	case decision.CreatePods, decision.DeletePods:
		return decision.Words{}.Say("Continues when the cache shows them")
	default:
		return nil
	}
}

func (t *telling) expecting() bool {
	held := t.held("expectations")
	if held == nil {
		return false
	}
	e := t.s.Expect
	t.is(decision.ToneWaiting, "expectations", "waiting")
	switch {
	case e.Creates > 0:
		t.out.Lead = decision.Words{}.Count("creates", e.Creates).
			Say(plural(e.Creates, " pod", " pods") + " it created have not been seen yet")
	default:
		t.out.Lead = decision.Words{}.Count("deletes", e.Deletes).
			Say(plural(e.Deletes, " pod", " pods") + " it deleted have not been seen to go yet")
	}
	t.out.Lead = t.out.Lead.Say(", for ").Since(e.Since)
	t.out.Then = decision.Words{}.Say("Creates and deletes nothing until they are, or for ").Until(e.Expires).Say(" more")
	t.out.Since, t.out.Turns = e.Since, e.Expires
	return true
}

func (t *telling) settling() bool {
	n := t.tally.settling
	if n == 0 {
		return false
	}
	t.is(decision.ToneWaiting, "min-ready", "waiting")
	t.out.Lead = decision.Words{}.Count("settling", n).Say(plural(n, " pod is ready but must stay so", " pods are ready but must stay so"))
	if at := t.tally.settledAt; !at.IsZero() {
		t.out.Lead = t.out.Lead.Say(" ").Until(at).Say(" more")
		t.out.Turns = at
	}
	t.out.Lead = t.out.Lead.Say(" (minReadySeconds ").Count("minReadySeconds", t.s.MinReady).Say(")")
	t.out.Then = decision.Words{}.Count("available", t.tally.available).Say(" of ").Count("wanted", t.s.Want).
		Say(podsAre(t.tally.available, t.s.Want) + " available")
	return true
}

// blocked tells what the pods that are not ready wait for.
func (t *telling) blocked() bool {
	p := t.tally.blocker
	if p == nil {
		return false
	}
	plight := plightOf(p)
	t.is(decision.ToneWaiting, plight.code, "waiting")
	n := t.tally.pods - t.tally.available
	t.out.Lead = decision.Words{}.Count("unavailable", n).Say(" of ").Count("pods", t.tally.pods).
		Say(podsAre(n, t.tally.pods) + " not available; ").
		Name(p.Name).Say(" ")
	t.out.Lead = append(t.out.Lead, plight.words...)
	t.out.Then = plight.then
	t.out.Since = p.waitsSince()
	return true
}

// plight is what a pod waits for, in words.
type plight struct {
	code        string
	words, then decision.Words
}

func plightOf(p *Pod) plight {
	var w decision.Words
	switch p.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull":
		return plight{"image-pull", pull(p), w.Say("Unblocks when that image can be pulled or the template changes")}
	case "CrashLoopBackOff", "Error", "RunContainerError":
		return plight{"crash-loop", w.Say("keeps crashing (").Quote(p.Reason).Say(")"), w.Say("Unblocks when it stays up or the template changes")}
	case "Unschedulable":
		return plight{"unschedulable", w.Say("finds no node (").Quote(because(p)).Say(")"), w.Say("Unblocks when a node takes it")}
	case "CreateContainerConfigError", "CreateContainerError":
		return plight{"config", w.Say("cannot be started (").Quote(because(p)).Say(")"), w.Say("Unblocks when what it refers to exists or the template changes")}
	}
	then := w.Say("Unblocks when it becomes ready")
	switch {
	case p.Reason != "":
		return plight{"not-ready", w.Say("is not ready (").Quote(p.Reason).Say(")"), then}
	case p.Node == "":
		return plight{"not-ready", w.Say("is not on a node yet"), then}
	case p.Phase == "Pending":
		return plight{"not-ready", w.Say("is starting"), then}
	default:
		return plight{"not-ready", w.Say("is not ready"), then}
	}
}

// pull names the image and, where the registry said so, that it does not exist.
func pull(p *Pod) decision.Words {
	w := decision.Words{}.Say("cannot pull ")
	if p.Image == "" {
		w = w.Say("its image")
	} else {
		w = w.Quote(p.Image)
	}
	why := p.Reason
	if strings.Contains(strings.ToLower(p.Message), "not found") {
		why = "not found"
	}
	return w.Say(" (").Quote(why).Say(")")
}

// because is the message of what the pod waits for, or the reason without one.
func because(p *Pod) string {
	if p.Message == "" {
		return p.Reason
	}
	return brief(p.Message)
}
