package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// Edit is one change that a person or the world makes to a Cluster. An edit of
// what is not there changes nothing.
type Edit func(*Cluster)

// Edit makes the edits at once, in their order.
func (c *Cluster) Edit(edits ...Edit) {
	for _, e := range edits {
		e(c)
	}
}

// EditAt plans edits for an instant. What is planned for the past happens as
// soon as the cluster runs.
func (c *Cluster) EditAt(at time.Time, edits ...Edit) {
	c.plans = append(c.plans, plan{at: at, edits: edits})
	slices.SortStableFunc(c.plans, func(a, b plan) int { return a.at.Compare(b.at) })
}

// editSpec is a change of the Deployment's spec, which makes a new generation of it.
func editSpec(change func(*deployment.Snapshot)) Edit {
	return func(c *Cluster) {
		change(&c.spec)
		c.spec.Generation++
		c.spec.RV, c.due.now = c.rv(), true
	}
}

// Replicas sets the number of pods that are wanted; a negative one counts as 0.
func Replicas(n int64) Edit { return editSpec(func(d *deployment.Snapshot) { d.Want = max(0, n) }) }

// Surge sets maxSurge of a rolling update.
func Surge(v deployment.IntOrPercent) Edit {
	return editSpec(func(d *deployment.Snapshot) { d.MaxSurge = &v })
}

// Unavailable sets maxUnavailable of a rolling update.
func Unavailable(v deployment.IntOrPercent) Edit {
	return editSpec(func(d *deployment.Snapshot) { d.MaxUnavailable = &v })
}

// Strategy sets the strategy: RollingUpdate or Recreate.
func Strategy(name string) Edit { return editSpec(func(d *deployment.Snapshot) { d.Strategy = name }) }

// MinReady sets minReadySeconds; a negative number counts as 0.
func MinReady(seconds int64) Edit {
	return editSpec(func(d *deployment.Snapshot) { d.MinReady = max(0, seconds) })
}

// Deadline sets progressDeadlineSeconds; 0 or less takes it away.
func Deadline(seconds int64) Edit {
	return editSpec(func(d *deployment.Snapshot) {
		if d.Deadline = nil; seconds > 0 {
			d.Deadline = &seconds
		}
	})
}

// Pause pauses the Deployment or resumes it.
func Pause(paused bool) Edit { return editSpec(func(d *deployment.Snapshot) { d.Paused = paused }) }

// Images changes the images of the pod template. The template is a new one,
// unless an edit made one with the same images before; to go back to that of a
// recorded ReplicaSet there is Undo.
func Images(images ...string) Edit {
	return func(c *Cluster) {
		if slices.Equal(images, c.spec.Images) {
			return
		}
		name := strings.Join(images, "\n")
		if c.images[name] == 0 {
			c.templates++
			c.images[name] = c.templates
		}
		c.want(c.images[name], images)
	}
}

// Undo makes the template of a ReplicaSet the wanted one again.
func Undo(replicaSet string) Edit {
	return func(c *Cluster) {
		if m := c.named(replicaSet); m != nil && m.template != c.template {
			c.want(m.template, m.rs.Images)
		}
	}
}

// want changes the template. A new one gets a name of the model's own, as only
// a whole template has a hash.
func (c *Cluster) want(template int, images []string) {
	c.template = template
	editSpec(func(d *deployment.Snapshot) {
		d.Images = slices.Clone(images)
		d.NextHash = strings.Replace(c.rv(), "-", "", 1)
		d.NextName = d.Name + "-" + d.NextHash
	})(c)
}

// Pod gives a pod another fate, which begins now: one that is ready and Stuck
// fails, one that is stuck and ReadyAfter becomes ready.
func Pod(name string, f Fate) Edit {
	return func(c *Cluster) {
		for _, m := range c.sets {
			for _, p := range m.pods {
				if p.Name == name {
					p.setFate(f, c)
					m.due.now, c.due.now = true, true
				}
			}
		}
	}
}

// NewPods gives the pods that are created from now on for a ReplicaSet's template
// a fate. The name "" stands for the wanted template, which may have no
// ReplicaSet yet.
func NewPods(replicaSet string, f Fate) Edit {
	return func(c *Cluster) {
		if replicaSet == "" {
			c.fates[c.template] = f
		} else if m := c.named(replicaSet); m != nil {
			c.fates[m.template] = f
		}
	}
}

// Pods gives all pods of a ReplicaSet, present and future, a fate.
func Pods(replicaSet string, f Fate) Edit {
	return func(c *Cluster) {
		NewPods(replicaSet, f)(c)
		if m := c.named(replicaSet); m != nil {
			for _, p := range m.pods {
				p.setFate(f, c)
			}
			m.due.now, c.due.now = true, true
		}
	}
}

// Ask changes what is asked for of a rolling update. Where nothing is, it changes nothing.
func Ask(change func(*rollingupdate.Request)) Edit {
	return func(c *Cluster) {
		if c.rolling == nil {
			return
		}
		for _, rc := range c.rolling.rcs {
			if rc.request != nil {
				asked := *rc.request
				change(&asked)
				rc.request, rc.rs.RV, c.due.now = &asked, c.rv(), true
			}
		}
	}
}

// Desired sets how many pods a rolling update is to end with: in the note of the new
// ReplicationController, or before there is one, in the old one. It comes too late where the
// pods are being handed over.
func Desired(n int64) Edit {
	return func(c *Cluster) {
		if c.rolling == nil {
			return
		}
		s := c.Update()
		switch old, replacing := c.rolling.named(s.Name), c.rolling.named(s.NewName); {
		case old != nil && old.notes.Parked != nil:
		case replacing != nil && replacing.notes.Desired != nil:
			replacing.notes.Desired = &n
		case old != nil && old.notes.Original != nil:
			old.notes.Original = &n
		case old != nil && old.rs.Replicas != n:
			old.rs.Replicas, old.rs.Generation, old.due.now = n, old.rs.Generation+1, true
		}
		c.due.now = true
	}
}
