package sim

import (
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// Snapshot is what the Deployment's loop would observe now.
func (c *Cluster) Snapshot() *deployment.Snapshot {
	s := c.spec
	s.Now = c.now
	if s.NextName == "" {
		s.NextName = s.Name + "-sim"
	}
	for _, m := range c.sets {
		if m.rs.Mine || m.rs.Matches {
			s.ReplicaSets = append(s.ReplicaSets, c.child(m))
		}
	}
	s.Canonical()
	return &s
}

// child is a ReplicaSet as the Deployment's loop observes it.
func (c *Cluster) child(m *set) deployment.ReplicaSet {
	rs, st := m.rs, &m.status
	rs.SameTemplate = m.template == c.template
	rs.ObservedGeneration, rs.StatusReplicas = st.ObservedGeneration, st.Replicas
	rs.Ready, rs.Available, rs.Terminating = st.Ready, st.Available, st.Terminating
	if rs.Failure = nil; len(st.Conditions) > 0 {
		rs.Failure = &st.Conditions[0]
	}
	rs.NonTerminal, rs.TerminatingNow = int64(len(m.pods)), 0
	var blocked []deployment.Pod
	for _, p := range m.pods {
		switch {
		case p.Terminating:
			rs.TerminatingNow++
		case !p.available(rs.MinReady, c.now):
			blocked = append(blocked, blocking(p))
		}
	}
	rs.Blocked(blocked, c.now)
	return rs
}

func blocking(p *pod) deployment.Pod {
	return deployment.Pod{Name: p.Name, Created: p.Created, Phase: p.Phase, Node: p.Node, Ready: p.Ready, ReadySince: p.ReadySince,
		Reason: p.Reason, Message: p.Message, Image: p.Image, Since: p.Since, Restarts: p.Restarts}
}

// observe is what the ReplicaSet's loop observes.
func (c *Cluster) observe(m *set) *replicaset.Snapshot {
	s := &replicaset.Snapshot{Version: replicaset.SnapshotVersion, Now: c.now, Kind: "ReplicaSet", Found: true,
		Namespace: c.spec.Namespace, Name: m.rs.Name, UID: m.rs.UID, RV: m.rs.RV, Generation: m.rs.Generation,
		Deleting: m.rs.Deleting, Want: m.rs.Replicas, MinReady: m.rs.MinReady, Images: m.rs.Images, Burst: burst,
		Status: m.status, Held: m.held, CountTerminating: c.spec.CountTerminating}
	for _, p := range m.pods {
		s.Pods = append(s.Pods, p.Pod)
	}
	if c.rolling != nil {
		s.Kind = "ReplicationController"
		return s
	}
	if c.alone != nil {
		s.Kind, s.Selector, s.DeletionCost = c.alone.Kind, c.alone.Selector, c.alone.DeletionCost
		return s
	}
	if m.rs.Mine {
		s.Owner, s.Siblings = c.spec.Name, c.siblings()
	}
	return s
}

// siblings counts the active pods of the Deployment by node.
func (c *Cluster) siblings() map[string]int64 {
	count := map[string]int64{}
	for _, m := range c.sets {
		for _, p := range m.pods {
			if m.rs.Mine && p.Active() && p.Node != "" {
				count[p.Node]++
			}
		}
	}
	return count
}
