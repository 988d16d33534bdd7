package rollingupdate

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Sync is one sync of a rolling update: the decision.Core of the loop. It is not safe for
// concurrent use.
type Sync struct {
	s    *Snapshot
	last *decider // of the last round
}

// NewSync begins a sync on a snapshot, which it never changes.
func NewSync(s *Snapshot) *Sync { return &Sync{s: s} }

// Decide answers every question of one round.
func (x *Sync) Decide() decision.Verdict {
	x.last = newDecider(x.s)
	x.last.decide()
	return x.last.v
}

// Learn is for nothing: this loop finds out nothing that it would decide on at once.
func (*Sync) Learn(decision.Round, decision.Learnt) {}

// Settle has nothing to publish but events: the conditions are writes of their own, as they
// stand in two objects.
func (x *Sync) Settle(rounds []decision.Round) *decision.Report {
	report := &decision.Report{Events: x.last.events(rounds)}
	report.Path.Ask("RU-9.events", len(report.Events) > 0, decision.Count("events", int64(len(report.Events))))
	return report
}

// Tell puts the sync into words and numbers as of now.
func (x *Sync) Tell(rounds []decision.Round, _ *decision.Report, try decision.Try, now time.Time) decision.Telling {
	later := *x.last
	s := *x.s
	s.Now = now
	later.s = &s
	var next time.Time
	waiting := later.diagnosis(&next)
	return decision.Telling{Numbers: later.numbers(waiting), Diagnosis: waiting.Worth(), Sentence: later.say(waiting, next, rounds, try)}
}

// Message is what a condition of that reason says in words: to is what is updated to, and why
// what is wrong with the request.
func Message(reason, to, why string) string {
	if reason == reasonInvalid {
		to = why
	}
	return message(messages[reason], to)
}

// Why is what is wrong with the request, as of the last round; "" for nothing.
func (x *Sync) Why() string { return x.last.v.Invalid }
