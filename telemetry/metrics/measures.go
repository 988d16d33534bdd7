package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// measures are the metrics that loops declare. Loops that declare one of the same name share it.
type measures struct {
	loops decision.Loops
	add   map[string]func(decision.Measured) // by name
	all   []prometheus.Collector
}

func newMeasures(loops decision.Loops) measures {
	m := measures{loops: loops, add: map[string]func(decision.Measured){}}
	for _, l := range loops {
		for _, one := range l.Measures {
			if m.add[one.Name] == nil {
				m.declare(one)
			}
		}
	}
	return m
}

func (m *measures) declare(one decision.Measure) {
	if one.Buckets != nil {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: one.Name, Help: one.Help, Buckets: one.Buckets})
		m.add[one.Name] = func(d decision.Measured) { h.Observe(d.Value) }
		m.all = append(m.all, h)
		return
	}
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: one.Name, Help: one.Help}, one.Labels)
	for _, labels := range one.Known {
		c.WithLabelValues(labels...)
	}
	m.add[one.Name] = func(d decision.Measured) { c.WithLabelValues(d.Labels...).Add(d.Value) }
	m.all = append(m.all, c)
}

// observe adds what a sync comes to.
func (m *measures) observe(t *telemetry.Trace) {
	if len(t.Rounds) == 0 {
		return
	}
	decided := func() decision.Snapshot {
		s, err := t.Decided(m.loops)
		if err != nil {
			return nil
		}
		return s
	}
	for _, one := range m.loops.Of(t.Loop).Measures {
		for _, d := range one.Of(t.Rounds, decided) {
			m.add[one.Name](d)
		}
	}
}
