package rollingupdate

import (
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// left tells of an update that was left half-done, and which commands end it: only those that
// would do what their names say.
func (t *teller) left() {
	if t.s.NewName == "" {
		t.leftNameless()
		return
	}
	finish, back := t.wouldBe(Request{To: t.s.NewName}), t.wouldBe(Request{To: t.s.NewName, Abort: true})
	lead := words("an update to ").Name(t.s.NewName).Say(" was left half-done")
	if finish.code == "" || t.s.New == nil {
		lead = append(lead.Say(", and nobody asks for the rest; "), t.sizes()...)
	} else {
		lead = append(lead.Say("; "), finish.lead...)
	}
	command := func(text, verb string) decision.Words {
		return words(text + " with loopscope rolling-update " + verb + " ").Name(t.s.Name).Say(" -n ").Name(t.s.Namespace)
	}
	then := finish.do
	switch {
	case finish.code == "" && back.code == "":
		then = command("Finish it", "resume").Say(", or go back with abort in place of resume")
	case finish.code == "":
		then = command("Finish it", "resume")
	case back.code == "" && t.s.New == nil:
		then = command("Go back", "abort").Say(", or ask for it anew with --image or -f")
	case back.code == "":
		then = command("Go back", "abort")
	}
	t.is(decision.ToneWaiting, CodeHalfDone, "waiting", lead, then)
}

// leftNameless is where only the size at the start is left of an update.
func (t *teller) leftNameless() {
	old := t.s.Old
	t.is(decision.ToneWaiting, CodeHalfDone, "waiting",
		words("an update was left half-done, and nothing says to what; it had ").Count("original", *old.Original).
			Say(prose.Plural(*old.Original, " pod", " pods")+" at the start, and is to have ").Count("old", old.Size).Say(" now"),
		words("Scale it as you want it, and then remove the note: kubectl -n ").Name(t.s.Namespace).Say(" annotate rc ").Name(t.s.Name).Say(" "+AnnotationOriginal+"-"))
}

// wouldBe is what keeps the update from being finished, or taken back, if somebody asked for that now.
func (t *teller) wouldBe(r Request) problem {
	s := *t.s
	s.Request = &r
	asked := newDecider(&s)
	if p := asked.wrong(); p.code != "" || !r.Abort || asked.takesBack() {
		return p
	}
	return problem{code: tooLate}
}

// sizes is how far the update is.
func (t *teller) sizes() decision.Words {
	old, n := t.s.Old, t.s.New
	w := decision.Words{}
	switch {
	case n == nil && old.Original != nil && old.Size < *old.Original:
		return w.Name(old.Name).Say(" has ").Count("old", old.Size).Say(" of ").Count("wanted", t.wanted()).Say(prose.Plural(t.wanted(), " pod", " pods") + ", and ").Name(t.s.NewName).Say(" does not exist")
	case n == nil:
		return w.Say("nothing has been scaled yet")
	}
	w = w.Name(n.Name).Say(" has ").Count("new", n.Size).Say(" of ").Count("wanted", t.wanted()).Say(prose.Plural(t.wanted(), " pod", " pods"))
	switch {
	case old == nil:
		return w
	case old.Size == 0:
		return w.Say(", and ").Name(old.Name).Say(" has none left")
	}
	return w.Say(", and ").Name(old.Name).Say(" still has ").Count("old", old.Size)
}
