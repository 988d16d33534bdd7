package replay

import (
	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// turn is a recorded sync as the loops' own turns are, without what acts.
type turn interface {
	decide() decision.Verdict
	// learn overlays the snapshot with what a round had found out.
	learn(decision.Round, decision.Learnt)
	// end comes after the last round. What that one found out was not decided on
	// any more, but is there for the words.
	end()
	settle([]decision.Round) *decision.Report
	numbers() []decision.Fact
	say([]decision.Round, *decision.Report, decision.Try) decision.Sentence
}

// deploymentTurn begins without what the sync learnt: its snapshot is recorded
// at the end, with everything in it.
type deploymentTurn struct {
	s      *deployment.Snapshot
	all    decision.Learnt
	by     func(*deployment.Snapshot) decision.Verdict
	report deployment.Report
}

func newDeploymentTurn(s *deployment.Snapshot, by func(*deployment.Snapshot) decision.Verdict) *deploymentTurn {
	t := &deploymentTurn{s: s, all: s.Learnt, by: by}
	s.Learnt = decision.Learnt{}
	return t
}

func (t *deploymentTurn) decide() decision.Verdict { return t.by(t.s) }

func (t *deploymentTurn) learn(_ decision.Round, l decision.Learnt) { t.s.Learnt.Add(l) }

func (t *deploymentTurn) end() { t.s.Learnt = t.all }

func (t *deploymentTurn) settle(rounds []decision.Round) *decision.Report {
	t.report = deployment.Settle(t.s, rounds)
	return &t.report.Report
}

func (t *deploymentTurn) numbers() []decision.Fact { return deployment.Numbers(t.s) }

func (t *deploymentTurn) say(rounds []decision.Round, report *decision.Report, try decision.Try) decision.Sentence {
	if report == nil {
		return deployment.Say(t.s, rounds, nil, try)
	}
	return deployment.Say(t.s, rounds, &t.report, try)
}

// replicaSetTurn is a sync of anything in the form of a ReplicaSet. Its snapshot
// is recorded as it was before the first round.
type replicaSetTurn struct {
	s      *replicaset.Snapshot
	by     func(*replicaset.Snapshot) decision.Verdict
	report replicaset.Report
}

func (t *replicaSetTurn) decide() decision.Verdict { return t.by(t.s) }

func (t *replicaSetTurn) learn(r decision.Round, l decision.Learnt) { t.s = t.s.After(r, l) }

func (t *replicaSetTurn) end() {}

func (t *replicaSetTurn) settle(rounds []decision.Round) *decision.Report {
	t.report = replicaset.Settle(t.s, rounds)
	return &t.report.Report
}

func (t *replicaSetTurn) numbers() []decision.Fact { return replicaset.Numbers(t.s) }

func (t *replicaSetTurn) say(rounds []decision.Round, report *decision.Report, try decision.Try) decision.Sentence {
	if report == nil {
		return replicaset.Say(t.s, rounds, nil, try)
	}
	return replicaset.Say(t.s, rounds, &t.report, try)
}
