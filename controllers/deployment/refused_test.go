package deployment_test

import (
	"slices"
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestRefused: what the Deployment itself says was refused is nothing that nobody has written, nor is the
// status that its controller would write after it ([N-5]).
func TestRefused(t *testing.T) {
	created, other := 0, 0
	for _, file := range goldenFiles(t) {
		s, err := deployment.Decode(readGolden(t, file).snapshot)
		if err != nil {
			t.Fatal(err)
		}
		s.Status.Conditions = slices.DeleteFunc(s.Status.Conditions, func(c decision.Condition) bool { return c.Type == "Progressing" })
		for _, x := range foretold(s) {
			if refused(s, &x) {
				t.Errorf("%s: nothing says so, and it is refused: %+v", file, x)
			}
		}
		s.Status.Conditions = append(s.Status.Conditions, decision.Condition{Type: "Progressing", Status: "False", Reason: "ReplicaSetCreateError"})
		list := foretold(s)
		creates := slices.ContainsFunc(list, func(x decision.Prediction) bool { return x.Aspect == decision.AspectCreation })
		for _, x := range list {
			if creates {
				created++
			} else {
				other++
			}
			if refused(s, &x) != creates {
				t.Errorf("%s: it creates a ReplicaSet, %t, and was refused to: %+v", file, creates, x)
			}
		}
	}
	if created == 0 || other == 0 {
		t.Errorf("%d and %d predictions", created, other)
	}
}

// foretold is what a process that only watches says is to be written.
func foretold(s *deployment.Snapshot) []decision.Prediction {
	x := decision.Sync{Core: s.Begin()}
	x.Run(decision.Nobody)
	return deployment.Loop.Foretell(s.Name, &x.Rounds[len(x.Rounds)-1].Verdict, x.Report)
}

func refused(s decision.Snapshot, p *decision.Prediction) bool {
	snapshot, refuses := s.(decision.Refusing)
	return refuses && snapshot.Refused(p)
}
