package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What loops declare is counted under its name, which two of them may share, and not in a program that has
// controllers of its own.
func TestMeasures(t *testing.T) {
	ratio := decision.Measure{Name: "upstream_ratio", Help: "A ratio.", Buckets: []float64{1, 2},
		Of: func(_ []decision.Round, decided func() decision.Snapshot) []decision.Measured {
			if decided() != nil {
				t.Error("there is no snapshot to read")
			}
			return []decision.Measured{{Value: 1}, {Value: 4}}
		}}
	skips := decision.Measure{Name: "upstream_skips_total", Help: "Skips.", Labels: []string{"resource"}, Known: [][]string{{"pods"}, {"sets"}},
		Of: func([]decision.Round, func() decision.Snapshot) []decision.Measured {
			return []decision.Measured{{Labels: []string{"sets"}, Value: 1}}
		}}
	loops := decision.Loops{{Name: "a", Measures: []decision.Measure{ratio, skips}}, {Name: "b", Measures: []decision.Measure{ratio}}, {Name: "c"}}
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, Options{Loops: loops})
	if err != nil {
		t.Fatal(err)
	}
	for _, loop := range []string{"a", "b", "c", "d"} {
		m.Observe(&telemetry.Trace{Object: telemetry.Object{Loop: loop}, Result: telemetry.ResultWrote, Rounds: []decision.Round{{}}})
		m.Observe(&telemetry.Trace{Object: telemetry.Object{Loop: loop}, Result: telemetry.ResultFailed}) // It could not be observed.
	}
	compare(t, reg, `# HELP upstream_ratio A ratio.
# TYPE upstream_ratio histogram
upstream_ratio_bucket{le="1"} 2
upstream_ratio_bucket{le="2"} 2
upstream_ratio_bucket{le="+Inf"} 4
upstream_ratio_sum 10
upstream_ratio_count 4
# HELP upstream_skips_total Skips.
# TYPE upstream_skips_total counter
upstream_skips_total{resource="pods"} 0
upstream_skips_total{resource="sets"} 1
`, "upstream_ratio", "upstream_skips_total")
	if _, err := New(prometheus.NewRegistry(), Options{Loops: loops, Embedded: true}); err != nil {
		t.Error(err)
	}
}
