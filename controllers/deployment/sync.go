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
	// aside is the write of annotations that it goes on without, as nobody acts.
	aside *decision.Action
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
	if ahead := x.ahead(rounds[len(rounds)-1]); ahead != nil {
		return ahead.Tell(try, now)
	}
	v := x.turn.view
	if !now.Equal(v.now) {
		v = newView(x.s, x.learnt, now)
	}
	var settled *Report
	if report != nil {
		settled = &Report{Report: *report, Status: x.report.Status}
	}
	p := newTeller(v, x.turn.end, rounds, settled, try)
	p.aside = x.aside
	return decision.Telling{Numbers: v.numbers(), Diagnosis: v.diagnosis().Worth(), Sentence: p.sentence()}
}

// ahead is the sync as it goes on without the annotations at which it ends, where nobody acts; nil where it does not end there.
// Whoever acts may know that they are not kept, and hold nothing up.
func (x *Sync) ahead(last decision.Round) *decision.Sync {
	if x.aside != nil || x.turn.leaf != leafStamps || len(last.Verdict.Actions) == 0 || len(last.Outcomes) > 0 {
		return nil
	}
	_, unkept := decision.Everything(last.Verdict)
	next := &Sync{s: x.s, learnt: x.learnt, aside: &last.Verdict.Actions[0]}
	next.learnt.Add(unkept)
	run := &decision.Sync{Core: next}
	run.Run(decision.Nobody)
	return run
}
