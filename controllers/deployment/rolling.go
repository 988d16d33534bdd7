package deployment

import (
	"fmt"

	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// roll is a rolling update ([RR-1] to [RR-4]).
func (t *decider) roll() {
	switch {
	case !t.hasNew(qNew): // [RR-1]
		t.create(qNew)
	case t.scaleUpNew(): // [RR-2]
	case t.scaleDownOld(): // [RR-3]
	default: // [RR-4]
		t.finish(qComplete)
	}
}

// strategy is [D-11], with the bounds that follow from it.
func (t *decider) strategy() string {
	if t.s.Strategy != rollingUpdate {
		t.verdict.Path.Name(qStrategy, t.s.Strategy)
		return t.s.Strategy
	}
	if t.boundsErr != nil {
		t.verdict.Path.Name(qStrategy, unreadable, decision.Text("error", t.boundsErr.Error()))
		return unreadable
	}
	t.verdict.Path.Name(qStrategy, rollingUpdate, decision.Text("maxSurge", shown(t.s.MaxSurge)),
		decision.Count("surge", t.bounds.Surge), decision.Text("maxUnavailable", shown(t.s.MaxUnavailable)),
		decision.Count("unavailable", t.bounds.Missing()))
	return rollingUpdate
}

func shown(v *IntOrPercent) string {
	switch {
	case v == nil:
		return "unset"
	case v.Percent != "":
		return v.Percent
	default:
		return digits(v.Int)
	}
}

// scaleUpNew is [RR-2]: it reports whether the new ReplicaSet is given another size.
func (t *decider) scaleUpNew() bool {
	size, want := t.newSet.Replicas, t.s.Want
	if t.ask(qNewSize, size == want, decision.Count("size", size), decision.Count("wanted", want)) {
		return false
	}
	to := want
	if size < want {
		to = t.bounds.NewSize(size, t.total)
	}
	t.verdict.Path.Count(qNewRoom, to, decision.Count("total", t.total), decision.Count("ceiling", t.bounds.Ceiling()),
		decision.Count("from", size), decision.Count("to", to))
	if to == size {
		t.holdNew()
		return false
	}
	t.resize(leafSteps, qNewRoom, t.newSet, to)
	return true
}

// scaleDownOld is [RR-3]: it reports whether an old ReplicaSet shrinks. It is asked in
// upstream's order; pods that are not available go first, in a sync of their own.
func (t *decider) scaleDownOld() bool {
	switch {
	case !t.oldLeft(), !t.mayGo(), !t.caughtUp():
		return false
	case t.scaleDownUnhealthy():
		return true
	default:
		return t.scaleDownHealthy()
	}
}

func (t *decider) oldLeft() bool {
	return t.verdict.Path.Count(qOldLeft, t.oldTotal, decision.Count("replicaSets", int64(len(t.activeOld())))) > 0
}

// mayGo is the heart of a rolling update: pods in excess of the floor, less
// the new ones that are not available yet.
func (t *decider) mayGo() bool {
	n := t.budget()
	yes := t.ask(qMayGo, n > 0, decision.Count("mayGo", n), decision.Count(fOld, t.oldTotal), decision.Count(fNeeded, max(1, t.needed())))
	t.verdict.Path.Last().Equation = t.mayGoEquation()
	if !yes {
		t.holdOld(qMayGo)
	}
	return yes
}

func (t *decider) budget() int64 { return t.bounds.MayGo(t.total, t.newSize(), t.newAvailable()) }

func (t *decider) mayGoEquation() *decision.Equation {
	return decision.Subtract("may go",
		decision.Term{Label: "total", Value: t.total, Origin: fmt.Sprintf("%d new + %d old", t.newSize(), t.oldTotal)},
		decision.Term{Label: "floor", Value: t.bounds.Floor(), Origin: fmt.Sprintf("%d wanted − %d unavailable", t.s.Want, t.bounds.Missing())},
		decision.Term{Label: "new not available", Value: t.missing(), Origin: fmt.Sprintf("%d − %d", t.newSize(), t.newAvailable())})
}

// caughtUp is false while the status of an old ReplicaSet counts more
// available pods than it may have. Kubernetes runs into an error there and
// swallows it, and may have shrunk others before.
func (t *decider) caughtUp() bool {
	for _, rs := range t.activeOld() {
		if rs.isBehind() {
			t.ask(qCaughtUp, false, decision.Text("replicaSet", rs.Name),
				decision.Count("size", rs.Replicas), decision.Count("reported", rs.Available))
			t.holdBehind(rs)
			t.leaf = leafBehind
			return false
		}
	}
	return t.ask(qCaughtUp, true)
}

func (rs *ReplicaSet) isBehind() bool { return rs.Available > rs.Replicas }

// nextOld is the first old ReplicaSet that becomes smaller now that old pods may go, and its size then.
func (t *decider) nextOld() (*ReplicaSet, int64) {
	old := t.activeOld()
	to, gone := t.withoutUnhealthy(old)
	if gone == 0 {
		to, _ = t.withoutHealthy(old)
	}
	for i, rs := range old {
		if to[i] != rs.Replicas {
			return rs, to[i]
		}
	}
	return old[0], 0
}

func (t *decider) withoutUnhealthy(old []*ReplicaSet) (to []int64, gone int64) {
	return rollout.Unhealthy(rollingSets(old), t.budget())
}

func (t *decider) withoutHealthy(old []*ReplicaSet) (to []int64, gone int64) {
	return rollout.Healthy(rollingSets(old), t.available-t.bounds.Floor())
}

// scaleDownUnhealthy is [RR-3] a.
func (t *decider) scaleDownUnhealthy() bool {
	old := t.activeOld()
	to, gone := t.withoutUnhealthy(old)
	t.verdict.Path.Count(qUnhealthy, gone, append(moves(old, to), decision.Count("size", t.oldTotal), decision.Count("available", t.oldAvailable))...)
	t.scaleDown(qUnhealthy, old, to, gone)
	return gone > 0
}

// scaleDownHealthy is [RR-3] b.
func (t *decider) scaleDownHealthy() bool {
	old, floor := t.activeOld(), t.bounds.Floor()
	to, gone := t.withoutHealthy(old)
	t.verdict.Path.Count(qHealthy, gone, append(moves(old, to), decision.Count("available", t.available), decision.Count("floor", floor))...)
	t.scaleDown(qHealthy, old, to, gone)
	return gone > 0
}

// moves are the facts of every change of size.
func moves(sets []*ReplicaSet, to []int64) []decision.Fact {
	facts := make([]decision.Fact, 0, 3*len(sets)+2)
	for i, rs := range sets {
		if to[i] != rs.Replicas {
			facts = append(facts, sizes(rs, to[i])...)
		}
	}
	return facts
}

// scaleDown writes the planned sizes and refuses what is left of the old pods.
func (t *decider) scaleDown(question string, sets []*ReplicaSet, to []int64, gone int64) {
	for i, rs := range sets {
		if to[i] != rs.Replicas {
			t.resize(leafSteps, question, rs, to[i])
		}
	}
	if gone > 0 {
		t.holdRest(sets, to, question)
	}
}

// finish asks whether the published status shows a complete rollout, after
// which old revisions are cleaned up ([RR-4], [RC-6]).
func (t *decider) finish(question string) {
	st := t.s.Status
	if t.ask(question, t.complete(st), decision.Count("wanted", t.s.Want), decision.Count("updated", st.Updated),
		decision.Count("replicas", st.Replicas), decision.Count("available", st.Available)) {
		t.cleanUp()
	}
}
