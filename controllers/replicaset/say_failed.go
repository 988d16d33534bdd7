package replicaset

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// unanswered is an API server that is not there, or cannot serve.
func (t *teller) unanswered() bool {
	a, o := failed(t.last, decision.Adopt, decision.Release, decision.CreatePods, decision.DeletePods)
	due := "its status still has to be written"
	switch {
	case o != nil:
		due = "pods still have to be " + diagnosis.Done(a.Kind)
	case t.report != nil:
		o = t.report.Outcome
	}
	why, ok := diagnosis.Unanswered(o)
	if !ok {
		return false
	}
	t.is(decision.ToneWaiting, "unanswered", "waiting")
	t.out.Lead = diagnosis.Fit(append(why, words(", so "+due)...), longLead)
	t.out.Then = diagnosis.Again(t.try)
	t.out.ChangesAt = t.try.Next
	return true
}

func words(text string) decision.Words { return decision.Words{}.Say(text) }

func (t *teller) claimRefused() bool {
	a, o := failed(t.last, decision.Adopt, decision.Release)
	if o == nil {
		return false
	}
	claim := words("the adoption of pod ")
	if a.Kind == decision.Release {
		claim = words("the release of pod ")
	}
	claim = claim.Name(a.Target.Name)
	if o.State == decision.Unknown {
		t.replyLost(claim, "it", o)
		return true
	}
	if t.adoptedFirst(a, o) {
		return true
	}
	t.fail("claim-refused")
	t.out.Lead = diagnosis.Fit(refusedBy(claim, o).Say(", so nothing is created or deleted"), longLead)
	t.out.Then = t.granted(o)
	return true
}

// adoptedFirst tells of a pod that another controller has adopted since the cache was read.
func (t *teller) adoptedFirst(a *decision.Action, o *decision.Outcome) bool {
	if a.Kind != decision.Adopt || o.Failure == nil {
		return false
	}
	kind, name, ok := otherController(o.Failure.Message, t.s.Kind+"/"+t.s.Name)
	if !ok {
		return false
	}
	t.is(decision.ToneWaiting, "adopted-first", "waiting")
	t.out.Lead = words(kind + " ").Name(name).Say(" adopted pod ").Name(a.Target.Name).Say(" first: their selectors overlap")
	t.out.Then = words("Continues when the cache shows that")
	if !t.try.Next.IsZero() {
		t.out.Then = append(t.out.Then.Say(". "), t.tryAgain()...)
	}
	return true
}

// otherController is the controller besides self, as KIND/NAME, that the API server's refusal of a second one names.
func otherController(message, self string) (kind, name string, ok bool) {
	_, both, _ := strings.Cut(message, "Only one reference can have Controller set to true. Found \"true\" in references for ")
	first, second, _ := strings.Cut(both, " and ")
	second, _, _ = strings.Cut(second, " ") // Other errors may follow.
	second = strings.TrimRight(second, ".,]")
	other := second
	if second == self {
		other = first
	}
	if kind, name, ok = strings.Cut(other, "/"); !ok || first != self && second != self {
		return "", "", false
	}
	return kind, name, kind != "" && name != ""
}

// refusedBy tells of a refused write, by whom and why, as far as the answer says so.
func refusedBy(what decision.Words, o *decision.Outcome) decision.Words {
	if o.Failure == nil || o.Failure.Message == "" {
		return what.Say(" was refused")
	}
	return diagnosis.RefusedBy(what, o.Failure.Message, "proceed")
}

// granted says when a refused write is tried again, and before that what somebody has to grant.
func (t *teller) granted(o *decision.Outcome) decision.Words {
	if o.Failure == nil {
		return t.tryAgain()
	}
	return diagnosis.UnlessGranted(o.Failure.Message, t.tryAgain())
}

// losing is one whose pods do not match its selector as soon as they exist: it releases them, and creates
// others for them.
func (t *teller) losing() bool {
	if t.s.Lost == nil || t.tally.pods >= t.s.Want {
		return false
	}
	t.fail("losing-pods")
	t.out.Lead, t.out.Then = diagnosis.OfLost(t.s.Lost)
	return true
}

// releaseDenied is a pod that it still owns, as a policy or webhook denied the release with 422,
// which is ignored as for a pod that is gone ([RS-6]).
func (t *teller) releaseDenied() bool {
	var first *decision.Action
	var before, after decision.Words
	denied, strays := int64(0), int64(0)
	for _, r := range t.rounds {
		for i := range min(len(r.Verdict.Actions), len(r.Outcomes)) {
			a, o := &r.Verdict.Actions[i], &r.Outcomes[i]
			if a.Kind != decision.Release {
				continue
			}
			strays++
			if o.State != decision.Tolerated || o.Failure == nil {
				continue
			}
			if who, why, named := diagnosis.ByName(o.Failure.Message, "proceed"); named {
				if denied++; first == nil {
					first, before, after = a, who, why
				}
			}
		}
	}
	if first == nil {
		return false
	}
	what, them := words("the release of pod ").Name(first.Target.Name), "it"
	if denied > 1 && denied == strays {
		what, them = words("the release of ").Count("strays", strays).Say(" pods"), "them"
	}
	t.is(decision.ToneWaiting, "release-denied", "waiting")
	t.out.Lead = diagnosis.Fit(slices.Concat(before, what, after).Say(", so it still owns "+them), longLead)
	t.out.Then = words("Needs action: unblocks when that is allowed; every sync tries it again")
	return true
}

// told appends why a reply was lost, where that is known.
func told(w decision.Words, o *decision.Outcome) decision.Words {
	f := o.LostReply()
	if f == nil || f.Message == "" {
		return w
	}
	return w.Say(" (").Quote(prose.ClipMiddle(cause(f), longest)).Say(")")
}

func (t *teller) manageRefused() bool {
	a, o := managed(t.rounds)
	switch {
	case failure(o) == nil:
		return false
	case o.State == decision.Unknown:
		work := "the creation of pods"
		if a.Kind == decision.DeletePods {
			work = "the deletion of pods"
		}
		t.replyLost(words(work), "them", o)
	case a.Kind == decision.CreatePods:
		t.createRefused(refusal(t.s, o), t.leftOver(o))
	default:
		t.deleteRefused(undeleted(t.s, o), t.leftOver(o))
	}
	return true
}

// leftOver counts the pods that are still missing or too many after what was done.
func (t *teller) leftOver(o *decision.Outcome) decision.Words {
	return decision.Words{}.Count("left", left(t.s, t.tally, o))
}

// replyLost is a write that may have been done; them is what is read to know.
func (t *teller) replyLost(write decision.Words, them string, o *decision.Outcome) {
	t.is(decision.ToneWaiting, "unknown-outcome", "waiting")
	lead := diagnosis.Unsure(write, o)
	if o.LostReply().Internal() {
		t.out.Lead, t.out.Then = diagnosis.Fit(lead, longLead), words("Reads "+them+" live before it decides again")
		if !t.try.Next.IsZero() {
			t.out.Then, t.out.ChangesAt = t.out.Then.Say(" in ").Until(t.try.Next), t.try.Next
		}
		return
	}
	t.out.Lead = told(lead, o).Say(", so the next sync reads " + them + " live before it decides")
	if !t.try.Next.IsZero() {
		t.out.Then = t.decideAgain()
	}
}

// createRefused tells who refuses the pods, what keeps those that there are, and what would end both.
func (t *teller) createRefused(f decision.Finding, missing decision.Words) {
	t.fail(f.Code)
	lead := append(append(decision.Words{}, f.Before...), missing...)
	lead = lead.Say(" of ").Count("wanted", t.s.Want).Say(prose.Plural(t.s.Want, " pod", " pods"))
	lead = append(lead, f.After...)
	kept := t.kept()
	if both, ok := diagnosis.Fair(withFirst(lead, kept), longLead); ok {
		t.out.Lead = both
	} else {
		t.out.Lead = diagnosis.Fit(lead, longLead)
	}
	t.endsWith(append([]decision.Finding{f}, kept...)...)
}

// deleteRefused tells who refuses to delete pods, and what would end that.
func (t *teller) deleteRefused(f decision.Finding, surplus decision.Words) {
	t.fail(f.Code)
	pods := surplus.Say(" of ").Count("pods", t.tally.pods).Say(prose.Plural(t.tally.pods, " pod", " pods"))
	t.out.Lead = diagnosis.Fit(slices.Concat(f.Before, pods, f.After), longLead)
	t.endsWith(f)
}

// endsWith says what ends a refusal, and when it is tried again.
func (t *teller) endsWith(findings ...decision.Finding) {
	t.out.Then = diagnosis.Ends(findings, longLead)
	if !t.try.Next.IsZero() {
		t.out.Then = append(t.out.Then.Say(". "), t.tryAgain()...)
	}
}

// kept is what keeps pods that there are, where that is more than what every pod goes through.
func (t *teller) kept() []decision.Finding {
	return slices.DeleteFunc(slices.Clone(diagnosis.Relevant(t.waiting.Findings)), func(f decision.Finding) bool { return f.Usual || f.Code == diagnosis.MinReady })
}

// withFirst adds the first of some findings, and a word of the others.
func withFirst(lead decision.Words, list []decision.Finding) decision.Words {
	if len(list) == 0 {
		return lead
	}
	f := &list[0]
	w := slices.Clone(lead).Say("; ")
	if f.Count == 1 && len(f.Pods) == 1 {
		w = w.Say("pod ").Name(f.Pods[0])
	} else {
		w = w.Count(f.Fact(), f.Count).Say(prose.Plural(f.Count, " pod", " pods"))
	}
	if w = append(w, f.After...); len(list) > 1 {
		w = w.Say(", and others wait for other reasons")
	}
	return w
}

// refusal is who refused pods.
func refusal(s *Snapshot, o *decision.Outcome) decision.Finding {
	return diagnosis.OfRefusal(refused(s, o, reasonCreate))
}

// undeleted is who refused to delete pods.
func undeleted(s *Snapshot, o *decision.Outcome) decision.Finding {
	return diagnosis.OfDeletion(refused(s, o, reasonDelete))
}

// refused is what is known of pods that were refused. A status that says so for the same reason
// tells since when: each try is refused anew.
func refused(s *Snapshot, o *decision.Outcome, reason string) diagnosis.Refusal {
	r := diagnosis.Refusal{Namespace: s.Namespace, Count: left(s, count(s), o), Since: s.Now}
	if c := failing(s.Status.Conditions); c != nil && c.Reason == reason && !c.Transition.IsZero() {
		r.Since = c.Transition
	}
	if o.Failure != nil {
		r.Message = o.Failure.Message
	}
	return r
}

// wasRefused tells of a sync that only planned what the status says is refused.
func (t *teller) wasRefused() bool {
	f := refusedBefore(t.s, t.rounds)
	switch {
	case f == nil:
		return false
	case f.Code == diagnosis.Delete:
		t.deleteRefused(*f, decision.Words{}.Count("surplus", f.Count))
	default:
		t.createRefused(*f, decision.Words{}.Count("left", f.Count))
	}
	return true
}

func (t *teller) statusRefused() bool {
	if t.report == nil || t.report.Outcome == nil || t.report.Outcome.OK() {
		return false
	}
	switch o := t.report.Outcome; o.State {
	case decision.Conflicted:
		t.is(decision.ToneWaiting, "conflict", "waiting")
		t.out.Lead = t.otherWriter(o.Other)
		t.out.Then = t.decideAgain()
	case decision.Superseded:
		t.is(decision.ToneWaiting, "superseded", "waiting")
		t.out.Lead = decision.Words{}.Say("the cache does not show a newer write of this process to it yet, so its status was not written")
		t.out.Then = decision.Words{}.Say("Continues when the cache shows it")
	case decision.Unknown:
		t.is(decision.ToneWaiting, "unknown-outcome", "waiting")
		t.out.Lead = diagnosis.Unsure(words("its status update"), o)
		if !o.Failure.Internal() { // Otherwise it has the answer.
			t.out.Lead = told(t.out.Lead, o)
		}
		t.out.Then = t.decideAgain()
	default:
		t.fail("status-refused")
		t.out.Lead = diagnosis.Fit(refusedBy(words("its status update"), o), longLead)
		t.out.Then = t.granted(o)
	}
	return true
}

// otherWriter names who wrote first, and what, as far as that is known.
func (t *teller) otherWriter(other *decision.Writer) decision.Words {
	var w decision.Words
	if other == nil || other.Manager == "" {
		return w.Say("another writer wrote it first")
	}
	w = w.Name(other.Manager).Say(" wrote it first")
	if other.RV != "" {
		w = w.Say(", rv ").Name(t.s.RV).Say(" became ").Name(other.RV)
	}
	if len(other.Fields) > 0 {
		w = w.Say(" (").Quote(prose.Clip(strings.Join(other.Fields, ", "), longest)).Say(")")
	}
	return w
}
