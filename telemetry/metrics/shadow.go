package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
)

// shadowMetrics reads once a scrape how decisions compare with those of another
// controller. There are no series in a process that acts.
type shadowMetrics struct {
	read               atomic.Pointer[func() telemetry.ShadowState]
	decisions, overdue *prometheus.Desc
}

func newShadowMetrics() *shadowMetrics {
	return &shadowMetrics{
		decisions: prometheus.NewDesc("loopscope_shadow_decisions_total", "Sizes that this process would have written, by how they compare with what another controller wrote.", []string{"verdict"}, nil),
		overdue:   prometheus.NewDesc("loopscope_shadow_overdue", "Sizes that this process would have written and that nobody has written for longer than 5 seconds.", nil, nil),
	}
}

// Describe tells the registry what there can be.
func (s *shadowMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- s.decisions
	to <- s.overdue
}

// Collect reads the state once, so that the series of a scrape belong together.
func (s *shadowMetrics) Collect(to chan<- prometheus.Metric) {
	read := s.read.Load()
	if read == nil {
		return
	}
	state := (*read)()
	for _, v := range telemetry.ShadowVerdicts {
		n := float64(state.Count(v))
		if v == telemetry.ShadowOverdue {
			to <- prometheus.MustNewConstMetric(s.overdue, prometheus.GaugeValue, n)
			continue
		}
		to <- prometheus.MustNewConstMetric(s.decisions, prometheus.CounterValue, n, string(v))
	}
}

// Shadow says where the loopscope_shadow_ metrics are read from at a scrape.
// Before it is called there are none.
func (m *Metrics) Shadow(read func() telemetry.ShadowState) { m.shadow.read.Store(&read) }
