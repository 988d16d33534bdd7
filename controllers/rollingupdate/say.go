package rollingupdate

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// longLead is how many characters each half of a sentence may have, and longest how many a
// quoted message.
const (
	longLead = 150
	longest  = 160
)

// teller makes the sentence of a sync.
type teller struct {
	*decider
	round decision.Round // the last one
	try   decision.Try
	// waiting is what keeps pods from being available.
	waiting decision.Diagnosis
	out     decision.Sentence
	// saysHowToGoBack is set where it does already.
	saysHowToGoBack bool
}

// say builds the sentence. next is when the clock alone makes another diagnosis.
func (t *decider) say(waiting decision.Diagnosis, next time.Time, rounds []decision.Round, try decision.Try) decision.Sentence {
	x := &teller{decider: t, round: rounds[len(rounds)-1], try: try, waiting: waiting}
	x.out.Namespace, x.out.Object = t.s.Namespace, t.s.Name
	x.saysHowToGoBack = t.s.parked() != nil // There is no way back.
	if !x.failed() {
		x.state()
		x.askedTooLate()
		if t.back && x.out.State == "moving" {
			x.out.State = "moving back"
		}
	}
	x.out.NoteChange(next, t.s.Now)
	x.out.Lead, x.out.Then = diagnosis.Fit(x.out.Lead, longLead), diagnosis.Fit(x.out.Then, longLead)
	return x.out
}

// state says where the walk came out.
func (t *teller) state() {
	switch t.leaf {
	case leafEcho:
		t.echo()
	case leafGone:
		t.is(decision.ToneNeutral, "gone", "gone", words("there is no such ReplicationController, and none that replaces it"), nil)
	case leafNothing:
		t.is(decision.ToneNeutral, "none", "at rest", words("no update is asked for"), nil)
	case leafEnded:
		t.ended()
	case leafLeft:
		t.left()
	case leafInvalid:
		t.out.Tone, t.out.Code, t.out.Verb, t.out.State = decision.ToneFailed, t.problem.code, "cannot", "be updated"
		t.out.Lead, t.out.Then = t.problem.lead, t.problem.do
		if t.problem.code == badOriginal {
			t.out.State = "be taken back"
		}
	case leafDeleting:
		t.beingDeleted()
	case leafPaused:
		t.is(decision.ToneNeutral, "paused", "paused", t.sizes(), words("Continues with loopscope rolling-update resume ").Name(t.s.Name).Say(" -n ").Name(t.s.Namespace))
	case leafReported:
		t.unreported()
	case leafPeriod:
		t.period()
	case leafFloor:
		t.floorReached()
	case leafReleasing:
		t.releasing()
	case leafCounting:
		t.is(decision.ToneMoving, "counting", "moving", words("it has taken over the pods of ").Name(t.s.Old.Parked.From).Say(", and its status shows ").Count("counted", t.s.Old.Replicas).Say(" of ").Count("wanted", t.s.Old.Parked.Size),
			words("Continues when its loop counts them; until then it cannot make any"))
		t.tooLong()
	case leafSeen:
		t.is(decision.ToneMoving, "template", "moving", words("its loop has not seen yet that its pods get a label, and might make one without"), words("Continues when its status shows that it has"))
		t.tooLong()
	case leafRescaled:
		t.rescaledBy()
	default:
		t.acts()
	}
}

func (t *teller) is(tone decision.Tone, code, state string, lead, then decision.Words) {
	t.out.Tone, t.out.Code, t.out.Verb, t.out.State, t.out.Lead, t.out.Then = tone, code, "is", state, lead, then
}

// askedTooLate answers who wants to stop an update that only hands over its pods.
func (t *teller) askedTooLate() {
	r := t.s.Request
	if t.s.parked() == nil || r == nil || !r.Abort && !r.Paused {
		return
	}
	what := "pause it"
	if r.Abort {
		what = "take the update back"
	}
	then := words("It is too late to " + what)
	if len(t.out.Then) > 0 {
		then = t.out.Then.Say(". It is too late to " + what)
	}
	t.out.Then = then
}

func (t *teller) releasing() {
	from, own := t.s.Old.Parked.From, t.s.Old.Replicas
	switch {
	case len(t.s.Strays) > 0:
		t.is(decision.ToneMoving, "releasing", "moving", words("the pods of ").Name(from).Say(" still belong to it, and go over to ").Name(t.s.Name).Say(" as soon as they do not"),
			words("Continues when the loop of ").Name(from).Say(" has let go of them"))
	case own > 0:
		t.is(decision.ToneWaiting, "releasing", "waiting", words("it still has ").Count("own", own).Say(prose.Plural(own, " pod", " pods")+" that it made while it was to take over those of ").Name(from),
			words("Unblocks when "+prose.Plural(own, "it is", "they are")+" gone"))
	default:
		t.is(decision.ToneMoving, "releasing", "moving", words("").Name(from).Say(" has let go of its pods, which go over to ").Name(t.s.Name), words("Continues when the statuses of both show that they have none"))
	}
	t.tooLong()
}

// rescaledBy tells who works against the update, and how to get it going again.
func (t *teller) rescaledBy() {
	c, by := t.other, words("somebody")
	if c.Scaler != "" {
		by = words("").Name(c.Scaler)
	}
	lead := append(by, words(" has scaled ").Name(c.Name).Say(" from ").Count("given", *c.Given).Say(" to ").Count("size", c.Size).Say(prose.Plural(c.Size, " pod", " pods")+" in the middle of the update")...)
	t.is(decision.ToneWaiting, "rescaled", "waiting", lead, words("Unblocks when it has ").Count("given", *c.Given).Say(" again: stop what scales it, then kubectl -n ").Name(t.s.Namespace).Say(" scale rc ").Name(c.Name).Say(" --replicas=").Count("given", *c.Given))
	t.tooLong()
}

func (t *teller) echo() {
	e := t.s.Echo[0]
	t.is(decision.ToneWaiting, "echo", "waiting", words("its own write of ").Name(e.Object).Say(" at rv ").Name(e.Written).
		Say(" is not in the cache after ").Since(e.Since).Say("; the cache is at ").Name(e.Cached),
		words("Continues when the cache shows it, or looks again in ").Until(e.Check))
	t.out.Since, t.out.ChangesAt = e.Since, e.Check
}

func (t *teller) ended() {
	r := t.s.Result
	lead := words("the update ")
	if t.s.Name == r.To {
		lead = lead.Say("from ").Name(r.From)
	} else {
		lead = lead.Say("to ").Name(r.To)
	}
	if r.Ended == Aborted {
		lead = lead.Say(" was taken back ").Since(r.At).Say(" ago")
	} else {
		lead = lead.Say(" was completed ").Since(r.At).Say(" ago")
	}
	var then decision.Words
	if t.s.TookOver() {
		then = words("Its pods were made as those of ").Name(r.To).Say(", which gave them to ").Name(t.s.Name)
	}
	t.is(decision.ToneOK, r.Ended, "at rest", lead, then)
	t.out.Since = r.At
}

func (t *teller) unreported() {
	from, to := t.from, t.to
	list := diagnosis.Relevant(t.waiting.Findings)
	refused := slices.IndexFunc(list, func(f decision.Finding) bool { return f.Code == diagnosis.Delete })
	switch {
	case refused >= 0:
		t.blocked(list[refused:], from, "")
	case from.Replicas > from.Size:
		t.miscounted(from, "from")
	case len(list) > 0 && to.Replicas < to.Size:
		t.blocked(list, to, "")
	case !from.reported():
		t.unseen(from)
	case from.Replicas < from.Size && from.Refusal == "":
		t.miscounted(from, "from")
	case !to.reported():
		t.unseen(to)
	default:
		t.miscounted(to, "to")
	}
	t.tooLong()
}

// unseen is one whose loop has not seen its new size.
func (t *teller) unseen(c *Controller) {
	t.is(decision.ToneMoving, "reporting", "moving", words("the status of ").Name(c.Name).Say(" does not show its new size yet"), words("Continues when it does"))
}

// miscounted is one whose status counts more or fewer pods than it is to have. which begins its facts.
func (t *teller) miscounted(c *Controller, which string) {
	lead := words("").Name(c.Name).Say(" is to have ").Count(which+".size", c.Size).Say(prose.Plural(c.Size, " pod", " pods"))
	n := c.Replicas - c.Size
	then := words("Continues when " + prose.Plural(n, "that pod is", "those pods are") + " gone")
	if n > 0 {
		lead = lead.Say(" and still has ")
	} else {
		lead, then = lead.Say(", and its status shows "), words("Continues when it counts "+prose.Plural(-n, "that pod", "those pods")+", too")
	}
	t.is(decision.ToneMoving, "reporting", "moving", lead.Count(which+".pods", c.Replicas), then)
}

func (t *teller) period() {
	h := t.round.Verdict.Held[0]
	at := h.When.At
	n := h.Size.From - h.Size.To
	lead, then := t.progress().Say("; its pods are watched for another ").Until(at), "Then "
	if !at.After(t.s.Now) { // The sync that is due has not come, as where its process was killed.
		lead, then = t.progress().Say("; its pods have been watched for long enough"), "With the next sync "
	}
	t.is(decision.ToneMoving, "period", "moving", lead, words(then).Count("going", n).Say(prose.Plural(n, " pod of ", " pods of ")).Name(t.from.Name).Say(prose.Plural(n, " is deleted", " are deleted")))
	t.out.NoteChange(at, t.s.Now)
}

// progress is how many pods the one has that gets them.
func (t *teller) progress() decision.Words {
	available, _ := t.to.available(t.s.Now)
	return decision.Words{}.Name(t.to.Name).Say(" has ").Count("to.size", t.to.Size).Say(" of ").Count("wanted", t.desired).
		Say(prose.Plural(t.desired, " pod", " pods")+", ").Count("available", available).Say(" available")
}

func (t *teller) floorReached() {
	list := diagnosis.Relevant(t.waiting.Findings)
	stay := words("")
	if t.from.Size > 0 {
		stay = words(", so ").Count("total", t.from.Size+t.to.Size).Say(" pods stay")
	}
	if len(list) == 0 {
		t.is(decision.ToneWaiting, "floor", "waiting", append(t.progress(), stay...), append(words("Unblocks "), t.round.Verdict.Held[0].Unblocks...))
	} else {
		old := ""
		if t.from.Size > 0 {
			old = t.from.Name
		}
		t.blocked(list, t.to, old)
	}
	t.tooLong()
}

// blocked tells what keeps the pods of one, and whose pods stay meanwhile.
func (t *teller) blocked(list []decision.Finding, of *Controller, stays string) {
	f := &list[0]
	lead := append(decision.Words{}, f.Before...)
	if f.Count == 1 && len(f.Pods) == 1 {
		lead = lead.Say("pod ").Name(f.Pods[0])
	} else {
		lead = lead.Count(f.Fact(), f.Count).Say(prose.Plural(f.Count, " pod of ", " pods of ")).Name(of.Name)
	}
	lead = append(lead, f.After...)
	if stays != "" {
		side := "old"
		if t.back {
			side = "new"
		}
		lead = lead.Say(", so ").Count(side, t.from.Size).Say(prose.Plural(t.from.Size, " pod of ", " pods of ")).Name(stays).Say(prose.Plural(t.from.Size, " stays", " stay"))
	}
	t.is(decision.ToneWaiting, f.Code, "waiting", lead, diagnosis.Ends(list[:1], longLead))
	if f.NeedsAction && !t.back {
		t.goBackWith()
	}
	t.out.Since = f.Since
}

// tooLong marks what takes longer than the timeout: nothing is taken back by itself.
func (t *teller) tooLong() {
	if !t.isLate() {
		return
	}
	t.out.Tone, t.out.Verb, t.out.State = decision.ToneFailed, "is", "stuck"
	if since := t.lastStep(); !since.IsZero() {
		t.out.Since = since
		t.out.Lead = append(words("nothing has moved for ").Since(since).Say("; "), t.out.Lead...)
	}
	if !t.back && !t.saysHowToGoBack {
		t.goBackWith()
	}
}

func (t *teller) isLate() bool {
	late, _ := t.round.Verdict.Path.Answer("RU-9.deadline")
	return late == decision.Yes
}

// goBackWith adds how to go back, where that is not too late. One that is being deleted neither
// gets pods nor loses any.
func (t *teller) goBackWith() {
	if t.s.Old == nil || t.going != nil {
		return
	}
	t.out.Then = t.out.Then.Say(". To go back: loopscope rolling-update abort ").Name(t.s.Name).Say(" -n ").Name(t.s.Namespace)
	t.saysHowToGoBack = true
}

// written reports whether this sync has sent a write, and not just planned it.
func (t *teller) written(i int) bool {
	return i < len(t.round.Outcomes) && t.round.Outcomes[i].State != decision.NotTried
}
