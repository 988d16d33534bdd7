package sim

import (
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// estimateUpdate says when a rolling update may complete; nil where none is under way, where
// it is held or taken back, or where no new pod has become ready yet.
func estimateUpdate(s *rollingupdate.Snapshot) *decision.Estimate {
	if s.New == nil || s.Request == nil || s.Request.Paused || s.Request.Abort || len(s.Echo) > 0 {
		return nil
	}
	startup := startupOf(s.New, s.Now)
	if startup == nil {
		return nil
	}
	soonest, steps := updateEnds(s, startup.Fastest)
	latest, most := updateEnds(s, startup.Slowest)
	if steps == 0 || most == 0 {
		return nil
	}
	return deployment.Completes(s.Now, soonest, latest, most, startup)
}

// startupOf is how long its pods took to become ready; nil where none has, or where one
// takes longer than any before it.
func startupOf(c *rollingupdate.Controller, now time.Time) *deployment.StartupTimes {
	var t deployment.StartupTimes
	var longestWait time.Duration
	for i := range c.Pods {
		p := &c.Pods[i]
		took := p.ReadySince.Sub(p.Created)
		switch {
		case !p.Ready && !passing[p.Reason]:
			return nil
		case !p.Ready:
			longestWait = max(longestWait, now.Sub(p.Created))
		case took >= 0:
			if t.Pods == 0 || took < t.Fastest {
				t.Fastest = took
			}
			t.Slowest, t.Pods = max(t.Slowest, took), t.Pods+1
		}
	}
	if t.Pods == 0 || longestWait > t.Slowest+time.Second { // Kubernetes writes whole seconds.
		return nil
	}
	return &t
}

// updateEnds is when an update ends whose new pods take that long, and how often it scales
// until then; 0 where it does not end, or where that is too much work.
func updateEnds(s *rollingupdate.Snapshot, took time.Duration) (at time.Time, steps int64) {
	c, err := FromRollingUpdate(s)
	if err != nil {
		return time.Time{}, 0
	}
	c.Rules.Fate = func(string, int) Fate { return ReadyAfter(took) }
	for i := range s.New.Pods {
		if p := &s.New.Pods[i]; !p.Ready {
			c.Edit(Pod(p.Name, ReadyAfter(max(0, p.Created.Add(took).Sub(c.now)))))
		}
	}
	r := c.Run(Bound{Syncs: int(max(24, updateBudget/int64(c.count()+1))), Time: longest})
	if r.End != Complete {
		return time.Time{}, 0
	}
	for i := range r.Steps {
		for _, a := range r.Steps[i].Round.Verdict.Actions {
			if a.Kind == decision.Scale && r.Steps[i].Leads() {
				steps++
			}
		}
	}
	return r.Ended, steps
}

// updateBudget bounds the work of one fold, in pods looked at, as budget does. Each step of an
// update takes several syncs.
const updateBudget = 5 * budget
