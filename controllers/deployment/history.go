package deployment

import (
	"cmp"
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// cleanUp is [H-1]: it deletes the oldest revisions beyond the limit and reports
// whether there are any to delete.
func (t *decider) cleanUp() bool {
	if t.s.HistoryLimit == nil {
		return t.ask(qHistory, false, decision.Text("limit", none))
	}
	over, may, busy := t.surplus()
	facts := []decision.Fact{decision.Count("old", int64(len(t.old))), decision.Count("limit", *t.s.HistoryLimit),
		decision.Count("over", over), decision.Count("mayGo", int64(len(may)))}
	if !t.ask(qHistory, len(may) > 0, facts...) {
		if len(busy) > 0 {
			t.holdHistory(over, busy)
		}
		return false
	}
	for _, rs := range may {
		t.write(decision.Action{Kind: decision.DeleteReplicaSet, Target: t.ref(rs), Discipline: decision.StopAtFirst, Question: qHistory,
			Changes: []decision.Change{{Field: "revision", From: rs.Revision}}})
	}
	return true
}

// surplus is how many old revisions are beyond the limit, and which of exactly
// those can go or are busy. A busy one is not made up for by a younger one.
func (v *view) surplus() (over int64, may, busy []*ReplicaSet) {
	var list []*ReplicaSet
	for _, rs := range v.old {
		if !rs.Deleting {
			list = append(list, rs)
		}
	}
	over = max(0, int64(len(list))-*v.s.HistoryLimit)
	slices.SortStableFunc(list, byRevision)
	for _, rs := range list[:min(over, int64(len(list)))] {
		if rs.StatusReplicas == 0 && rs.Replicas == 0 && rs.Generation <= rs.ObservedGeneration {
			may = append(may, rs)
		} else {
			busy = append(busy, rs)
		}
	}
	return over, may, busy
}

// byRevision sorts by revision; by age where they tie or one is no number.
func byRevision(a, b *ReplicaSet) int {
	n, errA := revision(a)
	m, errB := revision(b)
	if errA == nil && errB == nil && n != m && !a.EmptyRevision && !b.EmptyRevision {
		return cmp.Compare(n, m)
	}
	return byAge(a, b)
}
