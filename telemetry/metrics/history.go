package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
)

// historyMetrics reads the state of a history once a scrape. There are no series
// where no history is kept.
type historyMetrics struct {
	read atomic.Pointer[func() telemetry.ArchiveState]
	list []historyMetric
}

type historyMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(telemetry.ArchiveState) float64
}

func newHistoryMetrics() *historyMetrics {
	h := &historyMetrics{}
	add := func(name, help string, kind prometheus.ValueType, value func(telemetry.ArchiveState) float64) {
		h.list = append(h.list, historyMetric{prometheus.NewDesc("loopscope_history_"+name, help, nil, nil), kind, value})
	}
	add("syncs", "Syncs that the history holds.", prometheus.GaugeValue, func(s telemetry.ArchiveState) float64 { return float64(s.Kept) })
	add("size_bytes", "Bytes that the history takes on the disk.", prometheus.GaugeValue, func(s telemetry.ArchiveState) float64 { return float64(s.Bytes) })
	add("limit_bytes", "Bytes that the history may take.", prometheus.GaugeValue, func(s telemetry.ArchiveState) float64 { return float64(s.MaxBytes) })
	add("oldest_timestamp_seconds", "When the oldest sync of the history started, 0 while there is none.", prometheus.GaugeValue, func(s telemetry.ArchiveState) float64 {
		if s.Oldest.IsZero() {
			return 0
		}
		return float64(s.Oldest.UnixMilli()) / 1000
	})
	add("failing", "Whether syncs are not kept for now, as the file cannot be had or written.", prometheus.GaugeValue, func(s telemetry.ArchiveState) float64 {
		if s.Error != "" {
			return 1
		}
		return 0
	})
	add("written_total", "Syncs that this process has kept.", prometheus.CounterValue, func(s telemetry.ArchiveState) float64 { return float64(s.Written) })
	add("dropped_total", "Syncs that this process could not keep.", prometheus.CounterValue, func(s telemetry.ArchiveState) float64 { return float64(s.Dropped) })
	add("expired_total", "Syncs that were let go for their age or for room.", prometheus.CounterValue, func(s telemetry.ArchiveState) float64 { return float64(s.Expired) })
	add("errors_total", "Failed attempts to open or write the history.", prometheus.CounterValue, func(s telemetry.ArchiveState) float64 { return float64(s.Errors) })
	return h
}

// Describe tells the registry what there can be.
func (h *historyMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, m := range h.list {
		to <- m.desc
	}
}

// Collect reads the state once, so that the series of a scrape belong together.
func (h *historyMetrics) Collect(to chan<- prometheus.Metric) {
	read := h.read.Load()
	if read == nil {
		return
	}
	state := (*read)()
	for _, m := range h.list {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(state))
	}
}

// History says where the loopscope_history_ metrics are read from at a scrape.
// Before it is called there are none.
func (m *Metrics) History(read func() telemetry.ArchiveState) { m.history.read.Store(&read) }
