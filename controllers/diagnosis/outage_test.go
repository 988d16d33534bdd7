package diagnosis_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/diagnosis"
)

// TestDone: what still has to be done names the kind of the write.
func TestDone(t *testing.T) {
	for kind, want := range map[decision.ActionKind]string{
		decision.CreateReplicaSet: "created", decision.DeleteReplicaSet: "deleted", decision.UpdateReplicaSet: "written",
		decision.UpdateDeployment: "written", decision.Adopt: "adopted", decision.Release: "released",
		decision.CreatePods: "created", decision.DeletePods: "deleted", "": "written",
	} {
		if got := diagnosis.Done(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
