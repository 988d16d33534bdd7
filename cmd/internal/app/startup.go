package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// startupEvery is how often the steps of the start that are not over are looked at, at first:
// what takes longer is told less exactly.
const startupEvery = 20 * time.Millisecond

// startup notes how long each step of the start took, so that a start that hangs says where.
type startup struct {
	began time.Time
	now   func() []telemetry.StartStep // as they are, without how long they took

	mu      sync.Mutex
	took    map[string]time.Duration
	skipped map[string]bool
}

// run looks until everything is there, and tells the log. What the API server does not serve
// it may serve later.
func (s *startup) run(ctx context.Context, log *slog.Logger) {
	for told := false; ; {
		over, skipped := s.look(log)
		if over && !told {
			told = true
			log.Info("Started", "after", time.Since(s.began).Round(time.Millisecond))
		}
		if over && !skipped {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(time.Second, max(startupEvery, time.Since(s.began)/50))):
		}
	}
}

// look reports whether nothing is waited for any more, and whether something is skipped.
func (s *startup) look(log *slog.Logger) (over, skipped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over = true
	for _, step := range s.now() {
		_, before := s.took[step.Name]
		switch {
		case before:
		case step.Skipped:
			if skipped = true; !s.skipped[step.Name] {
				s.skipped[step.Name] = true
				log.Warn("Skipped: the API server does not serve this resource. The loops that need it start as soon as it does", "resource", step.Name, "error", step.Error)
			}
		case step.Done():
			s.took[step.Name] = time.Since(s.began)
			log.Debug("Started", "step", step.Name, "after", s.took[step.Name])
			if s.skipped[step.Name] {
				log.Info("The API server serves this resource now", "resource", step.Name)
			}
		default:
			over = false
		}
	}
	return over, skipped
}

// steps are all of them, with how long they took.
func (s *startup) steps() []telemetry.StartStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.now()
	for i := range list {
		if list[i].Took = s.took[list[i].Name]; list[i].Took > 0 {
			list[i].Error = ""
		}
	}
	return list
}

// there is the Took of a step that is over, of which it is not known yet how long it took.
func there(is bool) time.Duration {
	if is {
		return 1
	}
	return 0
}

// startSteps are what the start of the loops waits for.
func (a *App) startSteps() []telemetry.StartStep {
	server := a.cluster.server()
	steps := []telemetry.StartStep{{Name: "API server", Took: there(a.cluster.served()), Error: server.Error}}
	for _, l := range a.cluster.loops {
		for _, c := range l.Filled() {
			step := telemetry.StartStep{Name: c.Resource, Took: there(c.Synced), Error: c.Error, Skipped: c.Unserved}
			if !slices.ContainsFunc(steps, func(s telemetry.StartStep) bool { return s.Name == step.Name }) {
				steps = append(steps, step)
			}
		}
	}
	if l := a.leadership(); l != nil {
		steps = append(steps, telemetry.StartStep{Name: "Lease", Took: there(l().Leader != ""), Error: l().Error})
	}
	return append(steps, telemetry.StartStep{Name: "loops", Took: there(a.cluster.ready())})
}

// blind are the caches that cannot be filled, or are no longer kept up to date, of what the
// API server serves.
func (a *App) blind() []telemetry.CacheState {
	var list []telemetry.CacheState
	for _, l := range a.cluster.loops {
		for _, c := range l.Filled() {
			if c.Error != "" && !c.Unserved && !slices.ContainsFunc(list, func(x telemetry.CacheState) bool { return x.Resource == c.Resource }) {
				list = append(list, c)
			}
		}
	}
	return list
}
