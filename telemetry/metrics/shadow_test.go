package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/loopscope/loopscope/telemetry"
)

// TestShadowMetrics: there are none in a process that acts, and all verdicts
// from the start in one that watches.
func TestShadowMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(registry, Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"loopscope_shadow_decisions_total", "loopscope_shadow_overdue"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(""), names...); err != nil {
		t.Errorf("acting: %v", err)
	}
	m.Shadow(func() telemetry.ShadowState {
		return telemetry.ShadowState{Questions: []telemetry.ShadowQuestion{
			{Question: "RR-2", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 7, telemetry.ShadowUnexplained: 1}},
			{Question: "RR-3b", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 2, telemetry.ShadowOverdue: 3}}}}
	})
	want := `# HELP loopscope_shadow_decisions_total Sizes that this process would have written, by how they compare with what another controller wrote.
# TYPE loopscope_shadow_decisions_total counter
loopscope_shadow_decisions_total{verdict="agrees"} 9
loopscope_shadow_decisions_total{verdict="cache-timing"} 0
loopscope_shadow_decisions_total{verdict="departure"} 0
loopscope_shadow_decisions_total{verdict="other-writer"} 0
loopscope_shadow_decisions_total{verdict="unexplained"} 1
# HELP loopscope_shadow_overdue Sizes that this process would have written and that nobody has written for longer than 5 seconds.
# TYPE loopscope_shadow_overdue gauge
loopscope_shadow_overdue 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
