package deployment

import "github.com/loopscope/loopscope/telemetry/decision"

// recreate takes everything down before it starts anything ([RC-1]).
func (t *decider) recreate() {
	switch {
	case t.oldActive(): // [RC-2]
		for _, rs := range t.activeOld() {
			t.resize(leafSteps, qOldActive, rs, 0)
		}
	case t.oldRunning(): // [RC-3]
		t.holdRecreate()
	case !t.hasNew(qRCNew): // [RC-4]
		t.create(qRCNew)
	case !t.newFull(): // [RC-5]
		t.resize(leafSteps, qRCSize, t.newSet, t.s.Want)
	default: // [RC-6]
		t.finish(qRCComplete)
	}
}

func (t *decider) oldActive() bool {
	return t.ask(qOldActive, t.oldTotal > 0, moves(t.activeOld(), make([]int64, len(t.old)))...)
}

// oldRunning is true while any pod of another template has not ended, be it
// that only its deletion is not over yet.
func (t *decider) oldRunning() bool {
	reported, running := t.oldRunningCounts()
	return t.ask(qOldRunning, reported > 0 || running > 0,
		decision.Count("reported", reported), decision.Count("running", running), decision.Count("ending", t.oldTerminating()))
}

func (v *view) oldRunningCounts() (reported, running int64) {
	for _, rs := range v.old {
		reported += rs.StatusReplicas
		running += rs.NonTerminal
	}
	return reported, running
}

// oldTerminating counts the terminating pods of old ReplicaSets.
func (v *view) oldTerminating() int64 {
	n := int64(0)
	for _, rs := range v.old {
		n += rs.TerminatingNow
	}
	return n
}

func (t *decider) newFull() bool {
	return t.ask(qRCSize, t.newSet.Replicas == t.s.Want, sizes(t.newSet, t.s.Want)...)
}
