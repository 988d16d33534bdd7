package deployment_test

import (
	"github.com/loopscope/loopscope/controllers/agreement"
	"github.com/loopscope/loopscope/controllers/deployment"
)

// contradictions are places of one sync that name different causes.
func (p played) contradictions() []string {
	learnt := p.rounds[len(p.rounds)-1].Learnt
	a := agreement.Account{Diagnosis: deployment.Diagnose(p.snapshot, learnt), Rounds: p.rounds, Sentence: p.sentence, Estimate: p.estimate, Now: p.snapshot.Now}
	return a.Contradictions()
}
