package replicaset_test

import (
	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/internal/agreement"
)

// contradictions are places of one sync that name different causes.
func contradictions(s *replicaset.Snapshot, rounds []decision.Round, sentence decision.Sentence) []string {
	a := agreement.Account{Diagnosis: replicaset.Found(s, rounds), Rounds: rounds, Sentence: sentence, Now: s.Now}
	return a.Contradictions()
}
