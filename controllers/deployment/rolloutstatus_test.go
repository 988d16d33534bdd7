package deployment_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestRolloutStatus(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*deployment.Snapshot)
	}{
		{"succeeds: the rollout is complete", func(*deployment.Snapshot) {}},
		{"waits: generation 4 is not observed yet", func(s *deployment.Snapshot) { s.Generation = 4 }},
		{"waits: 3 of 10 pods have the new template", func(s *deployment.Snapshot) { s.Status.Updated = 3 }},
		{"waits: 2 of 10 pods have the new template", func(s *deployment.Snapshot) {
			s.Status.Updated = 2
			s.Status.Conditions = []decision.Condition{{Type: "Progressing", Reason: "ReplicaSetUpdated"}, {Type: "Odd", Reason: "ProgressDeadlineExceeded"}}
		}},
		{"waits: 2 old pods are not gone yet", func(s *deployment.Snapshot) { s.Status.Replicas = 12 }},
		{"waits: 0 of 1 pod has the new template", func(s *deployment.Snapshot) { s.Want, s.Status.Updated = 1, 0 }},
		{"waits: 1 old pod is not gone yet", func(s *deployment.Snapshot) { s.Status.Replicas = 11 }},
		{"waits: 7 of 10 new pods are available", func(s *deployment.Snapshot) { s.Status.Available = 7 }},
		{"waits: 9 of 10 new pods are available", func(s *deployment.Snapshot) { s.Status.Available = 9 }},
		{"fails: the progress deadline has been exceeded", func(s *deployment.Snapshot) {
			s.Status.Updated = 3
			s.Status.Conditions = []decision.Condition{{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded"}}
		}},
	} {
		s := &deployment.Snapshot{Generation: 3, Want: 10, Status: deployment.Status{ObservedGeneration: 3, Replicas: 10, Updated: 10, Available: 10}}
		c.change(s)
		if got := deployment.RolloutStatus(s); got.At(s.Now) != c.want {
			t.Errorf("%q, want %q", got.At(s.Now), c.want)
		}
	}
}
