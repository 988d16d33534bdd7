package sim

import (
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// estimateUpdate says when a rolling update may complete, or why nobody can know; nil where
// none is under way, or where its sentence says all: it is held by somebody or taken back.
func estimateUpdate(s *rollingupdate.Snapshot) *decision.Estimate {
	if s.New == nil || s.Request == nil || s.Request.Paused || s.Request.Abort || len(s.Echo) > 0 {
		return nil
	}
	x := decision.Sync{Core: s.Begin()}
	x.Run(decision.Nobody)
	told := x.Tell(decision.Try{}, s.Now)
	for i := range told.Diagnosis.Findings {
		if f := &told.Diagnosis.Findings[i]; f.NeedsAction {
			return deployment.Unresolved(f.Code)
		}
	}
	if told.Sentence.Tone == decision.ToneFailed || told.Sentence.Code == "rescaled" {
		return nil
	}
	startup, why := startupOf(s.New, s.Now)
	if startup == nil {
		return why
	}
	soonest, steps := updateEnds(s, startup.Fastest)
	latest, most := updateEnds(s, startup.Slowest)
	if steps == 0 || most == 0 {
		return nil
	}
	return deployment.Completes(s.Now, soonest, latest, most, startup)
}

// startupOf is how long its pods took to become ready, or why that says nothing of the others.
func startupOf(c *rollingupdate.Controller, now time.Time) (*deployment.StartupTimes, *decision.Estimate) {
	var t deployment.StartupTimes
	var longestWait time.Duration
	for i := range c.Pods {
		p := &c.Pods[i]
		took := p.ReadySince.Sub(p.Created)
		switch {
		case !p.Ready && !passing[p.Reason]:
			return nil, nil // What keeps it is said of it.
		case !p.Ready:
			longestWait = max(longestWait, now.Sub(p.Created))
		case took >= 0:
			if t.Pods == 0 || took < t.Fastest {
				t.Fastest = took
			}
			t.Slowest, t.Pods = max(t.Slowest, took), t.Pods+1
		}
	}
	switch {
	case t.Pods == 0:
		return nil, deployment.NoBasis()
	case longestWait > t.Slowest+time.Second: // Kubernetes writes whole seconds.
		return nil, deployment.Slower()
	}
	return &t, nil
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
