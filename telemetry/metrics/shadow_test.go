package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestShadowMetrics: there are none in a process that acts, and all verdicts
// from the start in one that watches.
func TestShadowMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(registry, Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"loopscope_shadow_compared_total", "loopscope_shadow_decisions_total", "loopscope_shadow_overdue"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(""), names...); err != nil {
		t.Errorf("acting: %v", err)
	}
	m.Shadow(func() telemetry.ShadowState {
		return telemetry.ShadowState{LeftOut: 4, Questions: []telemetry.ShadowQuestion{
			{Loop: "deployment", Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, Question: "RR-2", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 7, telemetry.ShadowUnexplained: 1}},
			{Question: "RR-3b", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 2, telemetry.ShadowOverdue: 3}}}}
	})
	want := `# HELP loopscope_shadow_compared_total The same by loop, what is decided, the kind of object that it is of, and the question whose answer led there. Only those that there were.
# TYPE loopscope_shadow_compared_total counter
loopscope_shadow_compared_total{aspect="",kind="",loop="",question="RR-3b",verdict="agrees"} 2
loopscope_shadow_compared_total{aspect="size",kind="ReplicaSet",loop="deployment",question="RR-2",verdict="agrees"} 7
loopscope_shadow_compared_total{aspect="size",kind="ReplicaSet",loop="deployment",question="RR-2",verdict="unexplained"} 1
# HELP loopscope_shadow_decisions_total Changes that another controller wrote, by how they compare with what this process would have written.
# TYPE loopscope_shadow_decisions_total counter
loopscope_shadow_decisions_total{verdict="agrees"} 9
loopscope_shadow_decisions_total{verdict="agrees-behind"} 0
loopscope_shadow_decisions_total{verdict="departure"} 0
loopscope_shadow_decisions_total{verdict="other-writer"} 0
loopscope_shadow_decisions_total{verdict="unexplained"} 1
loopscope_shadow_decisions_total{verdict="unsigned"} 0
# HELP loopscope_shadow_left_out_total Writes and events of another controller that agree with no sync here and were not looked at any further, as comparing has taken its share of a processor.
# TYPE loopscope_shadow_left_out_total counter
loopscope_shadow_left_out_total 4
# HELP loopscope_shadow_overdue Changes that this process would have written and that nobody has written for longer than 5 seconds, for creations and deletions counted from the last one of their kind, and after an outage of the API server from its end.
# TYPE loopscope_shadow_overdue gauge
loopscope_shadow_overdue 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
