package sim

import (
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Misdecide lets the cluster's Deployment be decided in another way, so that a
// test can prove that it would notice.
func (c *Cluster) Misdecide(commit func(*decision.Action)) {
	c.begin = func(s *deployment.Snapshot) core { return faulty{deployment.NewSync(s), commit} }
}

// faulty is a sync whose actions are not those that it decided on.
type faulty struct {
	*deployment.Sync
	commit func(*decision.Action)
}

func (f faulty) Decide() decision.Verdict {
	v := f.Sync.Decide()
	for i := range v.Actions {
		f.commit(&v.Actions[i])
	}
	return v
}

// FoldPods is how long a rollout takes in the model.
func FoldPods(s *deployment.Snapshot, took time.Duration, budget int64) (time.Duration, error) {
	f, err := simulatePods(s, took, budget)
	return f.at.Sub(s.Now), err
}
