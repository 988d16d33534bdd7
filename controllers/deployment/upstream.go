package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Departure is the number of the departure by which Kubernetes writes what was seen, on this very snapshot. It
// gives a ReplicaSet a size where pods that will not stay count (3), unhealthy and healthy ones go in one sync
// (4), and so do those that it comes to before a ReplicaSet whose status is behind (5); and it writes some
// conditions and the number of collisions on its way, before what follows (7). See decision.Departing.
func (s *Snapshot) Departure(seen *decision.Prediction) int {
	switch {
	case seen.Aspect == decision.AspectSize:
		return s.departingSize(seen)
	case s.writtenOnTheWay(seen):
		return 7
	default:
		return 0
	}
}

// writtenOnTheWay reports whether that is what Kubernetes writes in the middle of a sync: that the Deployment
// was paused or resumed, that its ReplicaSet was created or found, or that the name of that one is taken.
func (s *Snapshot) writtenOnTheWay(seen *decision.Prediction) bool {
	for _, taken := range []*decision.NameTaken{nil, {Name: s.NextName}} {
		sync := NewSync(s)
		sync.learnt.NameTaken = taken
		round := decision.Round{Verdict: sync.Decide()}
		round.Outcomes, _ = decision.Everything(round.Verdict)
		if sync.turn.branch == branchSelectsAll {
			return false
		}
		for _, write := range []func(*settler){(*settler).pauseCondition, (*settler).collisions, (*settler).found} {
			c := newSettler(sync.turn, round)
			write(c)
			changes := decision.ChangesOf(Loop.Kind, s.Name, statusChanges(s.Status, c.report.Status))
			if slices.ContainsFunc(changes, func(p decision.Prediction) bool { return p.Same(*seen) }) {
				return true
			}
		}
	}
	return false
}

func (s *Snapshot) departingSize(seen *decision.Prediction) int {
	v := viewOf(s)
	i := slices.IndexFunc(v.children, func(rs *ReplicaSet) bool { return rs.Name == seen.Name })
	if i < 0 || s.Strategy != rollingUpdate || v.boundsErr != nil || v.newSet == nil {
		return 0
	}
	from, to := seen.Sizes()
	counts := func(list []shrunk) bool { return slices.Contains(list, shrunk{seen.Name, from, to}) }
	switch behind := slices.ContainsFunc(v.old, func(rs *ReplicaSet) bool { return rs.Replicas > 0 && rs.Available > rs.Replicas }); {
	case !counts(v.shrinks(func(rs *ReplicaSet) int64 { return rs.Available })), !s.comesToOld():
		return 0
	case behind:
		return 5
	case counts(v.shrinks(counted)):
		return 4
	default:
		return 3
	}
}

// comesToOld reports whether a sync gets as far as the old ReplicaSets of a rolling update: up to there
// the rules are Kubernetes' own. It does not while the new one is to grow.
func (s *Snapshot) comesToOld() bool {
	return slices.ContainsFunc(Decide(s).Path, func(step decision.Step) bool { return step.Question == qOldLeft })
}

// shrunk is a size that Kubernetes gives to an old ReplicaSet.
type shrunk struct {
	name     string
	from, to int64
}

// shrinks are the sizes that Kubernetes writes in one sync of a rolling update, where so many pods of a
// ReplicaSet count as available: first those of unhealthy pods, up to a ReplicaSet that has more
// available pods than its size, then those of healthy ones.
func (v *view) shrinks(available func(*ReplicaSet) int64) (list []shrunk) {
	budget := v.bounds.MayGo(v.total, v.newSize(), available(v.newSet))
	if budget <= 0 {
		return nil
	}
	sizes, all := map[string]int64{}, int64(0)
	for _, rs := range v.children {
		if sizes[rs.Name] = rs.Replicas; rs == v.newSet || rs.Replicas > 0 {
			all += available(rs)
		}
	}
	shrink := func(rs *ReplicaSet, n int64) {
		if n > 0 {
			list = append(list, shrunk{rs.Name, sizes[rs.Name], sizes[rs.Name] - n})
			sizes[rs.Name] -= n
		}
	}
	for _, rs := range v.old {
		if budget > 0 && rs.Replicas > 0 && available(rs) > rs.Replicas {
			return list
		}
		n := min(budget, sizes[rs.Name]-available(rs))
		shrink(rs, n)
		budget -= max(0, n)
	}
	left := all - v.bounds.Floor()
	for _, rs := range v.old {
		n := min(left, sizes[rs.Name])
		shrink(rs, n)
		left -= max(0, n)
	}
	return list
}
