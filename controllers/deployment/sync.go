package deployment

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Sync is one sync of a Deployment: the decision.Core of the loop. It is not safe
// for concurrent use.
type Sync struct {
	s      *Snapshot
	learnt decision.Learnt
	turn   *decider // of the last round
	report Report
}

// NewSync begins a sync on a snapshot, which it never changes.
func NewSync(s *Snapshot) *Sync { return &Sync{s: s} }

// Decide answers every question of one round, in upstream's order.
func (x *Sync) Decide() decision.Verdict {
	x.turn = newDecider(newView(x.s, x.learnt, x.s.Now))
	x.turn.decide()
	return x.turn.verdict
}

// Learn notes what a round has found out.
func (x *Sync) Learn(_ decision.Round, l decision.Learnt) { x.learnt.Add(l) }

// Settle computes the report after the last round.
func (x *Sync) Settle(rounds []decision.Round) *decision.Report {
	x.report = settle(x.turn, rounds)
	report := x.report.Report // A copy: a record must not keep the snapshot alive.
	return &report
}

// Report is what Settle computed, with the status to publish.
func (x *Sync) Report() *Report { return &x.report }

// Tell puts the sync into words and numbers as of now, from one look at the snapshot.
func (x *Sync) Tell(rounds []decision.Round, report *decision.Report, try decision.Try, now time.Time) decision.Telling {
	v := x.turn.view
	if !now.Equal(v.now) {
		v = newView(x.s, x.learnt, now)
	}
	var settled *Report
	if report != nil {
		settled = &Report{Report: *report, Status: x.report.Status}
	}
	p := newTeller(v, x.turn.end, rounds, settled, try)
	return decision.Telling{Numbers: v.numbers(), Diagnosis: v.diagnosis().Worth(), Sentence: p.sentence()}
}
