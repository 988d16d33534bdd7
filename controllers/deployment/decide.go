package deployment

import (
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Decide is the first round of a sync.
func Decide(s *Snapshot) decision.Verdict { return NewSync(s).Decide() }

// decide answers every question, in upstream's order. Each case is a predicate
// that records its own question with the values it used, so the path on the
// screen is what the switch branched on. One kind of write ends the walk: its
// echo brings the next sync.
func (t *decider) decide() {
	switch {
	case !t.seenOwnWrites(): // [L-1]
		t.waitForEcho()
	case !t.exists(): // [D-1]
		t.stop(leafGone)
	case t.selectsEverything(): // [D-3]
		t.branch = branchSelectsAll
	case t.selectorUnreadable(): // [D-4]
		t.fail(t.selectorError())
	case t.parentGone(): // [D-4]
		t.lookAgain(leafParent, timerParent, qParent)
	case t.claims(): // [D-4]
		t.adoptAndRelease()
	case t.deleted(): // [D-6]
		t.branch = branchDeleting
		t.keepRevision()
	case t.pausedNow(): // [D-7], [D-8]
		t.branch = branchPaused
		t.pausedSync()
	case t.rollbackWanted(): // [D-9]
		t.branch = branchRollback
		t.rollback()
	case t.keepRevision(): // [G-1]
		t.branch = branchRevision
	case t.scaled(): // [D-10]
		t.branch = branchScaling
		t.scale()
	default: // [D-11]
		t.branch = branchRollout
		t.rollout()
	}
}

// rollout branches on the strategy ([D-11]).
func (t *decider) rollout() {
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

// decider is one walk through the questions.
type decider struct {
	*view
	verdict decision.Verdict
	end
}

// end is the result of a walk. What is settled and said follows from it, without
// looking at the path again.
type end struct {
	branch branch
	leaf   leaf
	asked  int64 // the revision of a rollback
}

// branch is the way that a walk took at the guards.
type branch uint8

const (
	branchStopped    branch = iota // nothing is settled
	branchSelectsAll               // [D-3]
	branchDeleting                 // [D-6]
	branchPaused                   // [D-8]
	branchRollback                 // [D-9], as far as a ReplicaSet comes first
	branchRestore                  // [D-9], the write of the Deployment itself
	branchRevision                 // [G-1]
	branchScaling                  // [D-10]
	branchRollout                  // [D-11]
)

// leaf is the last thing that a walk came to.
type leaf uint8

const (
	leafIdle         leaf = iota // there is nothing to write, but annotations of sizes that stay
	leafEcho                     // a write of its own is not seen yet
	leafGone                     // there is no such Deployment
	leafParent                   // read live, it is gone or being deleted
	leafClaims                   // ReplicaSets are adopted or released
	leafStamps                   // the new ReplicaSet lacks annotations ([G-1])
	leafNamespace                // its namespace is being deleted
	leafCreates                  // the ReplicaSet of the template
	leafNotCached                // that one exists, and is not in the cache
	leafCollides                 // its name is taken by something else
	leafScales                   // the only ReplicaSet
	leafProportional             // all of them, by their sizes
	leafSteps                    // sizes of a rollout
	leafBehind                   // the status of an old ReplicaSet counts too many pods
	leafNoRevision               // there is none to roll back to
	leafNoSource                 // no ReplicaSet has it
	leafSame                     // it has the template that there is already
	leafRestores                 // the template of an earlier revision
)

// usualPath is the number of questions of an ordinary sync.
const usualPath = 20

func newDecider(v *view) *decider {
	return &decider{view: v, verdict: decision.Verdict{Path: make(decision.Path, 0, usualPath)}}
}

// ask records a predicate and returns it.
func (t *decider) ask(id string, answer bool, facts ...decision.Fact) bool {
	return t.verdict.Path.Ask(id, answer, facts...)
}

// write adds an action.
func (t *decider) write(a decision.Action) { t.verdict.Actions = append(t.verdict.Actions, a) }

// hold adds a write that was refused and marks the question that refused it, which is
// the last one.
func (t *decider) hold(h decision.Held) {
	t.verdict.Path.Last().Holds = true
	if t.namespaceTerminating() && h.Kind != decision.DeleteReplicaSet { // Only its objects still go.
		h.Code, h.Unblocks, h.When = diagnosis.Namespace, diagnosis.NamespaceGoes, decision.Unblock{Event: decision.Never}
		h.Blockers, h.BlockerCount = []decision.Blocker{{Kind: "Namespace", Name: t.s.Namespace, Reason: "Terminating", Since: t.s.NamespaceTerminating}}, 1
	}
	t.verdict.Held = append(t.verdict.Held, h)
}

// stop ends the sync without a status.
func (t *decider) stop(at leaf) {
	t.verdict.Stop, t.branch, t.leaf = true, branchStopped, at
}

// fail ends the sync on an error of the object itself.
func (t *decider) fail(message string) {
	t.verdict.Invalid = message
	t.stop(leafIdle)
}
