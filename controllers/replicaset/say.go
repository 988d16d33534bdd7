package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// teller is what a sentence is made from.
type teller struct {
	s       *Snapshot
	waiting decision.Diagnosis // of its pods
	leaf    leaf
	rounds  []decision.Round
	last    decision.Round
	report  *decision.Report
	try     decision.Try
	tally   tally
	out     decision.Sentence
}

// say builds the sentence of the sync, of a snapshot with what its rounds found out. report
// is nil where nothing was settled; turns is when the clock alone makes another diagnosis.
func say(s *Snapshot, waiting decision.Diagnosis, turns time.Time, at leaf, rounds []decision.Round, report *decision.Report, try decision.Try) decision.Sentence {
	t := &teller{s: s, waiting: waiting, leaf: at, rounds: rounds, last: last(rounds), report: report, try: try, tally: count(s)}
	t.out.Namespace, t.out.Object = s.Namespace, s.Name
	t.say()
	t.out.NoteChange(turns, t.s.Now)
	t.out.NoteChange(t.tally.settledAt, t.s.Now) // One more is available then.
	return t.out
}

// say says what ended the sync early, or else the most urgent of what it did and of
// what its pods wait for.
func (t *teller) say() {
	switch t.leaf {
	case leafEcho:
		t.echo()
	case leafGone:
		t.gone()
	case leafInvalid:
		t.invalid()
	case leafParent:
		t.parent()
	default:
		said := t.refused() || t.wasRefused() || t.namespaceTerminating() || t.beingDeleted() || t.losing() || t.working() || t.expecting() ||
			t.blocked() || t.releaseDenied() || t.settling() || t.scaledToZero() || t.unsettled()
		if !said {
			t.settled()
		}
	}
}

// refused is a write that did not get through.
func (t *teller) refused() bool {
	return t.unanswered() || t.claimRefused() || t.manageRefused() || t.statusRefused()
}

// is sets tone, code and the words that join them to the subject.
func (t *teller) is(tone decision.Tone, code, state string) {
	t.out.Tone, t.out.Code, t.out.Verb, t.out.State = tone, code, "is", state
}

// fail sets a failure.
func (t *teller) fail(code string) {
	t.out.Tone, t.out.Code, t.out.Verb, t.out.State = decision.ToneFailed, code, "has", "failed"
}

func (t *teller) gone() {
	t.is(decision.ToneNeutral, "gone", "gone")
	t.out.Lead = words("no " + t.s.Kind + " of that name exists")
	t.out.Then = words("The garbage collector deletes its pods, unless they were orphaned")
}

func (t *teller) echo() {
	e := t.s.Echo[0]
	t.is(decision.ToneWaiting, "echo", "waiting")
	t.out.Lead = decision.Words{}.Say("its own write of ").Name(e.Object).Say(" at rv ").Name(e.Written).
		Say(" is not in the cache after ").Since(e.Since).Say("; the cache is at ").Name(e.Cached)
	t.out.Then = decision.Words{}.Say("Continues when the cache shows it, or looks again in ").Until(e.Check)
	t.out.Since, t.out.ChangesAt = e.Since, e.Check
}

func (t *teller) invalid() {
	t.fail("invalid-selector")
	t.out.Lead = decision.Words{}.Say("its selector cannot be read (").Quote(prose.ClipMiddle(t.last.Verdict.Invalid, longest)).
		Say("), so its pods are left alone")
	t.out.Then = decision.Words{}.Say("Not retried until it changes")
}

func (t *teller) parent() {
	held := t.last.Verdict.Held[0]
	t.is(decision.ToneWaiting, "parent", "waiting")
	t.out.Lead = decision.Words{}.Say("a live read says that it is ").Quote(t.s.Learnt.Parent).
		Say(", so it does not adopt ").Name(held.Target.Name)
	t.out.Then = decision.Words{}.Say("Continues when the cache shows it too")
	at := t.last.Verdict.Timers[0].At
	t.out.Then = t.out.Then.Say(", or in ").Until(at)
	t.out.ChangesAt = at
}

// tryAgain says when the worker tries once more after a failure.
func (t *teller) tryAgain() decision.Words {
	switch {
	case t.try.Next.IsZero():
		return decision.Words{}.Say("It will be retried")
	case t.try.Number == 0:
		return t.decideAgain()
	}
	t.out.ChangesAt = t.try.Next
	return decision.Words{}.Say("Try ").Count("try", t.try.Number).Say(", again in ").Until(t.try.Next)
}

// decideAgain says when the worker looks again after something that is nobody's failure.
func (t *teller) decideAgain() decision.Words {
	if t.try.Next.IsZero() {
		return decision.Words{}.Say("Decides again")
	}
	t.out.ChangesAt = t.try.Next
	return decision.Words{}.Say("Decides again in ").Until(t.try.Next)
}

func (t *teller) beingDeleted() bool {
	if t.leaf != leafDeleting {
		return false
	}
	t.is(decision.ToneNeutral, "deleting", "being deleted")
	var next time.Time
	look := diagnosis.Pods{Namespace: t.s.Namespace, Now: t.s.Now, Next: &next}
	kept := diagnosis.Kept{Deletion: t.s.Deletion, Meanwhile: "; until then no pod is created", Awaited: func() decision.Finding {
		if n := t.s.Deletion.Blocking; n > 0 {
			return look.Awaited(t.s.TerminatingPods, n)
		}
		return diagnosis.Elsewhere()
	}}
	if t.tally.pods > 0 {
		kept.Meanwhile = "; until then its pods stay, and none is replaced"
	}
	if going := look.Deletion(kept, longLead); going != nil {
		t.out.Tone, t.out.Lead, t.out.Then, t.out.Since = going.Tone, going.Lead, going.Then, t.s.Deletion.Since
		t.out.NoteChange(next, t.s.Now)
		return true
	}
	t.out.Lead = decision.Words{}.Say("only its status is updated; its pods are left to the garbage collector")
	return true
}

// unsettled is what is left where a claim came too late: the number is not
// right, and only another sync can correct it.
func (t *teller) unsettled() bool {
	if t.tally.pods == t.s.Want {
		return false
	}
	t.is(decision.ToneWaiting, "claim-late", "waiting")
	t.out.Lead = decision.Words{}.Say("it has ").Count("pods", t.tally.pods).Say(prose.Plural(t.tally.pods, " pod", " pods")+" and wants ").
		Count("wanted", t.s.Want).Say(", because a pod was deleted before it could be claimed")
	t.out.Then = decision.Words{}.Say("Continues when the cache shows it")
	return true
}

func (t *teller) settled() {
	t.is(decision.ToneOK, "settled", "settled")
	t.out.Lead = t.withRecentChange(decision.Words{}.Count("available", t.tally.available).Say(" of ").Count("wanted", t.s.Want).
		Say(podsAre(t.tally.available, t.s.Want) + " available"))
	t.out.Since = t.tally.since
}

// podsAre goes after "n of total".
func podsAre(n, total int64) string {
	if total == 1 {
		return " pod is"
	}
	return " pods" + prose.Plural(n, " is", " are")
}
