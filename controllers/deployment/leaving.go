package deployment

import (
	"regexp"
	"slices"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// leaving counts the terminating pods of rs that nothing but their grace period holds and whose room is for others: not
// those that the cluster took away.
func (v *view) leaving(rs *ReplicaSet) int64 {
	var list []decision.TerminatingPod
	for _, p := range rs.TerminatingPods {
		if !slices.ContainsFunc(rs.Disrupted, func(d decision.DisruptedPod) bool { return d.Name == p.Name }) {
			list = append(list, p)
		}
	}
	w, described := v.pods(), len(list)
	n := w.Going(list)
	if described > 0 && w.Going(list[described-1:]) > 0 { // The grace periods of those that are not described end no sooner.
		n += rs.undescribed(int64(described))
	}
	return n
}

// undescribed counts the terminating pods of rs beside those that are described and the cluster did not take away, as
// far as it is known that it did not take these away either.
func (rs *ReplicaSet) undescribed(described int64) int64 {
	if len(rs.Disrupted) >= MaxDisrupted {
		return 0
	}
	return max(0, rs.TerminatingNow-described-int64(len(rs.Disrupted)))
}

// room are the pods of sets that leave room for those of rs.
func (v *view) room(rs *ReplicaSet, sets []*ReplicaSet) diagnosis.Leaving {
	l := v.later(rs, sets)
	for _, other := range sets {
		l.Now += v.leaving(other)
	}
	return l
}

// later are the old pods that a rolling update removes as pods of rs become available.
func (v *view) later(rs *ReplicaSet, sets []*ReplicaSet) (l diagnosis.Leaving) {
	if rs != v.newSet || v.s.Paused || v.s.Strategy != rollingUpdate {
		return l
	}
	l.Spare = v.missing() - max(1, v.needed())
	for _, other := range sets {
		if other != rs {
			l.Later += min(other.Replicas, other.StatusReplicas)
		}
	}
	return l
}

// alike are the sets whose pods are known to request at least as much as those of rs.
func (v *view) alike(rs *ReplicaSet) (sets []*ReplicaSet) {
	for _, other := range v.children {
		if other == rs || v.s.Changed.keepsRequests(other.Revision, rs.Revision) {
			sets = append(sets, other)
		}
	}
	return sets
}

// otherThanRequests are the fields of a template on which the requests of its pods do not depend.
var otherThanRequests = regexp.MustCompile(`^metadata\.|^(initC|c)ontainers\[[^]]*\]\.(image|command|args|env|lifecycle|livenessProbe|readinessProbe|startupProbe)`)

// amounts are the fields of a template on which the requests of its pods depend, as far as they go by numbers.
var amounts = regexp.MustCompile(`^(initC|c)ontainers\[[^]]*\]\.resources\.(requests|limits)\[`)

// keepsRequests reports whether it is the change between two revisions, and pods of the second request no more.
func (c *TemplateChange) keepsRequests(from, to string) bool {
	return c != nil && c.From == from && c.To == to && c.More == 0 &&
		!slices.ContainsFunc(c.Fields, asksMore)
}

// asksMore reports whether pods may request more after that change than before.
func asksMore(f decision.Change) bool {
	less := amounts.MatchString(f.Field) && diagnosis.Exceeds(f.From, f.To)
	return !less && !otherThanRequests.MatchString(f.Field)
}
