package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// usualPath is the number of questions of an ordinary sync.
const usualPath = 12

// Decide is the first round of a sync.
func Decide(s *Snapshot) decision.Verdict { return NewSync(s).Decide() }

// decider is one pass of Decide: the snapshot it reads and the verdict it writes.
type decider struct {
	s *Snapshot
	v decision.Verdict
	leaf
	// problem is why the request cannot be carried out.
	problem problem
	// from loses its pods and to gets them. They are the old and the new one, or the other way
	// round where the update is taken back.
	from, to *Controller
	desired  int64
	back     bool
	// other is the one that somebody else has scaled.
	other *Controller
	// going is the one that is being deleted and is waited for.
	going *Controller
}

// leaf is where a walk through the questions came out: what is said of the sync follows from
// it.
type leaf uint8

const (
	leafActs      leaf = iota // something is written
	leafEcho                  // a write of its own is not seen yet
	leafGone                  // there is no such object
	leafNothing               // nothing is asked for
	leafEnded                 // the last update has ended
	leafLeft                  // an update was left half-done, and nobody asks for it
	leafInvalid               // the request cannot be carried out
	leafDeleting              // one of the two is being deleted
	leafPaused                // it is paused
	leafReported              // a size is not reported yet
	leafPeriod                // the update period is not over
	leafFloor                 // pods are not available yet
	leafReleasing             // the pods of the new one are not released yet
	leafCounting              // the one that takes them over does not count them yet
	leafSeen                  // its loop has not seen the label in its template
	leafRescaled              // somebody else has scaled one of the two
)

func newDecider(s *Snapshot) *decider {
	return &decider{s: s, v: decision.Verdict{Path: make(decision.Path, 0, usualPath)}}
}

// decide answers every question, in their order.
func (t *decider) decide() {
	if !t.caughtUp() {
		t.stop(leafEcho)
		return
	}
	if !t.there() && !t.heir() {
		t.stop(leafGone)
		return
	}
	if t.inVain() {
		return
	}
	if t.parked() {
		t.takeOver()
		return
	}
	if !t.asked() {
		t.idle()
		return
	}
	if !t.valid() {
		t.refuse()
		return
	}
	if t.deleting() {
		t.waitForDeletion()
		return
	}
	if t.paused() {
		return
	}
	if t.takesBack() {
		t.goBack()
		return
	}
	if t.cleaning() {
		if t.conditions(statusTrue, reasonComplete) { // The old one may still say that it is paused.
			t.cleanUp()
		}
		return
	}
	if t.split() || t.begin() || t.create() {
		return
	}
	t.from, t.to, t.desired = t.s.Old, t.s.New, *t.s.New.Desired
	if t.from == nil {
		t.from = &Controller{Name: t.s.Name} // It is gone, and so are its pods.
	}
	t.step()
}

// stop ends the sync without a report.
func (t *decider) stop(at leaf) { t.v.Stop, t.leaf = true, at }

// caughtUp asks [RU-2]: deciding on a cache that lacks our own write would repeat the write
// or take it back.
func (t *decider) caughtUp() bool {
	writes := int64(len(t.s.Echo))
	if writes == 0 {
		return t.v.Path.Ask("RU-2", true, decision.Count("writes", 0))
	}
	first := t.s.Echo[0]
	for _, e := range t.s.Echo[1:] {
		if e.Check.Before(first.Check) {
			first = e
		}
	}
	t.v.Path.Ask("RU-2", false, decision.Count("writes", writes),
		decision.Text("object", first.Object), decision.Text("written", first.Written),
		decision.Text("cached", first.Cached), decision.Instant("since", first.Since))
	t.timer(first.Check, timerEcho, "RU-2")
	return false
}

// there asks [RU-3] whether the old one exists.
func (t *decider) there() bool { return t.v.Path.Ask("RU-3.there", t.s.Old != nil) }

// heir asks [RU-3] whether another one says that it replaces one that is gone.
func (t *decider) heir() bool {
	return t.v.Path.Ask("RU-3.heir", t.s.New != nil, decision.Text("heir", t.s.NewName))
}

// asked asks [RU-3] whether somebody wants an update.
func (t *decider) asked() bool {
	return t.v.Path.Ask("RU-3.asked", t.s.Request != nil || t.s.RequestError != "")
}

// idle says what there is where nobody asks for anything ([RU-3]).
func (t *decider) idle() {
	old, n := t.s.Old, t.s.New
	begun := old != nil && (old.Next != "" || old.Original != nil) || n != nil && n.Source != ""
	facts := []decision.Fact{decision.Text("new", t.s.NewName)}
	if old != nil && old.Original != nil {
		facts = append(facts, decision.Count("original", *old.Original))
	}
	if t.v.Path.Ask("RU-3.left", begun, facts...) {
		t.leaf = leafLeft
		t.hold(decision.Held{
			Code: heldUnasked, Question: "RU-3.left", Kind: decision.Scale, Target: t.s.self(),
			Unblocks: decision.Words{}.Say("when somebody asks for it"), When: decision.Unblock{Event: decision.Asked, Of: t.s.self()},
		})
		return
	}
	if old != nil && old.Progress != nil && old.Progress.Reason == reasonInvalid {
		t.conditions("", "") // What was wrong is not asked for any more.
		return
	}
	t.leaf = leafNothing
	if t.s.Result != nil {
		t.leaf = leafEnded
	}
}

// paused asks [RU-5].
func (t *decider) paused() bool {
	if !t.v.Path.Ask("RU-5.paused", t.s.Request.Paused) {
		return false
	}
	t.leaf = leafPaused
	if !t.conditions(statusUnknown, reasonPaused) {
		return true
	}
	t.hold(decision.Held{
		Code: heldPaused, Question: "RU-5.paused", Kind: decision.Scale, Target: t.s.self(),
		Unblocks: decision.Words{}.Say("when it is resumed"), When: decision.Unblock{Event: decision.Resumed, Of: t.s.self()},
	})
	return true
}

// takesBack asks [RU-5] whether the update is to be taken back, and whether it still can.
func (t *decider) takesBack() bool {
	answer := decision.No
	switch {
	case !t.s.Request.Abort:
	case t.s.Old == nil || t.isCleaning():
		answer = tooLate
	default:
		answer = decision.Yes
	}
	t.v.Path.Name("RU-5.abort", answer)
	return answer == decision.Yes
}

// goBack gives the pods back to the old one ([RU-5]).
func (t *decider) goBack() {
	t.back = true
	old := t.s.Old
	if n := t.s.New; n != nil && !t.ours(n) { // It is somebody else's, whatever it is called.
		alone := *t.s
		alone.New = nil
		t.s = &alone
	}
	if t.s.New == nil {
		if t.conditions(statusTrue, reasonAborted) {
			t.cleanUp()
		}
		return
	}
	t.from, t.to, t.desired = t.s.New, old, old.Size
	if old.Original != nil {
		t.desired = *old.Original
	}
	t.step()
}

// ours reports whether the new one was made for this update: it says so, or the update has ended
// there by a write that came late, when going back had begun.
func (t *decider) ours(n *Controller) bool {
	old := t.s.Old
	return n.Source == t.s.sourceID() || n.Replaced == old.Name && old.Original != nil && old.Next == n.Name
}

// act adds a write and where it leads.
func (t *decider) act(a decision.Action) {
	if a.Discipline == "" {
		a.Discipline = decision.StopAtFirst
	}
	t.v.Actions = append(t.v.Actions, a)
	t.leaf = leafActs
}

// hold adds a write that waits, and marks the question that it waits for.
func (t *decider) hold(h decision.Held) {
	h.BlockerCount = max(h.BlockerCount, int64(len(h.Blockers)))
	h.Blockers = h.Blockers[:min(len(h.Blockers), maxBlockers)]
	t.v.Held = append(t.v.Held, h)
	for i := range t.v.Path {
		if t.v.Path[i].Question == h.Question {
			t.v.Path[i].Holds = true
		}
	}
}

// maxBlockers bounds the blockers that a held write names one by one.
const maxBlockers = 10

func (t *decider) timer(at time.Time, code, question string) {
	t.v.Timers = append(t.v.Timers, decision.Timer{At: at.UTC().Round(0), Code: code, Question: question})
}
