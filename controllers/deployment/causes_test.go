package deployment_test

import (
	"github.com/loopscope/loopscope/controllers/agreement"
	"github.com/loopscope/loopscope/controllers/deployment"
)

// contradictions are places of one sync that name different causes.
func (p played) contradictions() []string {
	a := agreement.Account{Diagnosis: deployment.Diagnose(p.snapshot), Rounds: p.rounds, Sentence: p.sentence, Estimate: p.estimate, Now: p.snapshot.Now}
	return a.Contradictions()
}
