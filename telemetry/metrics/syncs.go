package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
)

// maxSyncID keeps an exemplar within the 128 characters that it may have.
const maxSyncID = 100

// exemplary is how long a phase has to take to have an exemplar: it costs more than
// counting, and nobody looks up what took microseconds.
const exemplary = time.Millisecond

// syncVecs is the metrics of syncs.
type syncVecs struct {
	total    *prometheus.CounterVec
	phases   *prometheus.HistogramVec
	recorded *prometheus.CounterVec
	// known saves a look-up by labels for each phase of each sync.
	known map[string][]prometheus.Observer
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
	v.zero(controllers)
	v.known = map[string][]prometheus.Observer{}
	for _, c := range controllers {
		v.known[c] = v.phasesOf(c)
	}
	return v
}

// phasesOf is the histograms of a loop, in the order of phaseNames.
func (v syncVecs) phasesOf(controller string) []prometheus.Observer {
	if known, ok := v.known[controller]; ok {
		return known
	}
	list := make([]prometheus.Observer, len(phaseNames))
	for i, phase := range phaseNames {
		list[i] = v.phases.WithLabelValues(controller, phase)
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
		v.recorded.WithLabelValues(string(c))
	}
}

func (v syncVecs) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.total, v.phases, v.recorded}
}

// Observe counts a sync. It is made to be the journal's Observe: called once
// for every trace, so that counts are exact, and quick.
func (m *Metrics) Observe(t *telemetry.Trace) {
	class := t.Class(m.slowAfter)
	m.syncs.total.WithLabelValues(t.Loop, string(t.Result), t.Leaf()).Inc()
	m.syncs.recorded.WithLabelValues(string(class)).Inc()
	var exemplar prometheus.Labels
	phases := m.syncs.phasesOf(t.Loop)
	for i, d := range [...]time.Duration{t.Wait(), t.Phases.Observe, t.Phases.Decide, t.Phases.Act, t.Phases.Settle, t.Phases.Publish} {
		if d >= exemplary && exemplar == nil {
			exemplar = syncID(t)
		}
		observe(phases[i], d, exemplar)
	}
}

// observe leaves out an exemplar that is not worth it or too long.
func observe(o prometheus.Observer, d time.Duration, exemplar prometheus.Labels) {
	if e, ok := o.(prometheus.ExemplarObserver); ok && d >= exemplary && exemplar != nil {
		e.ObserveWithExemplar(d.Seconds(), exemplar)
		return
	}
	o.Observe(d.Seconds())
}

// syncID leads from a bucket to the page of a sync: "epoch/seq".
func syncID(t *telemetry.Trace) prometheus.Labels {
	id := t.Epoch + "/" + strconv.FormatUint(t.Seq, 10)
	if len(id) > maxSyncID {
		return nil
	}
	return prometheus.Labels{"sync_id": id}
}
