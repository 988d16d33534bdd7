package metrics

import "github.com/prometheus/client_golang/prometheus"

// spanVecs is the metrics of the export to OpenTelemetry.
type spanVecs struct{ exported, failed, missed prometheus.Counter }

func newSpanVecs() spanVecs {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "loopscope", Subsystem: "otlp", Name: name, Help: help})
	}
	return spanVecs{
		exported: counter("spans_exported_total", "Spans that the OpenTelemetry receiver took."),
		failed:   counter("spans_failed_total", "Spans that the OpenTelemetry receiver did not take, or not in time."),
		missed:   counter("syncs_missed_total", "Syncs of which no span was made, as the receiver was too slow for them."),
	}
}

func (v spanVecs) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.exported, v.failed, v.missed}
}

// SpansExported counts spans that were sent.
func (m *Metrics) SpansExported(n int) { m.spans.exported.Add(float64(n)) }

// SpansFailed counts spans that could not be sent.
func (m *Metrics) SpansFailed(n int) { m.spans.failed.Add(float64(n)) }

// SyncsMissed counts syncs of which no span was made.
func (m *Metrics) SyncsMissed(n uint64) { m.spans.missed.Add(float64(n)) }
