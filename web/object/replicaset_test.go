package object

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// The row of a pod that the cluster ended says how, and not how its container ended of it.
func TestPodOfADisruption(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 42, 53, 0, time.UTC)
	for want, d := range map[string]*decision.Disruption{
		"Error":                          nil,
		"Evicted, The node was low on m": {Reason: "Evicted", Target: "TerminationByKubelet", Message: "The node was low on m"},
		"PreemptionByScheduler":          {Target: "PreemptionByScheduler"},
	} {
		p := replicaset.Pod{Name: "web-a", Mine: true, Phase: "Failed", Node: "n", Reason: "Error", Disruption: d}
		got, available := podOf(&replicaset.Snapshot{Now: now}, &p)
		if got.Why.String() != want || got.State.Word != "failed" || available {
			t.Errorf("it says %q, %q, want %q", got.State.Word, got.Why, want)
		}
	}
}
