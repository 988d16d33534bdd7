package metrics

import "github.com/prometheus/client_golang/prometheus"

// Reasons lists every reason why a reader is closed, as the console gives them:
// it left, it did not take a write in time, it sent what it may not, too much,
// or nothing for too long, the program ended, its right did, another process's syncs are shown, or a defect of ours.
var Reasons = []string{"client", "slow", "protocol", "oversize", "silent", "shutdown", "refused", "moved", "error"}

// Readers counts the journal's readers, as a console tells of them. Its methods are safe
// for concurrent use.
type Readers struct {
	open   prometheus.Gauge
	missed prometheus.Counter
	closed *prometheus.CounterVec
}

func newReaders() Readers {
	v := Readers{
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

func (v Readers) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.open, v.missed, v.closed}
}

// Opened counts a reader. The caller owes a Closed.
func (v Readers) Opened() { v.open.Inc() }

// Missed counts traces that a reader did not get.
func (v Readers) Missed(n uint64) { v.missed.Add(float64(n)) }

// Closed counts a reader that was opened and is no more, for one of Reasons.
func (v Readers) Closed(reason string) {
	v.open.Dec()
	v.closed.WithLabelValues(reason).Inc()
}

// Readers are those of these metrics.
func (m *Metrics) Readers() Readers { return m.readers }
