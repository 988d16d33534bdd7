package replicaset_test

import (
	"github.com/loopscope/loopscope/controllers/agreement"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// contradictions are places of one sync that name different causes.
func (p played) contradictions() []string {
	s := p.snapshot
	for i := 1; i < len(p.rounds); i++ {
		s = s.After(p.rounds[i-1], p.rounds[i].Learnt)
	}
	a := agreement.Account{Diagnosis: replicaset.Found(s, p.rounds), Rounds: p.rounds, Sentence: p.sentence, Now: s.Now}
	return a.Contradictions()
}
