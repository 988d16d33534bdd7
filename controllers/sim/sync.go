package sim

import (
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// sync runs one sync: of the Deployment, of the update, or of a ReplicaSet.
func (c *Cluster) sync(m *set) Step {
	switch {
	case m != nil:
		return c.syncReplicaSet(m)
	case c.rolling != nil:
		return c.syncUpdate()
	}
	return c.syncDeployment()
}

func (c *Cluster) syncDeployment() Step {
	c.due = timer{at: c.due.at}
	s := c.Snapshot()
	step := Step{At: c.now, Loop: deployment.Catalogue.Loop, Name: c.spec.Name, Snapshot: s}
	core := c.begin(s)
	step.run(core, c.now, c.do)
	c.due.arm(step.Round.Verdict.Timers)
	if step.Report != nil {
		c.publish(core.Report())
	}
	c.measure(&step)
	return step
}

// run runs one sync, whose actions do carries out; nothing is learnt in the model.
func (s *Step) run(core decision.Core, now time.Time, do func(decision.Action) decision.Outcome) {
	x := decision.Sync{Core: core}
	x.Run(func(v decision.Verdict) (list []decision.Outcome, _ decision.Learnt) {
		for _, a := range v.Actions {
			list = append(list, do(a))
		}
		return list, decision.Learnt{}
	})
	s.Round, s.Report = x.Rounds[0], x.Report
	s.Sentence = x.Tell(decision.Try{}, now).Sentence
}

func (c *Cluster) publish(r *deployment.Report) {
	c.spec.Held = since(c.spec.Held, r.Hold, c.now)
	c.due.arm(r.Timers)
	if !r.Publish {
		return
	}
	c.spec.Status, c.spec.RV, c.due.now = r.Status, c.rv(), true
	if r.Revision != "" {
		c.spec.Revision = r.Revision
	}
}

func (c *Cluster) syncReplicaSet(m *set) Step {
	m.due = timer{at: m.due.at}
	s := c.observe(m)
	step := Step{At: c.now, Loop: replicaset.Catalogue.Loop, Name: m.rs.Name}
	core := replicaset.NewSync(s)
	step.run(core, c.now, func(a decision.Action) decision.Outcome { return c.doPods(m, a) })
	m.due.arm(step.Round.Verdict.Timers)
	if step.Report != nil {
		c.publishSet(m, core.Report())
	}
	c.measure(&step)
	return step
}

func (c *Cluster) publishSet(m *set, r *replicaset.Report) {
	m.held = since(m.held, r.Hold, c.now)
	m.due.arm(r.Timers)
	if r.Publish {
		m.status, m.rs.RV, m.due.now = r.Status, c.rv(), true
		c.touched()
	}
}

// since is the instant from which something is held back without a break.
func since(was time.Time, holds bool, now time.Time) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case was.IsZero():
		return now
	default:
		return was
	}
}

// arm sets an alarm by timers. Those that guard against a cache that stays behind
// have no business here.
func (a *timer) arm(timers []decision.Timer) {
	for _, t := range timers {
		if t.Code != "expectations" && t.Code != "echo" {
			a.fire(t.At)
		}
	}
}

// measure takes the sizes of all ReplicaSets.
func (c *Cluster) measure(step *Step) {
	for _, m := range c.sets {
		if !m.rs.Mine {
			continue
		}
		s := Size{Name: m.rs.Name, Revision: m.rs.Revision, New: m.template == c.template, Replicas: m.rs.Replicas}
		for _, p := range m.pods {
			switch {
			case p.Terminating:
				s.Terminating++
				continue
			case p.available(m.rs.MinReady, c.now):
				s.Available++
			}
			s.Pods++
			if p.Ready {
				s.Ready++
			}
		}
		step.Sets = append(step.Sets, s)
		step.Asked += s.Replicas
		step.Available += s.Available
	}
}
