package metrics

import "github.com/prometheus/client_golang/prometheus"

// Reasons lists every reason why a reader is closed, as the console gives them:
// it left, it did not take a write in time, it sent what it may not, too much,
// or nothing for too long, the program ended, or a defect of ours.
var Reasons = []string{"client", "slow", "protocol", "oversize", "silent", "shutdown", "error"}

// readerVecs is the metrics of the journal's readers.
type readerVecs struct {
	open   prometheus.Gauge
	missed prometheus.Counter
	closed *prometheus.CounterVec
}

func newReaderVecs() readerVecs {
	v := readerVecs{
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "loopscope_readers", Help: "Open readers of the journal.",
		}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "loopscope_reader_missed_total", Help: "Traces that readers were too slow for, summed over readers.",
		}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loopscope_reader_closed_total", Help: "Readers that were closed, by reason.",
		}, []string{"reason"}),
	}
	for _, r := range Reasons {
		v.closed.WithLabelValues(r)
	}
	return v
}

func (v readerVecs) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.open, v.missed, v.closed}
}

// ReaderOpened counts a reader. The caller owes a ReaderClosed.
func (m *Metrics) ReaderOpened() { m.readers.open.Inc() }

// ReaderMissed counts traces that a reader did not get.
func (m *Metrics) ReaderMissed(n uint64) { m.readers.missed.Add(float64(n)) }

// ReaderClosed counts a reader that was opened and is no more, for one of Reasons.
func (m *Metrics) ReaderClosed(reason string) {
	m.readers.open.Dec()
	m.readers.closed.WithLabelValues(reason).Inc()
}
