package deployment

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// strategies of a Deployment.
const (
	rollingUpdate = "RollingUpdate"
	recreate      = "Recreate"
)

// The conditions of a Deployment that the loop owns, and their reasons ([ST-2], [ST-6], [RR-5]).
const (
	condProgressing    = "Progressing"
	condAvailable      = "Available"
	condReplicaFailure = "ReplicaFailure"

	reasonCreated     = "NewReplicaSetCreated"
	reasonFound       = "FoundNewReplicaSet"
	reasonUpdated     = "ReplicaSetUpdated"
	reasonDone        = "NewReplicaSetAvailable"
	reasonPaused      = "DeploymentPaused"
	reasonResumed     = "DeploymentResumed"
	reasonCreateError = "ReplicaSetCreateError"
	reasonDeadline    = "ProgressDeadlineExceeded"
	reasonMinimum     = "MinimumReplicasAvailable"
	reasonBelow       = "MinimumReplicasUnavailable"
)

// view is a Snapshot with what every question needs: the claimed ReplicaSets
// sorted into the new one and the old ones, and their sums. It never changes.
type view struct {
	s *Snapshot
	// learnt is what earlier rounds of the sync found out, now the instant as of
	// which it is looked at: that of the snapshot, or a later one.
	learnt decision.Learnt
	now    time.Time
	// sets is every candidate in canonical order; children are those that are
	// ours and match ([D-4]).
	sets            []*ReplicaSet
	children        []*ReplicaSet
	adopt, release  []*ReplicaSet
	newSet          *ReplicaSet // the new ReplicaSet: oldest with the same template ([N-1])
	old             []*ReplicaSet
	bounds          rollout.Bounds
	boundsErr       error
	total, oldTotal int64
	available       int64
	oldAvailable    int64
	// found is the diagnosis, once somebody has asked for it.
	found *decision.Diagnosis
	// turns is when the clock alone makes another diagnosis; zero where it does not.
	turns time.Time
}

// viewOf is a look at a snapshot alone.
func viewOf(s *Snapshot) *view { return newView(s, decision.Learnt{}, s.Now) }

// newView sorts a snapshot out. It never fails: what is wrong with the object is
// left for a question to find.
func newView(s *Snapshot, learnt decision.Learnt, now time.Time) *view {
	v := &view{s: s, learnt: learnt, now: now, sets: canonical(s.ReplicaSets)}
	v.claim()
	for _, rs := range v.children {
		if v.newSet == nil && rs.SameTemplate {
			v.newSet = rs
			continue
		}
		v.old = append(v.old, rs)
		v.oldTotal += rs.Replicas
		v.oldAvailable += counted(rs)
	}
	v.total, v.available = v.oldTotal, v.oldAvailable
	if v.newSet != nil {
		v.total += v.newSet.Replicas
		v.available += counted(v.newSet)
	}
	v.resolve()
	return v
}

// Canonical puts the ReplicaSets in the order in which they are decided on: by
// creation time, then name ([N-1]). Decide accepts any order and gives the
// same verdict; a recorded snapshot is in this one.
func (s *Snapshot) Canonical() {
	slices.SortFunc(s.ReplicaSets, func(a, b ReplicaSet) int { return byAge(&a, &b) })
}

func byAge(a, b *ReplicaSet) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

func canonical(sets []ReplicaSet) []*ReplicaSet {
	list := make([]*ReplicaSet, len(sets))
	for i := range sets {
		list[i] = &sets[i]
	}
	if !slices.IsSortedFunc(list, byAge) {
		slices.SortFunc(list, byAge)
	}
	return list
}

// claim is the rules of ownership of, without the live read.
func (v *view) claim() {
	v.children = make([]*ReplicaSet, 0, len(v.sets))
	for _, rs := range v.sets {
		switch {
		case slices.Contains(v.learnt.ChildrenGone, rs.UID):
		case rs.Mine && rs.Matches:
			v.children = append(v.children, rs)
		case v.s.Deleting:
		case rs.Mine:
			v.release = append(v.release, rs)
		case rs.Matches && !rs.Deleting:
			v.adopt = append(v.adopt, rs)
		}
	}
}

// resolve computes the bounds. Outside a rolling update there is no surge and
// nothing may be unavailable ([B-2]).
func (v *view) resolve() {
	v.bounds.Want = v.s.Want
	if v.s.Strategy == rollingUpdate {
		v.bounds, v.boundsErr = rollout.Resolve(v.s.Want, amount(v.s.MaxSurge), amount(v.s.MaxUnavailable))
	}
}

func amount(v *IntOrPercent) *rollout.Amount {
	if v == nil {
		return nil
	}
	return &rollout.Amount{Int: v.Int, Percent: v.Percent}
}

// counted is the number of pods of rs that count as available: no more than its
// status reports, and no more than it had been made since, as the others may be
// gone without the status saying so yet.
func counted(rs *ReplicaSet) int64 {
	size := rs.Replicas
	if rs.Least != nil {
		size = *rs.Least
	}
	return rollout.Counted(rs.Available, size)
}

// namespaceTerminating reports whether the namespace is being deleted, as far as is known.
func (v *view) namespaceTerminating() bool {
	return v.learnt.NamespaceTerminating || !v.s.NamespaceTerminating.IsZero()
}

// floor is the fewest pods that must stay available: none for Recreate, which
// takes everything down.
func (v *view) floor() int64 {
	if v.s.Strategy != rollingUpdate {
		return 0
	}
	return v.bounds.Floor()
}

// down reports whether too few pods are available for anybody's liking: fewer than the floor, or none although some are
// wanted, whatever the strategy allows a rollout.
func (v *view) down() bool { return v.available < max(v.floor(), min(1, v.s.Want)) }

// newSize and newAvailable are 0 where there is no new ReplicaSet yet.
func (v *view) newSize() int64 {
	if v.newSet == nil {
		return 0
	}
	return v.newSet.Replicas
}

func (v *view) newAvailable() int64 { return v.available - v.oldAvailable }

// missing is how many pods of the new ReplicaSet are not available.
func (v *view) missing() int64 { return v.newSize() - v.newAvailable() }

// active is every child with a size, old ones first ([D-10]: a deletion
// timestamp makes no difference).
func (v *view) active() []*ReplicaSet {
	list := v.activeOld()
	if v.newSet != nil && v.newSet.Replicas > 0 {
		list = append(list, v.newSet)
	}
	return list
}

func (v *view) activeOld() []*ReplicaSet {
	var list []*ReplicaSet
	for _, rs := range v.old {
		if rs.Replicas > 0 {
			list = append(list, rs)
		}
	}
	return list
}

// rolling is true while a rollout is under way by its Progressing condition, nil
// where there is none, so that a pod that is not available holds something back.
func (v *view) rolling(progressing *decision.Condition) bool {
	switch {
	case v.oldTotal > 0:
		return true
	case progressing != nil:
		return progressing.Reason != reasonDone
	default: // Without a deadline there never is a condition.
		return v.s.Deadline != nil || v.missing() > 0
	}
}

// changePending is true while the pod template is not what runs.
func (v *view) changePending() bool {
	return v.newSet == nil || v.oldTotal > 0 || v.newSet.Replicas != v.s.Want
}

// complete is the rule of [ST-4], for any status.
func (v *view) complete(st Status) bool {
	want := v.s.Want
	return st.Updated == want && st.Replicas == want && st.Available == want &&
		st.ObservedGeneration >= v.s.Generation
}

// newRevision is one more than the highest revision of an old ReplicaSet ([G-3]).
func (v *view) newRevision() int64 {
	highest := int64(0)
	for _, rs := range v.old {
		if n, err := revision(rs); err == nil {
			highest = max(highest, n)
		}
	}
	if highest == math.MaxInt64 {
		return highest
	}
	return highest + 1
}

// revision is the number in the revision annotation, 0 where there is none or it is empty.
func revision(rs *ReplicaSet) (int64, error) {
	if rs.Revision == "" {
		return 0, nil
	}
	return strconv.ParseInt(rs.Revision, 10, 64)
}

// desired is the desired-replicas annotation: an unsigned number that fits an
// int32, or else it counts as missing ([D-10]).
func desired(rs *ReplicaSet) (int64, bool) { return annotated(rs.Desired) }

func annotated(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int64(n), err == nil
}

// self names the Deployment as the target of a write.
func (v *view) self() decision.Ref {
	return decision.Ref{Kind: "Deployment", Namespace: v.s.Namespace, Name: v.s.Name, UID: v.s.UID, RV: v.s.RV}
}

// ref names a ReplicaSet as the target of a write.
func (v *view) ref(rs *ReplicaSet) decision.Ref {
	return decision.Ref{Kind: "ReplicaSet", Namespace: v.s.Namespace, Name: rs.Name, UID: rs.UID, RV: rs.RV}
}

// condition returns the condition of that type, nil if there is none.
func condition(list []decision.Condition, kind string) *decision.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}
