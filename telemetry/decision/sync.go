package decision

import "time"

// MaxRounds bounds how often one sync decides on the same snapshot.
const MaxRounds = 3

// Core is the pure part of one sync of one object. It holds the snapshot, which
// never changes, and beside it what acting on it has found out.
type Core interface {
	// Decide answers every question of a round.
	Decide() Verdict
	// Learn notes a round that was carried out, and what it found out.
	Learn(Round, Learnt)
	// Settle computes the report after the last round.
	Settle([]Round) *Report
	// Tell puts the sync into words and numbers as of now. report is nil where
	// nothing was settled.
	Tell(rounds []Round, report *Report, try Try, now time.Time) Telling
}

// Act carries out the actions of a verdict, and never chooses one. The outcomes are
// none where nobody acts.
type Act func(Verdict) ([]Outcome, Learnt)

// Sync is one sync, and the only place that knows the order of its steps: the
// loops, the model, replay and the console all run it, each with an Act of its own.
type Sync struct {
	Core Core
	// Rounds and Report are filled in by Run, and hold what was done so far where it
	// panics. Report is nil where the last round stopped.
	Rounds []Round
	Report *Report
}

// Run decides and acts, again while acting finds out something new, and settles.
func (s *Sync) Run(act Act) {
	var learnt Learnt
	for range MaxRounds {
		if !learnt.IsZero() {
			s.Core.Learn(s.Rounds[len(s.Rounds)-1], learnt)
		}
		round := Round{Learnt: learnt, Verdict: s.Core.Decide()}
		round.Outcomes, learnt = act(round.Verdict)
		s.Rounds = append(s.Rounds, round)
		if learnt.IsZero() {
			break
		}
	}
	if !s.Rounds[len(s.Rounds)-1].Verdict.Stop {
		s.Report = s.Core.Settle(s.Rounds)
	}
}

// Tell puts the sync into words and numbers as of now.
func (s *Sync) Tell(try Try, now time.Time) Telling {
	return s.Core.Tell(s.Rounds, s.Report, try, now)
}

// Nobody is the Act of who only asks what would be done.
func Nobody(Verdict) ([]Outcome, Learnt) { return nil, Learnt{} }

// unkept is all that an update writes of annotations and minReadySeconds.
func (a *Action) unkept() Unkept {
	if a.Kind != UpdateReplicaSet || a.Stamp == nil {
		return Unkept{}
	}
	return Unkept{Copy: a.Stamp.Copy, MinReady: a.MinReadySeconds != nil, Revision: a.Stamp.Revision}
}

// Everything is the Act of a model in which every write is taken. No echo is waited for where only annotations
// of a ReplicaSet are written: Kubernetes goes on in the same sync.
func Everything(v Verdict) ([]Outcome, Learnt) {
	outcomes := make([]Outcome, len(v.Actions))
	var learnt Learnt
	for i := range outcomes {
		a := &v.Actions[i]
		outcomes[i] = Outcome{State: Written, Done: a.Count}
		if lost := a.unkept(); lost != (Unkept{}) {
			learnt.Unkept = &lost
		}
	}
	return outcomes, learnt
}

// Recorded acts as the rounds of a recorded sync did.
func Recorded(rounds []Round) Act {
	next := 0
	return func(Verdict) (outcomes []Outcome, learnt Learnt) {
		if next < len(rounds) {
			outcomes = rounds[next].Outcomes
		}
		if next++; next < len(rounds) {
			learnt = rounds[next].Learnt
		}
		return outcomes, learnt
	}
}
