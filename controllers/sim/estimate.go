package sim

import (
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// EstimateOf is the estimate of a snapshot of any loop, after the last round of its sync; nil for
// one of which nothing is known ahead, as where a write failed.
func EstimateOf(s decision.Snapshot, last decision.Round) *decision.Estimate {
	if last.Failed() != nil {
		return nil
	}
	switch x := s.(type) {
	case *deployment.Snapshot:
		return Estimate(x, last.Learnt)
	case *rollingupdate.Snapshot:
		return estimateUpdate(x)
	}
	return nil
}

// AsOf is an estimate as it is told at a later moment; see deployment.AsOf.
func AsOf(e *decision.Estimate, at time.Time) *decision.Estimate { return deployment.AsOf(e, at) }

// Estimate says when the rollout of a recorded snapshot may complete, or why nobody
// can know; nil where none is under way. The loops are folded twice: over pods that
// take as long as the fastest of their template did, and as long as the slowest.
// It decides nothing.
func Estimate(s *deployment.Snapshot, learnt decision.Learnt) *decision.Estimate {
	startup, why := deployment.Outlook(s, learnt)
	if startup == nil {
		return why
	}
	soonest, err := simulatePods(s, startup.Fastest, budget)
	if err != nil {
		return deployment.TooLarge()
	}
	latest, _ := simulatePods(s, startup.Slowest, budget) // It has as many pods as before.
	if soonest.endless || latest.endless {
		return deployment.TooFar()
	}
	to := latest.at
	if to.Before(soonest.at) { // By no more than a status that was held back.
		to = soonest.at
	}
	return deployment.Completes(s.Now, soonest.at, to, latest.steps, startup)
}

// estimateRun is how a rollout went in the model.
type estimateRun struct {
	at    time.Time // when its last new pod is available
	steps int64     // how often it waited for pods
	// endless is set where they never come.
	endless bool
}

// budget bounds the work of one fold, in pods looked at: the page of somebody waits for it.
const budget = 20_000

// simulatePods lets new pods become ready that long after they were created. Where that is
// more work than the budget, what is left is taken to go on at the same pace. It is an
// error if there are more pods than a Cluster may have.
func simulatePods(s *deployment.Snapshot, took time.Duration, budget int64) (estimateRun, error) {
	c, err := From(s)
	if err != nil {
		return estimateRun{}, err
	}
	c.Rules.Fate = func(string, int) Fate { return ReadyAfter(took) }
	c.startPods(took)
	var began Step
	c.measure(&began)
	first := newAvailable(&began)
	r := c.Run(Bound{Syncs: int(max(24, budget/(began.Asked+s.Want+1))), Time: longest})
	f, available := estimateRun{at: r.Began}, first
	for i := range r.Steps {
		n := newAvailable(&r.Steps[i])
		if n > available && r.Steps[i].At.After(f.at) {
			f.steps++
		}
		if n > available {
			f.at = r.Steps[i].At
		}
		available = n
	}
	f.steps = max(1, f.steps)
	switch {
	case available >= s.Want:
		return f, nil
	case r.End != Unsettled || available <= first:
		f.endless = true
		return f, nil
	}
	more := float64(s.Want-first) / float64(available-first)
	f.at = r.Began.Add(time.Duration(min(more*float64(f.at.Sub(r.Began)), float64(longest))))
	f.steps = int64(more * float64(f.steps))
	return f, nil
}

// longest is how far a fold may go: farther than any estimate is told.
const longest = 2 * 365 * 24 * time.Hour

// startPods lets the new pods become ready that long after they were created, and
// those of old templates that are not ready stay so.
func (c *Cluster) startPods(took time.Duration) {
	delete(c.fates, c.template)
	for _, m := range c.sets {
		for _, p := range m.pods {
			switch {
			case p.Ready || p.Terminating:
			case m.template != c.template:
				p.at = time.Time{}
			default:
				p.fate, p.Reason, p.at = ReadyAfter(took), "", p.Created.Add(took)
				if p.Node == "" {
					p.Node = c.node()
				}
			}
		}
	}
}

// newAvailable is how many pods of the wanted template are available.
func newAvailable(s *Step) int64 {
	n := int64(0)
	for _, set := range s.Sets {
		if set.New {
			n += set.Available
		}
	}
	return n
}
