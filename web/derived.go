package web

import (
	"cmp"
	"sync"
	"time"

	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// maxDerived bounds what is remembered beside traces.
const maxDerived = 4096

// derivedCache is what was worked out of traces when somebody looked at them. It is safe
// for concurrent use.
type derivedCache[T any] struct {
	mu   sync.Mutex
	m    map[traceID]T
	most int // 0 for maxDerived
}

type traceID struct {
	epoch string
	seq   uint64
}

func (b *derivedCache[T]) get(t *telemetry.Trace) (T, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.m[traceID{t.Epoch, t.Seq}]
	return v, ok
}

func (b *derivedCache[T]) put(t *telemetry.Trace, v T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil || len(b.m) >= cmp.Or(b.most, maxDerived) {
		b.m = map[traceID]T{}
	}
	b.m[traceID{t.Epoch, t.Seq}] = v
}

// said is what is to be said of a trace now: its sentence, until the clock
// alone makes another of it.
func (s *Server) said(t *telemetry.Trace, now time.Time) decision.Sentence {
	if !outdated(t.Sentence, now) {
		return t.Sentence
	}
	if known, ok := s.says.get(t); ok && !outdated(known, now) {
		return known
	}
	again := s.sayAgain(t, now)
	s.says.put(t, again)
	return again
}

// estimate says when the rollout of a sync may complete; nil where none was under way.
// It is folded when the first reader asks.
func (s *Server) estimate(t *telemetry.Trace) *decision.Estimate {
	if e, ok := s.estimates.get(t); ok {
		return e
	}
	var e *decision.Estimate
	if snap, err := deploymentSnapshot(s.loops, t); err == nil && len(t.Rounds) > 0 {
		e = sim.Estimate(snap, t.Rounds[len(t.Rounds)-1].Learnt)
	}
	s.estimates.put(t, e)
	return e
}

func outdated(s decision.Sentence, now time.Time) bool {
	return !s.ChangesAt.IsZero() && !s.ChangesAt.After(now)
}

// sayAgain says the sentence of a sync as of now. Where the snapshot cannot be
// read, what was said stands.
func (s *Server) sayAgain(t *telemetry.Trace, now time.Time) decision.Sentence {
	again := t.Sentence
	if snap, err := t.Decided(s.loops); err == nil {
		again = tellAgain(snap.Begin(), t, now)
	}
	if outdated(again, now) { // It would turn again at once: the timer's own sync will say more.
		again.ChangesAt = time.Time{}
	}
	return again
}

// tellAgain runs the recorded sync and tells it as of now.
func tellAgain(core decision.Core, t *telemetry.Trace, now time.Time) decision.Sentence {
	s := decision.Sync{Core: core}
	s.Run(decision.Recorded(t.Rounds))
	if s.Report != nil && t.Report != nil {
		s.Report.Outcome = t.Report.Outcome
	}
	return s.Tell(t.Try, now).Sentence
}
