package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
)

// shadowMetrics reads once a scrape how decisions compare with those of another
// controller. There are no series in a process that acts.
type shadowMetrics struct {
	read                         atomic.Pointer[func() telemetry.ShadowState]
	decisions, overdue, compared *prometheus.Desc
	leftOut                      *prometheus.Desc
}

func newShadowMetrics() *shadowMetrics {
	return &shadowMetrics{
		decisions: prometheus.NewDesc("loopscope_shadow_decisions_total", "Changes that another controller wrote, by how they compare with what this process would have written.", []string{"verdict"}, nil),
		overdue:   prometheus.NewDesc("loopscope_shadow_overdue", "Changes that this process would have written and that nobody has written for longer than 5 seconds, for creations and deletions counted from the last one of their kind, and after an outage of the API server from its end.", nil, nil),
		compared:  prometheus.NewDesc("loopscope_shadow_compared_total", "The same by loop, what is decided, the kind of object that it is of, and the question whose answer led there. Only those that there were.", []string{"loop", "aspect", "kind", "question", "verdict"}, nil),
		leftOut:   prometheus.NewDesc("loopscope_shadow_left_out_total", "Writes and events of another controller that agree with no sync here and were not looked at any further, as comparing has taken its share of a processor.", nil, nil),
	}
}

// Describe tells the registry what there can be.
func (s *shadowMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- s.decisions
	to <- s.overdue
	to <- s.compared
	to <- s.leftOut
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
	to <- prometheus.MustNewConstMetric(s.leftOut, prometheus.CounterValue, float64(state.LeftOut))
	for _, q := range state.Questions {
		for v, n := range q.Counts {
			if v != telemetry.ShadowOverdue {
				to <- prometheus.MustNewConstMetric(s.compared, prometheus.CounterValue, float64(n), q.Loop, string(q.Aspect), q.Of, q.Question, string(v))
			}
		}
	}
}

// Shadow says where the loopscope_shadow_ metrics are read from at a scrape.
// Before it is called there are none.
func (m *Metrics) Shadow(read func() telemetry.ShadowState) { m.shadow.read.Store(&read) }
