package deployment

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// doneBefore is true where the published condition says that this rollout is
// over and no old pod is left: the loss of a pod does not make it a rollout again.
func (c *settler) doneBefore() bool {
	now := condition(c.report.Status.Conditions, condProgressing)
	st := c.report.Status
	reason := none
	if now != nil {
		reason = now.Reason
	}
	return c.report.Path.Ask(qDoneBefore, st.Replicas == st.Updated && reason == reasonDone,
		decision.Text("progressing", reason), decision.Count("replicas", st.Replicas), decision.Count("updated", st.Updated))
}

func (c *settler) doneNow() bool {
	st := c.report.Status
	return c.report.Path.Ask(qDoneNow, c.complete(st), decision.Count("wanted", c.s.Want),
		decision.Count("updated", st.Updated), decision.Count("replicas", st.Replicas), decision.Count("available", st.Available))
}

// progressed compares with the published counts: more updated, ready or
// available pods, or fewer old ones.
func (c *settler) progressed() bool {
	was, is := c.s.Status, c.report.Status
	return c.report.Path.Ask(qProgressed,
		is.Updated > was.Updated || is.Replicas-is.Updated < was.Replicas-was.Updated ||
			is.Ready > was.Ready || is.Available > was.Available,
		decision.Count("updatedBefore", was.Updated), decision.Count("updated", is.Updated),
		decision.Count("readyBefore", was.Ready), decision.Count("ready", is.Ready),
		decision.Count("availableBefore", was.Available), decision.Count("available", is.Available))
}

// overdue asks whether the deadline has passed since the last progress.
func (c *settler) overdue() bool {
	now := condition(c.report.Status.Conditions, condProgressing)
	switch {
	case now == nil, now.Reason == reasonDone:
		return c.report.Path.Ask(qDeadline, false)
	case now.Reason == reasonDeadline:
		return c.report.Path.Ask(qDeadline, true, decision.Instant("since", now.Updated))
	}
	at := now.Updated.Add(seconds(*c.s.Deadline))
	return c.report.Path.Ask(qDeadline, at.Before(c.now), decision.Instant("deadline", at),
		decision.Duration("left", max(0, at.Sub(c.now))), decision.Duration("of", seconds(*c.s.Deadline)))
}

// statusChanges lists every field that differs; it is empty exactly where the
// two are equal.
func statusChanges(was, is Status) []decision.Change {
	var list []decision.Change
	add := func(field, from, to string) {
		if from != to {
			list = append(list, decision.Change{Field: field, From: from, To: to})
		}
	}
	add("status.observedGeneration", digits(was.ObservedGeneration), digits(is.ObservedGeneration))
	add("status.replicas", digits(was.Replicas), digits(is.Replicas))
	add("status.updatedReplicas", digits(was.Updated), digits(is.Updated))
	add("status.readyReplicas", digits(was.Ready), digits(is.Ready))
	add("status.availableReplicas", digits(was.Available), digits(is.Available))
	add("status.unavailableReplicas", digits(was.Unavailable), digits(is.Unavailable))
	add("status.terminatingReplicas", maybe(was.Terminating), maybe(is.Terminating))
	add("status.collisionCount", maybe(was.Collisions), maybe(is.Collisions))
	return append(list, conditionChanges(was.Conditions, is.Conditions)...)
}

func maybe(n *int64) string {
	if n == nil {
		return ""
	}
	return digits(*n)
}

func conditionChanges(was, is []decision.Condition) []decision.Change {
	var list []decision.Change
	for _, c := range is {
		before := condition(was, c.Type)
		switch {
		case before == nil:
			list = append(list, decision.Change{Field: conditionField(c.Type), To: brief(c)})
		case !sameCondition(*before, c):
			list = append(list, decision.Change{Field: conditionField(c.Type), From: brief(*before), To: brief(c)})
		}
	}
	for _, c := range was {
		if condition(is, c.Type) == nil {
			list = append(list, decision.Change{Field: conditionField(c.Type), From: brief(c)})
		}
	}
	return list
}

func conditionField(kind string) string { return "status.conditions[" + kind + "]" }

func brief(c decision.Condition) string {
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Updated.UTC().Format("15:04:05"))
}

func sameCondition(a, b decision.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.Updated.Equal(b.Updated) && a.Transition.Equal(b.Transition)
}

// requeue is: when the deadline must be looked at if nothing happens. The
// second on top lets the comparison find it past. Every exit asks that comes to a
// status, and the one that writes annotations, so that no write or restart can lose
// the timer. Nothing is rolled out on an empty selector, and while paused or deleted no
// deadline runs. One that is over is only found past once what this sync decided is
// written: where nobody writes it, to look again finds the same.
func (c *settler) requeue() {
	if c.s.Paused || c.s.Deleting {
		return
	}
	at := c.deadline()
	if at.IsZero() {
		c.report.Path.Name(qRequeue, "never")
		return
	}
	at = at.Add(time.Second)
	if soon := c.now.Add(time.Second); at.Before(soon) {
		if len(c.last.Verdict.Actions) > 0 && len(c.last.Outcomes) == 0 {
			c.report.Path.Name(qRequeue, "never")
			return
		}
		at = soon
	}
	at = at.UTC().Round(0)
	c.report.Path.Name(qRequeue, "deadline", decision.Instant("at", at))
	c.report.Timers = append(c.report.Timers, decision.Timer{At: at, Code: timerDeadline, Question: qRequeue})
}

// deadline is when the rollout is overdue; zero where none is running: there
// is no limit, it is complete, or it is overdue already.
func (c *settler) deadline() time.Time {
	now := condition(c.report.Status.Conditions, condProgressing)
	if c.s.Deadline == nil || now == nil || now.Reason == reasonDone || now.Reason == reasonDeadline || c.complete(c.report.Status) {
		return time.Time{}
	}
	return now.Updated.Add(seconds(*c.s.Deadline))
}

// minReadyTimer looks again when a ready pod has been ready for long enough,
// as the sentence changes then.
func (c *settler) minReadyTimer() {
	var first time.Time
	for _, rs := range c.children {
		at := firstAvailable(rs, c.now)
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		c.report.Timers = append(c.report.Timers, decision.Timer{At: first.UTC().Round(0), Code: timerMinReady, Question: qRequeue})
	}
}
