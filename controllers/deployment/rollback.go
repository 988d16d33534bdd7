package deployment

import (
	"strconv"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// rollbackTo is the revision that the deprecated annotation asks for. What is
// no number is ignored.
func (v *view) rollbackTo() (int64, bool) {
	n, err := strconv.ParseInt(v.s.RollbackTo, 10, 64)
	return n, err == nil
}

// rollbackWanted is [D-9].
func (t *decider) rollbackWanted() bool {
	n, ok := t.rollbackTo()
	switch {
	case ok:
		return t.ask(qRollback, true, decision.Count("revision", n))
	case t.s.RollbackTo != "":
		return t.ask(qRollback, false, decision.Text("annotation", t.s.RollbackTo))
	default:
		return t.ask(qRollback, false)
	}
}

// rollback restores the template of an earlier revision, or says why it
// cannot, and clears the request ([RB-4]). The write ends the sync without a
// status; the changed template then rolls out like any other.
func (t *decider) rollback() {
	switch {
	case t.keepRevision():
		t.branch = branchRevision
		return
	case !t.hasNew(qRBCurrent):
		t.create(qRBCurrent)
		return
	}
	asked := t.rollbackRevision()
	if asked == 0 {
		t.clearRollback(leafNoRevision, qRBRevision, nil)
		return
	}
	switch source := t.rollbackSource(asked); {
	case source == nil:
		t.clearRollback(leafNoSource, qRBSource, nil)
	case t.sameTemplate(source):
		t.clearRollback(leafSame, qRBSame, nil)
	default:
		t.clearRollback(leafRestores, qRBSame, source)
	}
}

// rollbackRevision is the number to go back to; revision 0 stands for the one
// before the highest. 0 means that there is none.
func (t *decider) rollbackRevision() int64 {
	n, _ := t.rollbackTo()
	if n == 0 {
		n = t.lastRevision()
	}
	t.asked = t.verdict.Path.Count(qRBRevision, n)
	return t.asked
}

// lastRevision is the second highest revision of all ReplicaSets.
func (v *view) lastRevision() int64 {
	highest, second := int64(0), int64(0)
	for _, rs := range v.children {
		n, err := revision(rs)
		switch {
		case err != nil:
		case n >= highest:
			highest, second = n, highest
		case n > second:
			second = n
		}
	}
	return second
}

// rollbackSource is the first ReplicaSet with that revision, old ones first.
func (t *decider) rollbackSource(asked int64) *ReplicaSet {
	for _, rs := range append(t.old[:len(t.old):len(t.old)], t.newSet) {
		if n, err := revision(rs); err == nil && n == asked {
			t.verdict.Path.Name(qRBSource, rs.Name, decision.Count("revision", asked))
			return rs
		}
	}
	t.verdict.Path.Name(qRBSource, none, decision.Count("revision", asked))
	return nil
}

// none is the answer of a question for a name where there is none.
const none = "none"

func (t *decider) sameTemplate(rs *ReplicaSet) bool {
	return t.ask(qRBSame, rs.SameTemplate, decision.Text("replicaSet", rs.Name))
}

// clearRollback is the write that ends a rollback; with a source it takes its template.
func (t *decider) clearRollback(at leaf, question string, source *ReplicaSet) {
	t.branch, t.leaf = branchRestore, at
	a := decision.Action{Kind: decision.UpdateDeployment, Target: t.self(), Discipline: decision.StopAtFirst, Question: question,
		Changes: []decision.Change{{Field: "metadata.annotations[" + annRollback + "]", From: t.s.RollbackTo}}}
	if source != nil {
		ref := t.ref(source)
		a.Restore = &ref
		a.Changes = append(a.Changes, decision.Change{Field: "spec.template", From: "revision " + t.newSet.Revision, To: "revision " + source.Revision})
	}
	t.write(a)
}
