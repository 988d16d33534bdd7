package metrics

import (
	"cmp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Sources are what is looked at once a scrape. Where Waits or Server are nil there are no
// series of what they tell.
type Sources struct {
	Journal *telemetry.Journal
	// Waits is the loops without the keys of their queues.
	Waits  func() []telemetry.LoopState
	Server func() telemetry.ServerState
	// Rivals is how many writes of other processes under our name were seen; nil where nobody
	// looks for them.
	Rivals func() uint64
	// Leadership is who leads, nil where nobody is elected.
	Leadership func() telemetry.Leadership
	// Now is the time that ages are told by; nil for the clock.
	Now func() time.Time
	// Said is what is to be said of an object now, by its row, and since when it has had that
	// tone; nil for what its newest sync said, which the clock may have overtaken.
	Said func(telemetry.Row, time.Time) (said decision.Sentence, since time.Time)
}

// tones are those of loopscope_objects, whose series exist at zero.
var tones = []decision.Tone{decision.ToneFailed, decision.ToneNeutral, decision.ToneMoving, decision.ToneWaiting, decision.ToneOK}

// stateMetrics are gauges of how things stand at a scrape. Nothing is labelled
// with the name of an object: reasons are a closed set of codes.
type stateMetrics struct {
	controllers []string
	from        atomic.Pointer[Sources]

	objects, stuck, backoff, dropped  *prometheus.Desc
	echoes, echoAge, expected, expAge *prometheus.Desc
	synced, cached, version           *prometheus.Desc
	reachable, leads, held, rivals    *prometheus.Desc
}

func newStateMetrics(controllers []string) *stateMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("loopscope_"+name, help, labels, nil)
	}
	return &stateMetrics{
		controllers: controllers,
		objects:     desc("objects", "Objects by the tone and the code of the sentence that is said of them.", "controller", "tone", "code"),
		stuck:       desc("stuck_seconds", "How long the object has been waiting or failed without a break that has been so longest, by its tone and code now; objects that another one speaks for are left out.", "controller", "tone", "code"),
		backoff:     desc("objects_in_backoff", "Objects whose last sync failed and is tried again.", "controller"),
		dropped:     desc("objects_dropped", "Objects whose last sync failed and is not tried again before something changes.", "controller"),
		echoes:      desc("echo_waits", "Writes of this process that its caches do not show yet."),
		echoAge:     desc("echo_wait_longest_seconds", "Age of the oldest write of this process that its caches do not show yet."),
		expected:    desc("expectations", "Objects that wait to see the pods that were created or deleted for them.", "controller"),
		expAge:      desc("expectation_longest_seconds", "Age of the oldest of loopscope_expectations.", "controller"),
		synced:      desc("cache_synced", "Whether an informer's cache is filled.", "controller", "resource"),
		cached:      desc("cache_objects", "Objects in an informer's cache.", "controller", "resource"),
		version:     desc("cache_resource_version", "The resourceVersion that an informer's cache has come to.", "controller", "resource"),
		rivals:      desc("rival_writes_total", "Writes of statuses that another process made while this one acts: two managers on one cluster, or kube-controller-manager's own loops."),
		leads:       prometheus.NewDesc("leader_election_master_status", "Whether this process leads by the Lease of that name, as kube-controller-manager has it.", []string{"name"}, nil),
		held:        desc("lease_held", "Whether somebody is known to hold and renew the Lease of that name, this process or another.", "name"),
		reachable:   desc("apiserver_reachable", "Whether the API server answered when it was asked last, at most some seconds ago."),
	}
}

// States says what the gauges are read from at a scrape. Before it is called
// there are none.
func (m *Metrics) States(from Sources) {
	if from.Now == nil {
		from.Now = time.Now
	}
	if from.Said == nil {
		from.Said = func(r telemetry.Row, _ time.Time) (decision.Sentence, time.Time) {
			return r.Trace.Sentence, r.SinceTone
		}
	}
	m.states.from.Store(&from)
}

// Describe tells the registry what there can be.
func (s *stateMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		s.objects, s.stuck, s.backoff, s.dropped, s.echoes, s.echoAge, s.expected, s.expAge, s.synced, s.cached, s.version, s.reachable, s.leads, s.held, s.rivals,
	} {
		to <- d
	}
}

// Collect looks once, so that the series of a scrape belong together.
func (s *stateMetrics) Collect(to chan<- prometheus.Metric) {
	from := s.from.Load()
	if from == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s.collectObjects(from, gauge)
	if from.Waits != nil {
		loops := from.Waits()
		s.collectEchoes(loops, from.Now(), gauge)
		for _, l := range loops {
			s.collectLoop(l, from.Now(), gauge)
		}
	}
	if from.Server != nil {
		gauge(s.reachable, oneIf(from.Server().Reachable))
	}
	if from.Rivals != nil {
		to <- prometheus.MustNewConstMetric(s.rivals, prometheus.CounterValue, float64(from.Rivals()))
	}
	if from.Leadership != nil {
		now := from.Leadership()
		_, name, _ := strings.Cut(now.Lease, "/")
		gauge(s.leads, oneIf(!now.StandsBy), name)
		gauge(s.held, oneIf(now.Held()), name)
	}
}

// setGauge adds a series to a scrape.
type setGauge func(d *prometheus.Desc, value float64, labels ...string)

// standing is what objects of one controller have in common.
type standing struct{ controller, tone, code string }

func (s *stateMetrics) collectObjects(from *Sources, gauge setGauge) {
	now := from.Now()
	count, longest := map[standing]int{}, map[standing]time.Duration{}
	backoff, dropped := map[string]int{}, map[string]int{}
	for _, c := range s.controllers {
		backoff[c], dropped[c] = 0, 0
		for _, tone := range tones {
			count[standing{c, string(tone), ""}] = 0
		}
	}
	from.Journal.Board().Each(func(r telemetry.Row) {
		said, since := from.Said(r, now)
		tone := cmp.Or(said.Tone, r.Tone())
		of := standing{r.Trace.Loop, string(tone), said.Code}
		count[of]++
		if (tone == decision.ToneWaiting || tone == decision.ToneFailed) && r.Trace.Owner == "" {
			if !r.StuckSince.IsZero() {
				since = r.StuckSince
			}
			longest[of] = max(longest[of], now.Sub(since))
		}
		switch try := r.Trace.Try; {
		case try.Dropped:
			dropped[of.controller]++
		case try.Number > 0:
			backoff[of.controller]++
		}
	})
	for of, n := range count {
		gauge(s.objects, float64(n), of.controller, of.tone, of.code)
	}
	for of, d := range longest {
		gauge(s.stuck, d.Seconds(), of.controller, of.tone, of.code)
	}
	for c := range backoff {
		gauge(s.backoff, float64(backoff[c]), c)
		gauge(s.dropped, float64(dropped[c]), c)
	}
}

// collectEchoes adds up, as loops share what they remember of their writes.
func (s *stateMetrics) collectEchoes(loops []telemetry.LoopState, now time.Time, gauge setGauge) {
	count, longest := 0, time.Duration(0)
	for _, l := range loops {
		count += len(l.Echoes)
		for _, e := range l.Echoes {
			longest = max(longest, now.Sub(e.Since))
		}
	}
	gauge(s.echoes, float64(count))
	gauge(s.echoAge, longest.Seconds())
}

func (s *stateMetrics) collectLoop(l telemetry.LoopState, now time.Time, gauge setGauge) {
	var expected time.Duration
	for _, e := range l.Expectations {
		expected = max(expected, now.Sub(e.Since))
	}
	gauge(s.expected, float64(len(l.Expectations)), l.Name)
	gauge(s.expAge, expected.Seconds(), l.Name)
	for _, c := range l.Caches {
		gauge(s.synced, oneIf(c.Synced), l.Name, c.Resource)
		if c.Objects != nil {
			gauge(s.cached, float64(*c.Objects), l.Name, c.Resource)
		}
		if rv, err := strconv.ParseUint(c.RV, 10, 64); err == nil { // Empty where the store does not tell.
			gauge(s.version, float64(rv), l.Name, c.Resource)
		}
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
