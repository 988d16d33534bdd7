package deployment_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestEstimateOfUncounted: as long as it is usual that a status is behind, the rollout goes on in its own time.
func TestEstimateOfUncounted(t *testing.T) {
	var s deployment.Snapshot
	unmarshal(t, readGolden(t, "testdata/golden/uncounted.txtar").snapshot, &s)
	for ago, want := range map[time.Duration]string{0: "", 9 * time.Second: "", 11 * time.Second: diagnosis.Uncounted} {
		s.LastProgress = s.Now.Add(-ago)
		startup, e := deployment.Outlook(&s, decision.Learnt{})
		if got := e != nil && e.Code == want; got != (want != "") || (startup == nil) != got {
			t.Errorf("%s after the last progress: %+v, %+v", ago, startup, e)
		}
	}
}
