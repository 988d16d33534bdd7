package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
)

// maxSyncID keeps an exemplar within the 128 characters that it may have.
const maxSyncID = 100

// exemplary is how long a phase has to take to have an exemplar, besides being longer
// than any before it in its second: an exemplar costs more than counting, a scrape
// takes one for each bucket, and nobody looks up what took microseconds.
const exemplary = time.Millisecond

// syncVecs is the metrics of syncs.
type syncVecs struct {
	total    *prometheus.CounterVec
	phases   *prometheus.HistogramVec
	recorded *prometheus.CounterVec
	// classes, known and counters save look-ups by labels for each phase of each sync, and
	// for each sync.
	classes  map[telemetry.Class]prometheus.Counter
	known    map[string][]*phase
	counters *counters
}

// phase is the histogram of one phase of a loop.
type phase struct {
	prometheus.Observer
	mu      sync.Mutex
	second  int64 // Unix, of the last exemplar
	longest time.Duration
}

// exemplary reports whether a duration is worth an exemplar.
func (p *phase) exemplary(at time.Time, d time.Duration) bool {
	if d < exemplary {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if second := at.Unix(); second != p.second {
		p.second, p.longest = second, 0
	}
	if d <= p.longest {
		return false
	}
	p.longest = d
	return true
}

// counters are those of loopscope_syncs_total that were needed already.
type counters struct {
	mu sync.RWMutex
	m  map[ended]prometheus.Counter
}

// ended is how a sync did, as the labels have it.
type ended struct {
	loop   string
	result telemetry.Result
	leaf   string
}

func (v syncVecs) counter(e ended) prometheus.Counter {
	v.counters.mu.RLock()
	c := v.counters.m[e]
	v.counters.mu.RUnlock()
	if c == nil {
		c = v.total.WithLabelValues(e.loop, string(e.result), e.leaf)
		v.counters.mu.Lock()
		v.counters.m[e] = c
		v.counters.mu.Unlock()
	}
	return c
}

// phaseNames are the label values of loopscope_sync_phase_duration_seconds.
var phaseNames = []string{"wait", "observe", "decide", "act", "settle", "publish"}

func newSyncVecs(controllers []string) syncVecs {
	v := syncVecs{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loopscope_syncs_total",
			Help: "Syncs by how they ended and by the question that was answered last.",
		}, []string{"controller", "outcome", "leaf"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "loopscope_sync_phase_duration_seconds",
			Help:    "Time in each phase of a sync; act and publish are the API server's.",
			Buckets: []float64{1e-5, 1e-4, .001, .005, .025, .1, .25, 1, 5, 15, 60},
		}, []string{"controller", "phase"}),
		recorded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loopscope_traces_recorded_total",
			Help: "Traces by the first class they belong to.",
		}, []string{"class"}),
	}
	v.classes = map[telemetry.Class]prometheus.Counter{}
	v.zero(controllers)
	v.known, v.counters = map[string][]*phase{}, &counters{m: map[ended]prometheus.Counter{}}
	for _, c := range controllers {
		v.known[c] = v.phasesOf(c)
	}
	return v
}

// phasesOf is the histograms of a loop, in the order of phaseNames.
func (v syncVecs) phasesOf(controller string) []*phase {
	if known, ok := v.known[controller]; ok {
		return known
	}
	list := make([]*phase, len(phaseNames))
	for i, name := range phaseNames {
		list[i] = &phase{Observer: v.phases.WithLabelValues(controller, name)}
	}
	return list
}

// zero makes the series exist before anything happened: a rate over a series
// that starts at one never shows its first event.
func (v syncVecs) zero(controllers []string) {
	for _, c := range controllers {
		for _, r := range telemetry.Results {
			v.total.WithLabelValues(c, string(r), "")
		}
		for _, p := range phaseNames {
			v.phases.WithLabelValues(c, p)
		}
	}
	for _, c := range telemetry.Classes {
		v.classes[c] = v.recorded.WithLabelValues(string(c))
	}
}

func (v syncVecs) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.total, v.phases, v.recorded}
}

// Observe counts a sync. It is made to be the journal's Observe: called once
// for every trace, so that counts are exact, and quick.
func (m *Metrics) Observe(t *telemetry.Trace) {
	class := t.Class(m.slowAfter)
	m.syncs.counter(ended{t.Loop, t.Result, t.Leaf()}).Inc()
	m.syncs.classes[class].Inc()
	m.measures.observe(t)
	phases := m.syncs.phasesOf(t.Loop)
	for i, d := range [...]time.Duration{t.Wait(), t.Phases.Observe, t.Phases.Decide, t.Phases.Act, t.Phases.Settle, t.Phases.Publish} {
		if e, ok := phases[i].Observer.(prometheus.ExemplarObserver); ok && phases[i].exemplary(t.Ended, d) {
			e.ObserveWithExemplar(d.Seconds(), syncID(t))
			continue
		}
		phases[i].Observe(d.Seconds())
	}
}

// syncID leads from a bucket to the page of a sync: "epoch/seq". It is nil where that
// is too long.
func syncID(t *telemetry.Trace) prometheus.Labels {
	id := t.Epoch + "/" + strconv.FormatUint(t.Seq, 10)
	if len(id) > maxSyncID {
		return nil
	}
	return prometheus.Labels{"sync_id": id}
}
