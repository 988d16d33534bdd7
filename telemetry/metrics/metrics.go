// Package metrics counts what the loops, their queues and their clients do, on
// a registry that is handed in. It may not keep anything process-wide, start a
// goroutine, or hold up a sync: what it counts, it counts in the goroutine that
// did it, so that no count is ever lost.
//
// client-go offers two process-wide switches for this, the queue's SetProvider
// and the rest client's Register, which only the first caller in a process gets.
// They are left alone: queues take Metrics as their provider, clients take
// InstrumentTransport and InstrumentLimiter.
//
// Names, labels and buckets of workqueue_* and rest_client_* are those of
// kube-controller-manager, so that dashboards go on working.
package metrics

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Options says what the metrics cannot know by themselves.
type Options struct {
	// Loops are those whose series exist from the start, at zero.
	Loops decision.Loops
	// SlowAfter is the journal's, for the class of a trace. Default 1 s.
	SlowAfter time.Duration
	// Version and Revision go into loopscope_build_info.
	Version, Revision string
	// Embedded leaves out what a program that instruments its own controllers has already:
	// the metrics of Go, of the process, of work queues and of clients; and those of what
	// it does not run. What is left begins with "loopscope_".
	Embedded bool
}

// Metrics is every metric of the process but those of other libraries. Its
// methods are safe for concurrent use. Exemplars appear in the OpenMetrics
// format alone: serve the registry with promhttp's EnableOpenMetrics.
type Metrics struct {
	slowAfter time.Duration
	queues    queueVecs
	client    clientVecs
	syncs     syncVecs
	readers   Readers
	history   *historyMetrics
	states    *stateMetrics
	spans     spanVecs
	measures  measures
	shadow    *shadowMetrics
}

// New makes the metrics and registers them, with those of the Go runtime and
// the process. It fails where the registry has one of them already.
func New(reg prometheus.Registerer, o Options) (*Metrics, error) {
	if o.SlowAfter <= 0 {
		o.SlowAfter = time.Second
	}
	m := &Metrics{slowAfter: o.SlowAfter, queues: newQueueVecs(), client: newClientVecs(), syncs: newSyncVecs(o.Loops.Names()), readers: newReaders(), history: newHistoryMetrics(), states: newStateMetrics(o.Loops.Names()), spans: newSpanVecs(), measures: newMeasures(o.Loops), shadow: newShadowMetrics()}
	all := []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "loopscope_traces_folded_total",
			Help: "Unremarkable traces that the journal keeps only as a count.",
		}, m.folded),
		m.history, m.states,
	}
	all = slices.Concat(all, m.syncs.collectors(), m.readers.collectors())
	if !o.Embedded {
		all = append(all, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(o), m.shadow)
		all = slices.Concat(all, m.queues.collectors(), m.client.collectors(), m.spans.collectors(), m.measures.all)
	}
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func buildInfo(o Options) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "loopscope_build_info",
		Help:        "Always 1; the labels say what was built.",
		ConstLabels: prometheus.Labels{"version": o.Version, "revision": o.Revision, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}

// folded is 0 before States was called.
func (m *Metrics) folded() float64 {
	from := m.states.from.Load()
	if from == nil {
		return 0
	}
	_, _, folded := from.Journal.Window()
	return float64(folded)
}
