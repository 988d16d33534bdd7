package rollingupdate

import (
	"strconv"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// step does one step of the update, or says what it waits for ([RU-8]).
func (t *decider) step() {
	if t.rescaled() {
		t.waits(leafRescaled)
		return
	}
	if !t.reported() {
		t.waits(leafReported)
		return
	}
	if t.done() {
		if t.back && t.s.New.Deleting {
			t.cleanUp()
			return
		}
		if t.conditions(statusTrue, t.endReason()) {
			t.cleanUp()
		}
		return
	}
	if t.up() {
		return
	}
	n := t.down()
	if n <= 0 {
		t.floor(n)
		t.waits(leafFloor)
		return
	}
	if !t.periodOver(n) {
		if t.conditions(statusTrue, t.goingReason()) {
			t.leaf = leafPeriod
		}
		return
	}
	t.scale(t.from, t.from.Size-n, "RU-8.period")
}

// rescaled asks [RU-8] whether somebody else has scaled one of the two in the middle of the
// update, which would take back what he did: neither would ever end. That the old one lost
// more pods is where the update goes anyway, and one that is taken back has its own sizes.
func (t *decider) rescaled() bool {
	if t.back {
		return false
	}
	var c *Controller
	switch from, to := t.from, t.to; {
	case to.Given != nil && *to.Given != to.Size:
		c = to
	case from.Given != nil && *from.Given < from.Size:
		c = from
	}
	if c == nil {
		return t.v.Path.Ask("RU-8.rescaled", false)
	}
	t.v.Path.Ask("RU-8.rescaled", true, decision.Text("of", c.Name), decision.Count("given", *c.Given), decision.Count("size", c.Size), decision.Text("by", c.Scaler))
	t.other = c
	t.hold(decision.Held{
		Code: heldRescaled, Question: "RU-8.rescaled", Kind: decision.Scale, Target: t.s.ref(c), Size: &decision.Size{From: c.Size, To: *c.Given},
		Unblocks: words("when ").Name(c.Name).Say(" has ").Count("given", *c.Given).Say(" " + podsOf(*c.Given) + " again"),
		When:     decision.Unblock{Event: decision.SizeRestored, Of: t.s.ref(c)},
	})
	return true
}

// endReason is how an update ends, and goingReason how it stands before.
func (t *decider) endReason() string {
	if t.back {
		return reasonAborted
	}
	return reasonComplete
}

func (t *decider) goingReason() string {
	switch {
	case t.back:
		return reasonAborting
	case t.s.parked() != nil: // Only the names change hands.
		return reasonComplete
	}
	return reasonProgressing
}

// reported asks [RU-8] whether the last step was carried out as far as the next one needs it:
// both sizes seen, and of the one that loses pods those gone that were to go, and those made that
// are being made: its loop does not take back what it has just asked for, and its status does not
// count it. At the end those that are to come must have come, too.
func (t *decider) reported() bool {
	from, to := t.from, t.to
	yes := from.reported() && to.reported() && (from.Replicas == from.Size || from.Replicas < from.Size && from.Refusal != "")
	if from.Size == 0 && to.Size == t.desired {
		yes = yes && to.Replicas == to.Size
	}
	yes = t.v.Path.Ask("RU-8.reported", yes,
		decision.Text("from", from.Name), decision.Count("from.size", from.Size), decision.Count("from.pods", from.Replicas),
		decision.Text("to", to.Name), decision.Count("to.size", to.Size), decision.Count("to.pods", to.Replicas))
	if yes {
		return true
	}
	late := to
	if !from.reported() || from.Replicas != from.Size {
		late = from
	}
	t.hold(decision.Held{
		Code: heldReported, Question: "RU-8.reported", Kind: decision.Scale, Target: t.s.ref(late),
		Unblocks: words("when the status of ").Name(late.Name).Say(" shows as many pods as it is to have"),
		When:     decision.Unblock{Event: decision.StatusObserved, Of: t.s.ref(late)},
		Blockers: []decision.Blocker{{Kind: kindController, Name: late.Name, Message: late.Refusal}},
	})
	return false
}

// done asks [RU-8] whether the new one has all its pods, and the old one none.
func (t *decider) done() bool {
	return t.v.Path.Ask("RU-8.done", t.from.Size == 0 && t.to.Size == t.desired,
		decision.Count("old", t.from.Size), decision.Count("new", t.to.Size), decision.Count("wanted", t.desired))
}

// up asks [RU-8] how many pods more the new one may have, and gives them to it.
func (t *decider) up() bool {
	b := t.s.Request.bounds(t.desired)
	total := t.from.Size + t.to.Size
	size := b.NewSize(t.to.Size, total)
	if t.from.Size == 0 {
		size = t.desired
	}
	n := size - t.to.Size
	t.v.Path.Count("RU-8.up", n,
		decision.Count("ceiling", b.Ceiling()), decision.Count("total", total), decision.Count("new", t.to.Size), decision.Count("wanted", t.desired))
	t.v.Path.Last().Equation = decision.Subtract("room", decision.Term{Label: "ceiling", Value: b.Ceiling(), Origin: "desired + surge"}, decision.Term{Label: "old + new", Value: total, Origin: "spec.replicas"})
	if n == 0 {
		return false
	}
	t.scale(t.to, size, "RU-8.up")
	return true
}

// down asks [RU-8] how many pods the old one can do without.
func (t *decider) down() int64 {
	b := t.s.Request.bounds(t.desired)
	available, _ := t.to.available(t.s.Now)
	total := t.from.Size + t.to.Size
	missing := t.to.Size - available
	n := b.MayGo(total, t.to.Size, available)
	if t.to.Size == t.desired && available >= t.desired {
		n = t.from.Size
	}
	n = min(n, t.from.Size)
	t.v.Path.Count("RU-8.down", n,
		decision.Count("total", total), decision.Count("floor", b.Floor()), decision.Count("missing", missing), decision.Count("available", available), decision.Count("going", n))
	t.v.Path.Last().Equation = decision.Subtract("can go",
		decision.Term{Label: "old + new", Value: total, Origin: "spec.replicas"},
		decision.Term{Label: "floor", Value: b.Floor(), Origin: "desired − unavailable"},
		decision.Term{Label: "new, not available", Value: missing, Origin: "pods"})
	return n
}

// floor holds the old pods until new ones are available.
func (t *decider) floor(n int64) {
	needed := 1 - n
	_, next := t.to.available(t.s.Now)
	h := decision.Held{
		Code: heldFloor, Question: "RU-8.down", Kind: decision.Scale, Target: t.s.ref(t.from), Equation: t.v.Path.Last().Equation,
		Unblocks: words("when ").Count("needed", needed).Say(" more " + podsOf(needed) + " of ").Name(t.to.Name).Say(" " + become(needed) + " available"),
		When:     decision.Unblock{Event: decision.PodsAvailable, Of: t.s.ref(t.to), Needed: needed, At: next},
	}
	t.v.Path.Last().Facts = append(t.v.Path.Last().Facts, decision.Count("needed", needed))
	for i := range t.to.Pods {
		if p := &t.to.Pods[i]; !p.Ready {
			h.Blockers = append(h.Blockers, decision.Blocker{Kind: kindPod, Name: p.Name, Reason: p.Reason, Message: p.Message, Since: diagnosis.Pods{Now: t.s.Now}.Since(&p.Pod)})
		}
	}
	t.hold(h)
	if !next.IsZero() {
		t.timer(next, timerMinReady, "RU-8.down")
	}
}

// periodOver asks [RU-8] whether the new pods were watched for long enough.
func (t *decider) periodOver(n int64) bool {
	last, period := t.lastStep(), time.Duration(*t.s.Request.UpdatePeriod)
	due := last.Add(period)
	over := t.back || last.IsZero() || !t.s.Now.Before(due) // The pods that come back need no watching.
	facts := []decision.Fact{decision.Duration("period", period)}
	if !last.IsZero() {
		facts = append(facts, decision.Instant("last", last))
	}
	if t.v.Path.Ask("RU-8.period", over, facts...) {
		return true
	}
	t.hold(decision.Held{
		Code: heldPeriod, Question: "RU-8.period", Kind: decision.Scale, Target: t.s.ref(t.from), Size: &decision.Size{From: t.from.Size, To: t.from.Size - n},
		Unblocks: words("when the update period is over, in ").Until(due), When: decision.Unblock{Event: decision.PeriodOver, Of: t.s.self(), At: due.UTC().Round(0)},
	})
	t.timer(due, timerPeriod, "RU-8.period")
	return false
}

// lastStep is when one of the two was last scaled, or its deletion began; zero where nobody says.
func (t *decider) lastStep() time.Time {
	last := t.to.Stepped
	if t.from.Stepped.After(last) {
		last = t.from.Stepped
	}
	if at := t.deletionSince(); at.After(last) {
		last = at
	}
	return last
}

func (t *decider) scale(c *Controller, size int64, question string) {
	step := t.v.Path.Last()
	step.Facts = append(step.Facts, decision.Count("size.from", c.Size), decision.Count("size.to", size))
	t.act(decision.Action{
		Kind: decision.Scale, Target: t.s.ref(c), Question: question, Size: &decision.Size{From: c.Size, To: size},
		Changes: []decision.Change{resized(c.Size, size), t.stepped(c), annotate(AnnotationSize, number(c.Given), strconv.FormatInt(size, 10))},
	})
}

// resized is a change of size, for people: acting takes it from the action's Size.
func resized(from, to int64) decision.Change {
	return decision.Change{Field: "spec.replicas", From: strconv.FormatInt(from, 10), To: strconv.FormatInt(to, 10)}
}

// stepped writes down that a step was taken.
func (t *decider) stepped(c *Controller) decision.Change {
	return annotate(AnnotationStepped, stamp(c.Stepped), stamp(t.s.Now))
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// waits publishes how it stands while nothing can be done, and says when that has taken too
// long ([RU-9]).
func (t *decider) waits(at leaf) { t.waitsAs(at, t.goingReason()) }

// waitsAs is waits, with the reason of the condition as long as it does not take too long.
func (t *decider) waitsAs(at leaf, reason string) {
	since, timeout := t.stillSince(), t.timeout()
	facts := []decision.Fact{decision.Duration("timeout", timeout)}
	if !since.IsZero() {
		facts = append(facts, decision.Instant("since", since))
	}
	due := since.Add(timeout)
	late := t.v.Path.Ask("RU-9.deadline", !since.IsZero() && !t.s.Now.Before(due) || since.IsZero() && t.saysLate(), facts...)
	if !since.IsZero() && !late {
		t.timer(due, timerDeadline, "RU-9.deadline")
	}
	status := statusTrue
	if late {
		status, reason = statusFalse, ReasonDeadline
	}
	if t.conditions(status, reason) {
		t.leaf = at
	}
}

// timeout is how long nothing may move. Somebody may have removed the request by the end.
func (t *decider) timeout() time.Duration {
	if t.s.Request == nil {
		return DefaultTimeout
	}
	return time.Duration(*t.s.Request.Timeout)
}

// stillSince is since when nothing moves: the last step, or where none was taken since the
// update went on, when that was.
func (t *decider) stillSince() time.Time {
	since := t.lastStep()
	if p := t.to.Progress; p != nil && p.Status == statusTrue && p.Transition.After(since) {
		since = p.Transition
	}
	return since
}

// saysLate reports whether its condition says already that it takes too long.
func (t *decider) saysLate() bool {
	p := t.to.Progress
	return p != nil && p.Status == statusFalse && p.Reason == ReasonDeadline
}

func podsOf(n int64) string {
	if n == 1 {
		return "pod"
	}
	return "pods"
}

func become(n int64) string {
	if n == 1 {
		return "becomes"
	}
	return "become"
}
