package web

import (
	"sync"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
)

// maxSaid bounds the sentences that are remembered beside their traces.
const maxSaid = 4096

// sayings are sentences that the clock has changed since their sync, by its
// number. The loops' own packages say them again from the recorded snapshot.
type sayings struct {
	mu sync.Mutex
	m  map[uint64]decision.Sentence
}

// said is what is to be said of a trace now: its sentence, until the clock
// alone makes another of it.
func (s *Server) said(t *telemetry.Trace, now time.Time) decision.Sentence {
	if !turned(t.Sentence, now) {
		return t.Sentence
	}
	s.says.mu.Lock()
	known, ok := s.says.m[t.Seq]
	s.says.mu.Unlock()
	if ok && !turned(known, now) {
		return known
	}
	again := sayAgain(t, now)
	s.says.mu.Lock()
	defer s.says.mu.Unlock()
	if s.says.m == nil || len(s.says.m) >= maxSaid {
		s.says.m = map[uint64]decision.Sentence{}
	}
	s.says.m[t.Seq] = again
	return again
}

func turned(s decision.Sentence, now time.Time) bool { return !s.Turns.IsZero() && !s.Turns.After(now) }

// sayAgain says the sentence of a sync as of now. Where the snapshot cannot be
// read, what was said stands.
func sayAgain(t *telemetry.Trace, now time.Time) decision.Sentence {
	again := t.Sentence
	if snap, err := deploymentSnapshot(t); err == nil {
		again = tellAgain(deployment.NewSync(snap), t, now)
	} else if snap, err := replicaSetSnapshot(t); err == nil {
		again = tellAgain(replicaset.NewSync(snap), t, now)
	}
	if turned(again, now) { // It would turn again at once: the timer's own sync will say more.
		again.Turns = time.Time{}
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
