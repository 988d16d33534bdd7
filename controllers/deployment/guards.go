package deployment

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// unreadable is the answer of a question that is answered with a name, where
// the name could not be found out.
const unreadable = "unreadable"

// seenOwnWrites is false while a cache does not show a write of ours: whatever
// was decided now would be decided on the past ([L-1]).
func (t *decider) seenOwnWrites() bool {
	if len(t.s.Echo) == 0 {
		return t.ask(qEcho, true, decision.Text("rv", t.s.RV))
	}
	e := t.s.Echo[0]
	return t.ask(qEcho, false, decision.Text("object", e.Object),
		decision.Text("written", e.Written), decision.Text("cached", e.Cached),
		decision.Count("waitingFor", int64(len(t.s.Echo))), decision.Instant("since", e.Since))
}

// waitForEcho arms the timer that breaks the wait if no event comes.
func (t *decider) waitForEcho() {
	check := t.s.Echo[0].Check
	for _, e := range t.s.Echo {
		if !e.Check.IsZero() && (check.IsZero() || e.Check.Before(check)) {
			check = e.Check
		}
	}
	// A check that is over would fire at once, and again after it: not before a second.
	if !check.After(t.now) {
		check = t.now.Add(time.Second)
	}
	t.wake(timerEcho, qEcho, check)
	t.stop(leafEcho)
}

// lookAgain ends the sync on something that the caches do not know yet.
func (t *decider) lookAgain(at leaf, code, question string) {
	t.wake(code, question, t.now.Add(time.Second))
	t.stop(at)
}

func (t *decider) wake(code, question string, at time.Time) {
	t.verdict.Timers = append(t.verdict.Timers, decision.Timer{At: at.UTC().Round(0), Code: code, Question: question})
}

// exists is [D-1].
func (t *decider) exists() bool {
	if !t.s.Found {
		return t.ask(qExists, false)
	}
	return t.ask(qExists, true, decision.Count("generation", t.s.Generation))
}

// selectsEverything is [D-3]. The warning and the observed generation are settle's.
func (t *decider) selectsEverything() bool {
	if t.s.Selector == "" {
		return t.ask(qSelects, t.s.SelectsAll)
	}
	return t.ask(qSelects, t.s.SelectsAll, decision.Text("selector", t.s.Selector))
}

// selectorUnreadable names the question of [D-4] when it cannot be answered.
func (t *decider) selectorUnreadable() bool {
	if t.s.SelectorError == "" {
		return false
	}
	t.verdict.Path.Name(qOwn, unreadable, decision.Text("error", t.s.SelectorError))
	return true
}

func (t *decider) selectorError() string {
	return fmt.Sprintf("deployment %s/%s has invalid label selector: %s", t.s.Namespace, t.s.Name, t.s.SelectorError)
}

// parentGone is only asked in a second round, after a live read before an
// adoption found the Deployment gone or being deleted ([A-2]).
func (t *decider) parentGone() bool {
	if t.learnt.Parent == "" {
		return false
	}
	t.verdict.Path.Name(qParent, t.learnt.Parent)
	return true
}

// claims is [D-4]: which ReplicaSets are ours, and must any be taken or let go?
func (t *decider) claims() bool {
	t.verdict.Path.Count(qOwn, int64(len(t.children)),
		decision.Count("adopt", int64(len(t.adopt))), decision.Count("release", int64(len(t.release))))
	return t.ask(qClaim, len(t.adopt)+len(t.release) > 0)
}

// adoptAndRelease makes the claims and ends the sync. In a second round those of
// the first were tried: what is left then is to look again, when the caches
// show what became of each.
func (t *decider) adoptAndRelease() {
	if len(t.learnt.ChildrenGone) > 0 {
		t.lookAgain(leafClaims, timerCache, qClaim)
		return
	}
	t.stop(leafClaims)
	for _, rs := range t.adopt {
		t.write(decision.Action{Kind: decision.Adopt, Target: t.ref(rs), Discipline: decision.VisitAll, Question: qClaim,
			Changes: []decision.Change{{Field: "metadata.ownerReferences", To: "Deployment " + t.s.Name}}})
	}
	for _, rs := range t.release {
		t.write(decision.Action{Kind: decision.Release, Target: t.ref(rs), Discipline: decision.VisitAll, Question: qClaim,
			Changes: []decision.Change{{Field: "metadata.ownerReferences", From: "Deployment " + t.s.Name}}})
	}
}

// deleted is [D-6]: a Deployment that is being deleted gets its status only.
func (t *decider) deleted() bool { return t.ask(qDeleted, t.s.Deleting) }

// pausedNow asks [D-7], whose condition settle writes, and [D-8].
func (t *decider) pausedNow() bool {
	reason := "none"
	if c := condition(t.s.Status.Conditions, condProgressing); c != nil {
		reason = c.Reason
	}
	t.ask(qPauseCondition, t.pauseReason() != "", decision.Text("progressing", reason))
	return t.ask(qPaused, t.s.Paused)
}

// pauseReason is the reason that the Progressing condition must be given
// because the Deployment was paused or resumed, "" if it need not change ([D-7]).
func (v *view) pauseReason() string {
	c := condition(v.s.Status.Conditions, condProgressing)
	switch {
	case v.s.Deadline == nil:
		return ""
	case c != nil && c.Reason == reasonDeadline:
		return ""
	case v.s.Paused && (c == nil || c.Reason != reasonPaused):
		return reasonPaused
	case !v.s.Paused && c != nil && c.Reason == reasonPaused:
		return reasonResumed
	}
	return ""
}

// pausedSync scales and cleans up, but rolls nothing out ([D-8]).
func (t *decider) pausedSync() {
	t.holdPaused()
	if t.keepRevision() || t.scale() {
		return
	}
	if _, pending := t.rollbackTo(); !pending {
		t.cleanUp()
	}
}
