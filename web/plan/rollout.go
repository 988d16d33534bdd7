package plan

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
)

// Nothing says why there is nothing to plan.
func (p *rolloutProposal) Nothing() (why, command string) {
	if !p.From.Found || p.From.Deleting {
		return "is gone or being deleted", ""
	}
	return "", ""
}

// MostPods is how many pods there may be at once.
func (p *rolloutProposal) MostPods() int64 {
	return max(facts.Numbers(deployment.Numbers(p.From)).Or("ceiling"), sim.PodsIn(p.From))
}

func (p *rolloutProposal) next(f *simulator, changed bool) (simulation, error) {
	if !changed {
		return next(f, p.From, nil)
	}
	return next(f, p.From, p)
}

func (p *rolloutProposal) whole() func(*simulator, bool) (simulation, error) {
	return func(f *simulator, changed bool) (simulation, error) {
		if !changed {
			return whole(f, p.From, nil)
		}
		return whole(f, p.From, p)
	}
}

// next simulates a snapshot from now on, changed as the proposal says; nil stands
// for no change.
func next(f *simulator, s *deployment.Snapshot, p *rolloutProposal) (simulation, error) {
	base := *s
	base.Lag, base.Held = 0, time.Time{}
	if p != nil {
		base.ReplicaSets = p.mended()
	}
	c, err := sim.From(&base)
	if err != nil {
		return simulation{}, err
	}
	c.Rules.Refuse = f.refuse
	steady := pace(c, s.Want)
	for _, pod := range comingPods(base.ReplicaSets) {
		c.Edit(sim.Pod(pod, sim.ReadyAfter(steady.next())))
	}
	if p != nil {
		c.Edit(p.edits()...)
		for _, x := range p.Pods {
			if x.Fails {
				c.Edit(sim.Pod(x.Name, sim.Stuck("CrashLoopBackOff")))
			}
		}
	}
	x, err := f.simulate(c)
	if deadline := c.Snapshot().Deadline; deadline != nil {
		x.deadline = time.Duration(*deadline) * time.Second
	}
	return x, err
}

// mended are the ReplicaSets with the chosen pods on their way up.
func (p *rolloutProposal) mended() []deployment.ReplicaSet {
	sets := slices.Clone(p.From.ReplicaSets)
	for i := range sets {
		sets[i].Blocking = slices.Clone(sets[i].Blocking)
		for j := range sets[i].Blocking {
			pod := &sets[i].Blocking[j]
			chosen := slices.ContainsFunc(p.Pods, func(x views.WhatIfPod) bool { return x.Name == pod.Name && x.Ready })
			if (chosen || p.All != nil && p.All.Ready) && !pod.Ready {
				pod.Reason, pod.Message = "ContainerCreating", ""
			}
		}
	}
	return sets
}

// comingPods are the pods that become ready by themselves, the oldest first.
func comingPods(sets []deployment.ReplicaSet) []string {
	var pods []deployment.Pod
	for i := range sets {
		for _, p := range sets[i].Blocking {
			if !p.Ready && sim.Passing(p.Reason) {
				pods = append(pods, p)
			}
		}
	}
	slices.SortStableFunc(pods, func(a, b deployment.Pod) int { return a.Created.Compare(b.Created) })
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
	}
	return names
}

// whole simulates a rollout of a new template from its beginning, in which every pod
// becomes ready: all old pods are there and available before it.
func whole(f *simulator, s *deployment.Snapshot, p *rolloutProposal) (simulation, error) {
	base := *s
	base.Lag, base.Held, base.ReplicaSets, base.Paused, base.RollbackTo = 0, time.Time{}, nil, false, ""
	base.Status, base.Echo = deployment.Status{}, nil
	if p != nil {
		base.Want, base.MaxSurge, base.MaxUnavailable = p.to.Want, p.to.MaxSurge, p.to.MaxUnavailable
		base.MinReady, base.Deadline = p.to.MinReady, p.to.Deadline
	}
	c, err := sim.From(&base)
	if err != nil {
		return simulation{}, err
	}
	if r, err := f.run(c, MostSyncs/10/simulationSlice, func(*sim.Result) {}); err != nil || r.End != sim.Complete {
		return simulation{cut: true, end: r}, err
	}
	pace(c, base.Want)
	c.Edit(sim.Images("the-template-that-follows"))
	return f.simulate(c)
}
