package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

var _ workqueue.MetricsProvider = (*Metrics)(nil)

// queueVecs is the metrics of work queues, by the queue's name.
type queueVecs struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	wait, work                 *prometheus.HistogramVec
}

func newQueueVecs() queueVecs {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "workqueue", Name: name, Help: help}, []string{"name"})
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "workqueue", Name: name, Help: help}, []string{"name"})
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "workqueue", Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(1e-8, 10, 10),
		}, []string{"name"})
	}
	return queueVecs{
		depth:      gauge("depth", "Keys that are ready for a worker."),
		adds:       counter("adds_total", "Adds that were not merged into an earlier one."),
		wait:       histogram("queue_duration_seconds", "How long a key was ready before a worker took it."),
		work:       histogram("work_duration_seconds", "How long a worker had a key."),
		unfinished: gauge("unfinished_work_seconds", "Seconds that the keys being processed have taken so far, summed twice a second."),
		longest:    gauge("longest_running_processor_seconds", "Seconds that the longest running key has taken so far, twice a second."),
		retries:    counter("retries_total", "Delayed adds: after failures, and by timers too."),
	}
}

func (v queueVecs) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.depth, v.adds, v.wait, v.work, v.unfinished, v.longest, v.retries}
}

// NewDepthMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return m.queues.depth.WithLabelValues(name)
}

// NewAddsMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return m.queues.adds.WithLabelValues(name)
}

// NewLatencyMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return m.queues.wait.WithLabelValues(name)
}

// NewWorkDurationMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return m.queues.work.WithLabelValues(name)
}

// NewUnfinishedWorkSecondsMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.queues.unfinished.WithLabelValues(name)
}

// NewLongestRunningProcessorSecondsMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.queues.longest.WithLabelValues(name)
}

// NewRetriesMetric is part of workqueue.MetricsProvider.
func (m *Metrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return m.queues.retries.WithLabelValues(name)
}
