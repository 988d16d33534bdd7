package deployment

import (
	"regexp"
	"slices"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// leaving are the terminating pods of sets whose room is for others: not those that the cluster took away.
func leaving(sets []*ReplicaSet) (list []decision.TerminatingPod) {
	for _, rs := range sets {
		for _, p := range rs.TerminatingPods {
			if !slices.ContainsFunc(rs.Disrupted, func(d decision.DisruptedPod) bool { return d.Name == p.Name }) {
				list = append(list, p)
			}
		}
	}
	return list
}

// room are the pods of sets that leave room for those of rs.
func (v *view) room(rs *ReplicaSet, sets []*ReplicaSet) diagnosis.Leaving {
	l := v.later(rs, sets)
	l.Now = v.pods().Going(leaving(sets))
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

// alike are the sets whose pods are known to request as much as those of rs.
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

// keepsRequests reports whether it is the change between two revisions, and their pods request the same.
func (c *TemplateChange) keepsRequests(from, to string) bool {
	return c != nil && c.From == from && c.To == to && c.More == 0 &&
		!slices.ContainsFunc(c.Fields, func(f decision.Change) bool { return !otherThanRequests.MatchString(f.Field) })
}
