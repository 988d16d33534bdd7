package replicaset

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Sync is one sync of a ReplicaSet, or of anything in the form of one: the
// decision.Core of the loop. It is not safe for concurrent use.
type Sync struct {
	s      *Snapshot // as observed, with what earlier rounds did and found out
	leaf   leaf      // of the last round
	report Report
}

// NewSync begins a sync on a snapshot, which it never changes.
func NewSync(s *Snapshot) *Sync { return &Sync{s: s} }

// Decide answers every question of one round, in upstream's order.
func (x *Sync) Decide() decision.Verdict {
	t := newDecider(x.s)
	t.decide()
	x.leaf = t.leaf
	return t.v
}

// Learn notes what a round did, and what it found out.
func (x *Sync) Learn(r decision.Round, l decision.Learnt) { x.s = x.s.After(r, l) }

// Settle computes the report after the last round.
func (x *Sync) Settle(rounds []decision.Round) *decision.Report {
	x.report = settle(x.s, rounds)
	report := x.report.Report // A copy: a record must not keep the snapshot alive.
	return &report
}

// Report is what Settle computed, with the status to publish.
func (x *Sync) Report() *Report { return &x.report }

// Tell puts the sync into words and numbers as of now.
func (x *Sync) Tell(rounds []decision.Round, report *decision.Report, try decision.Try, now time.Time) decision.Telling {
	s := x.s
	if !now.Equal(s.Now) {
		later := *s
		later.Now = now
		s = &later
	}
	s = s.knowing(rounds)
	var turns time.Time
	waiting := diagnose(s, nil, &turns) // Once for all three: it looks at every pod.
	return decision.Telling{
		Numbers:   numbers(s, waiting),
		Diagnosis: found(s, rounds, waiting).Worth(),
		Sentence:  say(s, waiting, turns, x.leaf, rounds, report, try),
	}
}
