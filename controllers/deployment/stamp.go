package deployment

import (
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// historyLimit bounds the revision-history annotation, in bytes ([G-3]).
const historyLimit = 2000

// keepRevision brings the annotations and minReadySeconds of the new
// ReplicaSet up to date and reports whether that takes a write ([G-1]). What the
// API server does not keep takes none: the sync goes on as if it were there. It
// is not asked where there is no new ReplicaSet.
func (t *decider) keepRevision() bool {
	if t.newSet == nil {
		return false
	}
	stamp, stale := t.stamp()
	minReady := t.newSet.MinReady != t.s.MinReady
	due := stale || minReady && !t.unkept().MinReady
	facts := []decision.Fact{decision.Text("replicaSet", t.newSet.Name)}
	if was, err := revision(t.newSet); err != nil {
		facts = append(facts, decision.Text("revision", t.newSet.Revision))
	} else if facts = append(facts, decision.Count("revision", was)); stamp.Revision != "" {
		facts = append(facts, decision.Count("newRevision", t.newRevision()))
	}
	if lost := t.unkept().String(); lost != "" {
		facts = append(facts, decision.Text("notKept", lost))
	}
	if t.ask(qStamp, !due, facts...) {
		return false
	}
	a := decision.Action{Kind: decision.UpdateReplicaSet, Target: t.ref(t.newSet),
		Discipline: decision.StopAtFirst, Question: qStamp, Stamp: &stamp}
	if minReady {
		a.MinReadySeconds = new(t.s.MinReady)
	}
	a.Changes = t.stampChanges(stamp, minReady)
	t.leaf = leafStamps
	t.write(a)
	return true
}

// unkept is what the API server does not keep of the new ReplicaSet, as this sync or one before has learnt.
func (v *view) unkept() decision.Unkept {
	switch {
	case v.learnt.Unkept != nil:
		return *v.learnt.Unkept
	case v.newSet.NotKept != nil:
		return *v.newSet.NotKept
	default:
		return decision.Unkept{}
	}
}

// stamp is what the annotations of the new ReplicaSet lack, and whether that is a reason to write. A revision
// that is no number is left alone, and nothing else is a reason then; nor is what would not be kept, which is
// written with what would.
func (v *view) stamp() (decision.Stamp, bool) {
	rs := v.newSet
	s := decision.Stamp{Copy: rs.CopyStale}
	was, err := revision(rs)
	if err != nil {
		return s, false
	}
	if next := v.newRevision(); was < next {
		s.Revision = strconv.FormatInt(next, 10)
		if rs.Revision != "" {
			s.History = appendHistory(rs.History, rs.Revision)
		}
	}
	lost := v.unkept()
	return s, s.Copy && !lost.Copy || s.Revision != lost.Revision && s.Revision != ""
}

// appendHistory adds a revision to the list, dropping the oldest ones while it
// is too long. It is empty where the list need not change.
func appendHistory(history, revision string) string {
	list := strings.Split(history, ",")
	if list[0] == "" {
		return revision
	}
	length := len(history) + len(revision) + 1
	for length > historyLimit && len(list) > 0 {
		length -= len(list[0]) + 1
		list = list[1:]
	}
	if length > historyLimit {
		return ""
	}
	return strings.Join(append(list, revision), ",")
}

func (t *decider) stampChanges(s decision.Stamp, minReady bool) []decision.Change {
	var list []decision.Change
	if s.Revision != "" {
		list = append(list, decision.Change{Field: "metadata.annotations[" + annRevision + "]", From: t.newSet.Revision, To: s.Revision})
	}
	if s.History != "" {
		list = append(list, decision.Change{Field: "metadata.annotations[" + annHistory + "]", From: t.newSet.History, To: s.History})
	}
	if s.Copy {
		list = append(list, decision.Change{Field: "metadata.annotations", To: "those of the Deployment"})
	}
	if minReady {
		list = append(list, decision.Change{Field: "spec.minReadySeconds", From: digits(t.newSet.MinReady), To: digits(t.s.MinReady)})
	}
	return list
}

// The loop's own annotations ([G-2]).
const (
	annRevision = "deployment.kubernetes.io/revision"
	annHistory  = "deployment.kubernetes.io/revision-history"
	annDesired  = "deployment.kubernetes.io/desired-replicas"
	annMax      = "deployment.kubernetes.io/max-replicas"
	annRollback = "deprecated.deployment.rollback.to"
)

func digits(n int64) string { return strconv.FormatInt(n, 10) }
