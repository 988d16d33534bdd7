package replicaset

import "github.com/loopscope/loopscope/controllers/decision"

// Decide answers every question of one sync, in upstream's order.
func Decide(s *Snapshot) decision.Verdict { return decision.Verdict{Stop: true} }

// Settle computes the report after the last round.
func Settle(s *Snapshot, rounds []decision.Round) Report { return Report{} }

// Say builds the sentence of the sync. report is nil where nothing was settled.
func Say(s *Snapshot, rounds []decision.Round, report *Report, try decision.Try) decision.Sentence {
	return decision.Sentence{}
}

// Numbers are the key numbers of a ReplicaSet as facts of this sync.
func Numbers(s *Snapshot) []decision.Fact { return nil }
