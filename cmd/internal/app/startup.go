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

	mu   sync.Mutex
	took map[string]time.Duration
}

// run looks until everything is there, and tells the log.
func (s *startup) run(ctx context.Context, log *slog.Logger) {
	for !s.look(log) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(time.Second, max(startupEvery, time.Since(s.began)/50))):
		}
	}
	log.Info("Started", "after", time.Since(s.began).Round(time.Millisecond))
}

// look reports whether everything is there.
func (s *startup) look(log *slog.Logger) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over = true
	for _, step := range s.now() {
		switch _, before := s.took[step.Name]; {
		case before:
		case step.Done():
			s.took[step.Name] = time.Since(s.began)
			log.Debug("Started", "step", step.Name, "after", s.took[step.Name])
		default:
			over = false
		}
	}
	return over
}

// steps are all of them, with how long they took.
func (s *startup) steps() []telemetry.StartStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.now()
	for i := range list {
		if list[i].Took = s.took[list[i].Name]; list[i].Done() {
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
			step := telemetry.StartStep{Name: c.Resource, Took: there(c.Synced), Error: c.Error}
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

// blind are the caches that cannot be filled, or are no longer kept up to date.
func (a *App) blind() []telemetry.CacheState {
	var list []telemetry.CacheState
	for _, l := range a.cluster.loops {
		for _, c := range l.Filled() {
			if c.Error != "" && !slices.ContainsFunc(list, func(x telemetry.CacheState) bool { return x.Resource == c.Resource }) {
				list = append(list, c)
			}
		}
	}
	return list
}
