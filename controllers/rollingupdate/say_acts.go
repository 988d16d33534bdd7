package rollingupdate

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// acts tells what this sync wrote or, where nobody acted, would write.
func (t *teller) acts() {
	a := &t.round.Verdict.Actions[0]
	done := t.written(0)
	if !done && t.refusedBefore() {
		return
	}
	code := "writing"
	if !done {
		code = "planned"
	}
	t.is(decision.ToneMoving, code, "moving", t.deed(a, done), nil)
	switch late, _ := t.round.Verdict.Path.Answer("RU-5.abort"); {
	case late == tooLate:
		t.out.Then = words("It is too late to take the update back: ").Name(t.s.NewName).Say(" has replaced it already")
	case done:
		t.out.Then = t.next(a)
	}
}

// deed is one write in words.
func (t *teller) deed(a *decision.Action, done bool) decision.Words {
	say := func(past, future string) decision.Words {
		if done {
			return words(past)
		}
		return words("the next write " + future)
	}
	name, n := a.Target.Name, int64(len(t.round.Verdict.Actions))
	switch a.Question {
	case "RU-6.template":
		return say("labelled its template", "labels its template").Say(", so that its pods can be told from the new ones")
	case "RU-6.pods":
		return say("labelled ", "labels ").Count("without", n).Say(prose.Plural(n, " pod", " pods")).Say(", so that they can be told from the new ones")
	case "RU-6.selector":
		return say("narrowed its selector to its own pods", "narrows its selector to its own pods")
	case "RU-6.strays":
		return say("deleted ", "deletes ").Count("strays", n).Say(prose.Plural(n, " pod", " pods")).Say(" that it made before it had the label, and that nobody controls")
	case "RU-7.begun":
		return say("wrote down", "writes down").Say(" that it has ").Count("old", t.s.Old.Size).Say(prose.Plural(t.s.Old.Size, " pod", " pods") + ", to be able to go back")
	case "RU-7.new":
		return say("created ", "creates ").Name(name).Say(" without pods")
	case "RU-9.conditions":
		_, reason, _ := strings.Cut(a.Changes[0].To, " ")
		if reason == "" {
			return say("removed", "removes").Say(" the condition of a request that is gone")
		}
		return say("published ", "publishes ").Quote(reason).Say(prose.Plural(n, "", " on both"))
	}
	if a.Size != nil && a.Kind == decision.Scale {
		return say("scaled ", "scales ").Name(name).Say(" from ").Count("size.from", a.Size.From).Say(" to ").Count("size.to", a.Size.To).Say(prose.Plural(a.Size.To, " pod", " pods"))
	}
	return t.ending(a, say)
}

// ending is a write that ends the update ([RU-10]).
func (t *teller) ending(a *decision.Action, say func(past, future string) decision.Words) decision.Words {
	switch {
	case a.Question == "RU-10.released" && a.Kind == decision.Delete:
		return say("deleted ", "deletes ").Name(a.Target.Name).Say(", whose pods go over to ").Name(t.s.Name)
	case a.Question == "RU-10.vain":
		return say("had ", "has ").Name(a.Target.Name).Say(" select its pods again, as the one that was to take them over is deleted")
	case a.Question == "RU-10.released" && a.Size == nil:
		return say("wrote down", "writes down").Say(" that it takes over ").Count("size", t.s.New.Size).Say(prose.Plural(t.s.New.Size, " pod of ", " pods of ")).Name(t.s.New.Name)
	case a.Question == "RU-10.released" && a.Target.Name != t.s.Name:
		return say("had ", "has ").Name(a.Target.Name).Say(" let go of its pods, which go over to ").Name(t.s.Name)
	case a.Question == "RU-10.counted":
		return say("ended", "ends").Say(" the take-over, as its status counts all its pods: it can make pods again")
	case a.Question == "RU-10.released":
		return say("took over ", "takes over ").Count("wanted", t.s.Old.Parked.Size).Say(prose.Plural(t.s.Old.Parked.Size, " pod of ", " pods of ")).Name(t.s.Old.Parked.From)
	case a.Kind == decision.Delete:
		return say("deleted ", "deletes ").Name(a.Target.Name).Say(", which has no pods any more")
	case TemplateFrom(a) != "":
		return say("gave ", "gives ").Name(t.s.Name).Say(" the template of ").Name(t.s.NewName)
	}
	return say("removed its notes from ", "removes its notes from ").Name(a.Target.Name).Say(", as the update has ended")
}

// next is what follows a step.
func (t *teller) next(a *decision.Action) decision.Words {
	switch {
	case a.Kind == decision.Scale && a.Size.To > a.Size.From && t.from != nil && t.from.Size > 0:
		if t.back {
			return words("Then ").Name(t.from.Name).Say(" shrinks, when pods are available")
		}
		return words("Then ").Name(t.from.Name).Say(" shrinks, when pods are available and the update period is over")
	case a.Kind == decision.Scale && a.Size.To < a.Size.From:
		return words("Continues when the status of ").Name(a.Target.Name).Say(" shows that")
	}
	return words("Continues when the cache shows it")
}

// failed tells a write that did not get through.
func (t *teller) failed() bool {
	for i := range t.round.Outcomes {
		o := &t.round.Outcomes[i]
		if o.OK() || o.State == decision.NotTried {
			continue
		}
		t.refused(&t.round.Verdict.Actions[i], o)
		return true
	}
	return false
}

func (t *teller) refused(a *decision.Action, o *decision.Outcome) {
	if why, ok := diagnosis.Unanswered(o); ok {
		t.is(decision.ToneWaiting, "unanswered", "waiting", append(why, words(", so ").Name(a.Target.Name).Say(" still has to be "+a.Kind.Past())...), diagnosis.Again(t.try))
		t.out.ChangesAt = t.try.Next
		return
	}
	switch o.State {
	case decision.Conflicted:
		t.is(decision.ToneWaiting, "conflict", "waiting", otherWriter(a, o), t.again())
	case decision.Superseded:
		t.is(decision.ToneWaiting, "superseded", "waiting", words("the cache does not show a newer write of this process to ").Name(a.Target.Name).Say(" yet, so it was not written"), words("Continues when the cache shows it"))
	case decision.Unknown:
		w := diagnosis.Unsure(words("a write of ").Name(a.Target.Name), o)
		if !o.Failure.Internal() { // Otherwise it has the answer.
			w = quoted(w, o)
		}
		t.is(decision.ToneWaiting, "unknown-outcome", "waiting", w.Say(", so the next sync reads it live before it decides"), t.again())
	default:
		t.isRefused(words("").Name(a.Target.Name).Say(" could not be "+a.Kind.Past()), t.again())
		if o.Failure != nil && o.Failure.Message != "" {
			t.out.Lead = diagnosis.RefusedWrite(a.Target, a.Kind == decision.Create, o.Failure.Message)
			t.out.Then = diagnosis.UnlessGranted(o.Failure.Message, t.out.Then)
		}
	}
}

func (t *teller) isRefused(lead, then decision.Words) {
	t.is(decision.ToneFailed, CodeRefused, "failed", lead, then)
	t.out.Verb = "has"
}

// The codes that others look for: a write is refused, and nobody asks for the rest of an update.
const (
	CodeRefused  = "refused"
	CodeHalfDone = "half-done"
)

// refusedBefore tells who looks on that what is due was refused when its loop tried it, as an
// Event says. One from before the last step says nothing of the next.
func (t *teller) refusedBefore() bool {
	r := t.s.Refused
	if r == nil || !r.At.After(t.s.lastWrite()) {
		return false
	}
	for i := range t.round.Verdict.Actions {
		a := &t.round.Verdict.Actions[i]
		if answer, same := strings.CutPrefix(r.Message, cannot(a)); same {
			then := words("Was tried ").Since(r.At).Say(" ago, and will be tried again")
			t.isRefused(diagnosis.RefusedWrite(a.Target, a.Kind == decision.Create, answer), diagnosis.UnlessGranted(answer, then))
			return true
		}
	}
	return false
}

// lastWrite is the newest instant that the loop has left on one of the two.
func (s *Snapshot) lastWrite() (last time.Time) {
	for _, c := range []*Controller{s.Old, s.New} {
		if c == nil {
			continue
		}
		if c.Stepped.After(last) {
			last = c.Stepped
		}
		if p := c.Progress; p != nil && p.Transition.After(last) {
			last = p.Transition
		}
	}
	return last
}

func otherWriter(a *decision.Action, o *decision.Outcome) decision.Words {
	if o.Other == nil || o.Other.Manager == "" {
		return words("another writer wrote ").Name(a.Target.Name).Say(" first")
	}
	return words("").Name(o.Other.Manager).Say(" wrote ").Name(a.Target.Name).Say(" first")
}

// quoted appends the message of a failed outcome, where there is one.
func quoted(w decision.Words, o *decision.Outcome) decision.Words {
	if o.Failure == nil || o.Failure.Message == "" {
		return w
	}
	return w.Say(" (").Quote(prose.ClipMiddle(o.Failure.Message, longest)).Say(")")
}

// again says when the worker tries once more.
func (t *teller) again() decision.Words {
	if t.try.Next.IsZero() {
		return words("It will be tried again")
	}
	t.out.ChangesAt = t.try.Next
	w := words("Tries again in ").Until(t.try.Next)
	if t.try.Number > 0 {
		w = words("Try ").Count("try", t.try.Number).Say(", again in ").Until(t.try.Next)
	}
	return w
}
