package sim

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// Fate is what becomes of a pod.
type Fate struct {
	// Ready is how long after it has a node the pod becomes ready.
	Ready time.Duration
	// Reason is why it never does, in Kubernetes' word; "" where it does. A pod
	// that is Unschedulable never has a node.
	Reason string
}

// ReadyAfter is the fate of a pod that becomes ready that long after it has a node.
func ReadyAfter(d time.Duration) Fate { return Fate{Ready: d} }

// Stuck is the fate of a pod that never becomes ready, or is not any more, for a
// reason in Kubernetes' word, such as ImagePullBackOff, CrashLoopBackOff or Unschedulable.
func Stuck(reason string) Fate { return Fate{Reason: reason} }

const unschedulable = "Unschedulable"

// passing are the reasons of a pod that is on its way up.
var passing = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true, "ContainersNotReady": true}

// Passing reports whether a pod that waits for that reason, in Kubernetes' word,
// is on its way up: time alone makes it ready.
func Passing(reason string) bool { return passing[reason] }

// pod is one pod with what happens to it next.
type pod struct {
	replicaset.Pod
	fate Fate
	at   time.Time // of its next change; zero for none
	key  string    // the label that tells the pods of an update apart
}

// newPod makes a pod of a ReplicaSet.
func (c *Cluster) newPod(m *set) *pod {
	m.created++
	n := c.next()
	p := &pod{Pod: replicaset.Pod{Name: fmt.Sprintf("%s-%05d", m.rs.Name, n), UID: fmt.Sprintf("sim-%09d", n), RV: c.rv(),
		Mine: true, Matches: true, FullLabels: true, Created: c.now, Phase: "Pending", Since: c.now}}
	if len(m.rs.Images) > 0 {
		p.Image = m.rs.Images[0]
	}
	if c.rolling != nil {
		if rc := c.rolling.named(m.rs.Name); rc != nil {
			p.key = rc.notes.TemplateKey
		}
	}
	p.setFate(c.fateOf(m), c)
	return p
}

func (c *Cluster) fateOf(m *set) Fate {
	if f, ok := c.fates[m.template]; ok {
		return f
	}
	if c.Rules.Fate == nil {
		return ReadyAfter(usualReady)
	}
	return c.Rules.Fate(m.rs.Name, m.created)
}

// recorded makes a pod that a snapshot describes.
func (c *Cluster) recorded(m *set, r deployment.Pod) *pod {
	p := c.newPod(m)
	p.Name, p.Created, p.Node, p.Restarts = r.Name, r.Created, r.Node, r.Restarts
	if r.Phase != "" {
		p.Phase = r.Phase
	}
	switch {
	case r.Ready:
		p.ready(r.ReadySince)
		p.at = time.Time{}
	case !passing[r.Reason]:
		c.fates[m.template] = Stuck(r.Reason)
		p.setFate(c.fates[m.template], c)
	}
	if r.Reason != "" && !r.Ready {
		p.Reason, p.Message, p.Image, p.Since = r.Reason, r.Message, r.Image, r.Since
	}
	return p
}

// setFate gives the pod a fate from now on.
func (p *pod) setFate(f Fate, c *Cluster) {
	p.fate = f
	switch {
	case p.Terminating:
	case f.Reason != "" && (p.Node != "" || f.Reason == unschedulable):
		p.stuck(c.now)
	case p.Node == "":
		p.at = c.now.Add(c.Rules.Schedule)
	case !p.Ready:
		p.at = c.now.Add(f.Ready)
	}
}

// move lets the change happen that is due, and reports whether the pod is gone.
func (p *pod) move(c *Cluster) (gone bool) {
	p.at, p.RV = time.Time{}, c.rv()
	switch {
	case p.Terminating:
		return true
	case p.Node == "":
		p.Node, p.Reason, p.Since = c.node(), "ContainerCreating", c.now
		p.setFate(p.fate, c)
	default:
		p.ready(c.now)
	}
	return false
}

func (p *pod) ready(since time.Time) {
	p.Ready, p.ReadySince, p.Phase, p.Reason, p.Message = true, since, "Running", "", ""
}

func (p *pod) stuck(now time.Time) {
	p.Ready, p.ReadySince, p.Reason, p.Message, p.Since, p.at = false, time.Time{}, p.fate.Reason, "", now, time.Time{}
}

// terminate starts the deletion of the pod, which is gone at that instant.
func (p *pod) terminate(at time.Time) { p.Terminating, p.at = true, at }

// available reports whether the pod has been ready for minReady seconds.
func (p *pod) available(minReady int64, now time.Time) bool {
	return p.Ready && !p.Terminating && !now.Before(p.ReadySince.Add(seconds(minReady)))
}

// nodes is how many nodes the pods are spread over.
const nodes = 3

func (c *Cluster) node() string { return fmt.Sprintf("node-%d", c.next()%nodes+1) }
