package sim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// do carries out one action of the Deployment's loop.
func (c *Cluster) do(a decision.Action) decision.Outcome {
	c.due.now = true // The echo of the write.
	m := c.by(a.Target.UID)
	switch a.Kind {
	case decision.CreateReplicaSet:
		if c.named(a.Target.Name) != nil {
			return refusal(409, "AlreadyExists", "replicasets.apps "+strconv.Quote(a.Target.Name)+" already exists")
		}
		c.create(a)
	case decision.UpdateReplicaSet:
		c.update(m, a)
	case decision.DeleteReplicaSet:
		c.sets = slices.DeleteFunc(c.sets, func(n *set) bool { return n == m })
	case decision.UpdateDeployment:
		c.restore(a)
	case decision.Adopt:
		m.rs.Mine = true
	case decision.Release:
		m.rs.Mine = false
	}
	return decision.Outcome{State: decision.Written, RV: c.rv()}
}

func refusal(code int, reason, message string) decision.Outcome {
	return decision.Outcome{State: decision.Refused, Failure: &decision.Failure{Code: code, Reason: reason, Message: message}}
}

func (c *Cluster) by(uid string) *set {
	i := slices.IndexFunc(c.sets, func(m *set) bool { return m.rs.UID == uid })
	if i < 0 {
		return nil
	}
	return c.sets[i]
}

// create makes a ReplicaSet of the wanted template.
func (c *Cluster) create(a decision.Action) {
	m := &set{template: c.template, due: timer{now: true}, rs: deployment.ReplicaSet{
		Name: a.Target.Name, UID: fmt.Sprintf("sim-%09d", c.next()), RV: c.rv(), Created: c.now, Mine: true, Matches: true,
		Replicas: a.Size.To, Generation: 1, Images: slices.Clone(c.spec.Images)}}
	c.stamp(m, a)
	c.sets = append(c.sets, m)
	c.touched()
}

// update changes size, annotations and minReadySeconds of a ReplicaSet.
func (c *Cluster) update(m *set, a decision.Action) {
	if a.Size != nil && a.Size.To != m.rs.Replicas || a.MinReadySeconds != nil && *a.MinReadySeconds != m.rs.MinReady {
		m.rs.Generation++
	}
	if a.Size != nil {
		m.rs.Replicas = a.Size.To
	}
	c.stamp(m, a)
	m.rs.RV, m.due.now = c.rv(), true
	c.touched()
}

func (c *Cluster) stamp(m *set, a decision.Action) {
	if a.MinReadySeconds != nil {
		m.rs.MinReady = *a.MinReadySeconds
	}
	s := a.Stamp
	if s == nil {
		return
	}
	if s.Revision != "" {
		m.rs.Revision, m.rs.EmptyRevision = s.Revision, false
	}
	if s.History != "" {
		m.rs.History = s.History
	}
	if s.Desired != nil {
		m.rs.Desired = strconv.FormatInt(*s.Desired, 10)
	}
	if s.Max != nil {
		m.rs.Max = strconv.FormatInt(*s.Max, 10)
	}
	m.rs.CopyStale = m.rs.CopyStale && !s.Copy
}

// restore ends a request for a rollback, with or without a template.
func (c *Cluster) restore(a decision.Action) {
	editSpec(func(d *deployment.Snapshot) { d.RollbackTo = "" })(c)
	if a.Restore != nil {
		Undo(a.Restore.Name)(c)
	}
}

// doPods carries out one action of a ReplicaSet's loop.
func (c *Cluster) doPods(m *set, a decision.Action) decision.Outcome {
	m.due.now = true
	switch a.Kind {
	case decision.CreatePods:
		return c.createPods(m, a.Count)
	case decision.DeletePods:
		return c.deletePods(m, a.Victims)
	}
	return decision.Outcome{State: decision.NotTried} // The model has no pods to adopt or release.
}

// createPods makes pods in batches of 1, 2, 4 and so on, until one of a batch is refused.
func (c *Cluster) createPods(m *set, count int64) decision.Outcome {
	var o decision.Outcome
	why := ""
	o.Untried = count
	for batch := int64(1); o.Untried > 0 && o.Failed == 0; batch *= 2 {
		n := min(batch, o.Untried)
		o.Untried -= n
		for range n {
			if refused := c.refuses(m); refused != "" {
				why = refused
				o.Failed++
				continue
			}
			p := c.newPod(m)
			m.pods = append(m.pods, p)
			o.Done++
			o.Names = append(o.Names, p.Name)
		}
	}
	m.refused = o.Failed > 0
	switch {
	case !m.refused:
		o.State = decision.Written
		return o
	case o.Done > 0:
		o.State = decision.Partly
	default:
		o.State = decision.Refused
	}
	o.Failure = &decision.Failure{Code: 403, Reason: "Forbidden", Message: fmt.Sprintf("pods %q is forbidden: %s", m.rs.Name+"-", why)}
	// Without a pod of its own nothing wakes it but the end of another pod.
	m.due.now = o.Done > 0
	return o
}

// refuses says why a ReplicaSet gets no pod more; "" where it does.
func (c *Cluster) refuses(m *set) string {
	if c.full() {
		return fmt.Sprintf("exceeded quota: model, limited: pods=%d", c.quota())
	}
	if c.Rules.Refuse == nil {
		return ""
	}
	of := 0
	for _, n := range c.sets {
		if n.template == c.template {
			of += len(n.pods)
		}
	}
	return c.Rules.Refuse(m.template == c.template, of, c.count()-of)
}

func (c *Cluster) quota() int {
	if c.Rules.Quota <= 0 {
		return MaxPods
	}
	return min(c.Rules.Quota, MaxPods)
}

func (c *Cluster) full() bool { return c.count() >= c.quota() }

// count is how many pods there are.
func (c *Cluster) count() (n int) {
	for _, m := range c.sets {
		n += len(m.pods)
	}
	return n
}

// deletePods lets pods on a node take their time; any other is gone at once.
func (c *Cluster) deletePods(m *set, victims []decision.Victim) decision.Outcome {
	o := decision.Outcome{State: decision.Written, Done: int64(len(victims))}
	gone := map[string]bool{}
	for _, v := range victims {
		gone[v.UID] = true
		o.Names = append(o.Names, v.Name)
	}
	m.pods = slices.DeleteFunc(m.pods, func(p *pod) bool { return gone[p.UID] && p.Node == "" })
	for _, p := range m.pods {
		if gone[p.UID] {
			p.terminate(c.now.Add(c.Rules.Terminate))
		}
	}
	return o
}
