package deployment

import "github.com/loopscope/loopscope/controllers/decision"

// Decide answers every question of one sync, in upstream's order ([2.4]). Each
// case is a predicate that records its own question with the values it used,
// so the path on the screen is what the switch branched on. One kind of write
// ends the walk: its echo brings the next sync.
func Decide(s *Snapshot) decision.Verdict {
	t := newTurn(s)
	switch {
	case !t.seenOwnWrites(): // [L-1]
		t.waitForEcho()
	case !t.exists(): // [D-1]
		t.stop()
	case t.selectsEverything(): // [D-3]
	case t.selectorUnreadable(): // [D-4]
		t.fail(t.selectorError())
	case t.parentGone(): // [D-4]
		t.lookAgain(timerParent, qParent)
	case t.claims(): // [D-4]
		t.adoptAndRelease()
	case t.deleted(): // [D-6]
		t.keepRevision()
	case t.pausedNow(): // [D-7], [D-8]
		t.pausedSync()
	case t.rollbackWanted(): // [D-9]
		t.rollback()
	case t.keepRevision(): // [2.5.1]
	case t.scaled(): // [D-10]
		t.scale()
	default: // [D-11]
		t.rollout()
	}
	return t.verdict
}

// rollout branches on the strategy ([D-11]).
func (t *turn) rollout() {
	switch t.strategy() {
	case rollingUpdate:
		t.roll()
	case recreate:
		t.recreate()
	case unreadable:
		t.fail(t.boundsErr.Error())
	default:
		t.fail("unexpected deployment strategy type: " + t.s.Strategy)
	}
}

// turn is one walk through the questions.
type turn struct {
	*view
	verdict decision.Verdict
}

// usualPath is the number of questions of an ordinary sync.
const usualPath = 20

func newTurn(s *Snapshot) *turn {
	return &turn{view: look(s), verdict: decision.Verdict{Path: make(decision.Path, 0, usualPath)}}
}

// ask records a predicate and returns it.
func (t *turn) ask(id string, answer bool, facts ...decision.Fact) bool {
	return t.verdict.Path.Ask(id, answer, facts...)
}

// write adds an action.
func (t *turn) write(a decision.Action) { t.verdict.Actions = append(t.verdict.Actions, a) }

// hold adds a write that was refused and marks the question that refused it.
func (t *turn) hold(h decision.Held) {
	if last := t.verdict.Path.Last(); last != nil && last.Question == h.Question {
		last.Holds = true
	}
	t.verdict.Held = append(t.verdict.Held, h)
}

// stop ends the sync without a status.
func (t *turn) stop() { t.verdict.Stop = true }

// fail ends the sync on an error of the object itself.
func (t *turn) fail(message string) {
	t.verdict.Stop, t.verdict.Invalid = true, message
}
