package metrics

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func newMetrics(t testing.TB) (*Metrics, *prometheus.Registry) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, Options{Loops: testLoops, Version: "v0.1.0", Revision: "cc69513"})
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// compare checks whole metrics, help and type included.
func compare(t *testing.T, reg *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// scaling is a sync that scaled a ReplicaSet and took 5 ms at the API server.
func scaling(seq uint64) *telemetry.Trace {
	start := time.Date(2026, 11, 21, 1, 12, 0, 0, time.UTC)
	return &telemetry.Trace{
		Epoch: "7c41", Seq: seq,
		Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"},
		Result: telemetry.ResultWrote, Queued: start, Started: start.Add(2 * time.Millisecond), Ended: start.Add(9 * time.Millisecond),
		Phases: telemetry.Phases{Observe: 50 * time.Microsecond, Decide: 20 * time.Microsecond, Act: 5 * time.Millisecond, Settle: time.Microsecond},
		Rounds: []decision.Round{{Verdict: decision.Verdict{Path: decision.Path{{Question: "RR-3.may-go"}}}}},
	}
}

func TestEverySeriesThatIsPromisedExists(t *testing.T) {
	m, reg := newMetrics(t)
	use(t, m)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range families {
		got[f.GetName()] = true
	}
	for _, name := range []string{
		"workqueue_depth", "workqueue_adds_total", "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds",
		"workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds", "workqueue_retries_total",
		"rest_client_requests_total", "rest_client_request_duration_seconds", "rest_client_rate_limiter_duration_seconds",
		"rest_client_request_retries_total", "rest_client_request_size_bytes", "rest_client_response_size_bytes",
		"loopscope_syncs_total", "loopscope_sync_phase_duration_seconds", "loopscope_traces_recorded_total", "loopscope_traces_folded_total",
		"loopscope_readers", "loopscope_reader_missed_total", "loopscope_reader_closed_total", "loopscope_build_info",
		"loopscope_otlp_spans_exported_total", "loopscope_otlp_spans_failed_total", "loopscope_otlp_syncs_missed_total",
		"go_goroutines", "go_gc_duration_seconds", "process_cpu_seconds_total", "process_start_time_seconds",
	} {
		if !got[name] {
			t.Errorf("%s is not there", name)
		}
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// use makes a queue, a request and a sync happen.
func use(t *testing.T, m *Metrics) {
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "deployment", MetricsProvider: m})
	defer q.ShutDown()
	workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: "deployment", MetricsProvider: m, Queue: q}).ShutDown()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	client := &http.Client{Transport: m.InstrumentTransport(http.DefaultTransport)}
	send(t, client, http.MethodPost, server.URL, "hello")
	client.CloseIdleConnections()
	m.InstrumentLimiter(flowcontrol.NewFakeAlwaysRateLimiter(), "here").Accept()
	m.Observe(scaling(1))
}

func send(t *testing.T, c *http.Client, method, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOutcomesStartAtZero(t *testing.T) {
	_, reg := newMetrics(t)
	var b strings.Builder
	b.WriteString("# HELP loopscope_syncs_total Syncs by how they ended and by the question that was answered last.\n# TYPE loopscope_syncs_total counter\n")
	for _, c := range []string{"deployment", "replicaset", "replicationcontroller"} {
		for _, r := range telemetry.Results {
			fmt.Fprintf(&b, "loopscope_syncs_total{controller=%q,leaf=\"\",outcome=%q} 0\n", c, r)
		}
	}
	compare(t, reg, b.String(), "loopscope_syncs_total")
	compare(t, reg, `
# HELP loopscope_reader_closed_total Readers that were closed, by reason.
# TYPE loopscope_reader_closed_total counter
loopscope_reader_closed_total{reason="client"} 0
loopscope_reader_closed_total{reason="error"} 0
loopscope_reader_closed_total{reason="moved"} 0
loopscope_reader_closed_total{reason="oversize"} 0
loopscope_reader_closed_total{reason="protocol"} 0
loopscope_reader_closed_total{reason="refused"} 0
loopscope_reader_closed_total{reason="shutdown"} 0
loopscope_reader_closed_total{reason="silent"} 0
loopscope_reader_closed_total{reason="slow"} 0
`, "loopscope_reader_closed_total")
}

func TestObserve(t *testing.T) {
	m, reg := newMetrics(t)
	j := telemetry.NewJournal(telemetry.JournalOptions{Recent: 2, Observe: m.Observe})
	m.States(Sources{Journal: j})
	slow := scaling(0)
	slow.Result, slow.Ended = telemetry.ResultUnchanged, slow.Started.Add(time.Second)
	quiet := func() *telemetry.Trace {
		return &telemetry.Trace{Object: slow.Object, Result: telemetry.ResultUnchanged}
	}
	for _, tr := range []*telemetry.Trace{scaling(0), slow, quiet(), quiet(), quiet(), {Object: slow.Object, Result: telemetry.ResultStale}} {
		j.Record(tr)
	}
	compare(t, reg, `
# HELP loopscope_traces_recorded_total Traces by the first class they belong to.
# TYPE loopscope_traces_recorded_total counter
loopscope_traces_recorded_total{class="conflicted"} 1
loopscope_traces_recorded_total{class="failed"} 0
loopscope_traces_recorded_total{class="quiet"} 3
loopscope_traces_recorded_total{class="slow"} 1
loopscope_traces_recorded_total{class="wrote"} 1
# HELP loopscope_traces_folded_total Unremarkable traces that the journal keeps only as a count.
# TYPE loopscope_traces_folded_total counter
loopscope_traces_folded_total 2
`, "loopscope_traces_recorded_total", "loopscope_traces_folded_total")
	for result, want := range map[telemetry.Result]float64{telemetry.ResultWrote: 1, telemetry.ResultUnchanged: 1} {
		if got := testutil.ToFloat64(m.syncs.total.WithLabelValues("deployment", string(result), "RR-3.may-go")); got != want {
			t.Errorf("%s at RR-3.may-go: %v, want %v", result, got, want)
		}
	}
}

// Counts are exact whoever records: nothing is sampled or passed through a
// buffer that could be full.
func TestCountsAreExactUnderConcurrency(t *testing.T) {
	m, _ := newMetrics(t)
	j := telemetry.NewJournal(telemetry.JournalOptions{Recent: 16, Observe: m.Observe})
	var recording sync.WaitGroup
	for range 8 {
		recording.Go(func() {
			for range 500 {
				j.Record(scaling(0))
			}
		})
	}
	recording.Wait()
	if got := testutil.ToFloat64(m.syncs.total.WithLabelValues("deployment", "wrote", "RR-3.may-go")); got != 4000 {
		t.Errorf("%v syncs, want 4000", got)
	}
}

func TestExemplarsLeadToTheSync(t *testing.T) {
	m, reg := newMetrics(t)
	m.Observe(scaling(11781))
	m.Observe(scaling(3)) // In the same second, and no longer.
	long := scaling(1)
	long.Epoch = strings.Repeat("x", 200) // No exemplar may be that long; the sync still counts.
	long.Loop = "long"
	m.Observe(long)
	quick := scaling(2)
	quick.Result, quick.Ended = telemetry.ResultUnchanged, quick.Ended.Add(time.Second)
	quick.Phases = telemetry.Phases{Decide: 30 * time.Microsecond, Publish: 3 * time.Second}
	m.Observe(quick)
	server := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	defer server.Close()
	text := scrape(t, server.URL)
	if !strings.HasSuffix(text, "# EOF\n") {
		t.Error("not the OpenMetrics format")
	}
	for phase, want := range map[string]string{
		"act":     `le="0.005"} 3 # {sync_id="7c41/11781"} 0.005`,
		"wait":    `le="0.005"} 3 # {sync_id="7c41/2"} 0.002`,
		"publish": `le="5.0"} 3 # {sync_id="7c41/2"} 3`,
		"decide":  "le=\"0.0001\"} 3\n", // too quick to be looked up
		"settle":  "le=\"1e-05\"} 3\n",
	} {
		if line := fmt.Sprintf(`loopscope_sync_phase_duration_seconds_bucket{controller="deployment",phase=%q,%s`, phase, want); !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(text, "xxx") || !strings.Contains(text, `loopscope_sync_phase_duration_seconds_count{controller="long",phase="act"} 1`) {
		t.Error("the sync with the long epoch")
	}
}

// TestExemplary: what took a millisecond, and longer than all before it in its second.
func TestExemplary(t *testing.T) {
	p, now := &phase{}, time.Unix(1000, 0)
	for i, c := range []struct {
		at   time.Time
		d    time.Duration
		want bool
	}{
		{now, exemplary - 1, false}, {now, exemplary, true}, {now, exemplary, false},
		{now.Add(time.Second - 1), exemplary + 1, true}, {now.Add(time.Second), exemplary, true}, {now, exemplary, true},
	} {
		if got := p.exemplary(c.at, c.d); got != c.want {
			t.Errorf("%d: %s at %s is exemplary: %t", i, c.d, c.at, got)
		}
	}
	for size, want := range map[int]bool{maxSyncID: true, maxSyncID + 1: false} {
		if id := syncID(&telemetry.Trace{Epoch: strings.Repeat("e", size-2), Seq: 7}); (id != nil) != want {
			t.Errorf("an exemplar of %d characters: %v", size, id)
		}
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestQueueMetricsAreUpstreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reg := newMetrics(t)
		q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "replicaset", MetricsProvider: m})
		q.Add("shop/web")
		q.Add("shop/web")
		q.AddAfter("shop/api", time.Second)
		<-time.After(2 * time.Second)
		q.Get()
		<-time.After(2*time.Second + 100*time.Millisecond)
		compare(t, reg, `
# HELP workqueue_adds_total Adds that were not merged into an earlier one.
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="replicaset"} 2
# HELP workqueue_depth Keys that are ready for a worker.
# TYPE workqueue_depth gauge
workqueue_depth{name="replicaset"} 1
# HELP workqueue_longest_running_processor_seconds Seconds that the longest running key has taken so far, twice a second.
# TYPE workqueue_longest_running_processor_seconds gauge
workqueue_longest_running_processor_seconds{name="replicaset"} 2
# HELP workqueue_queue_duration_seconds How long a key was ready before a worker took it.
# TYPE workqueue_queue_duration_seconds histogram
workqueue_queue_duration_seconds_bucket{name="replicaset",le="1e-08"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="1e-07"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="1e-06"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="9.999999999999999e-06"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="9.999999999999999e-05"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="0.001"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="0.01"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="0.1"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="1"} 0
workqueue_queue_duration_seconds_bucket{name="replicaset",le="10"} 1
workqueue_queue_duration_seconds_bucket{name="replicaset",le="+Inf"} 1
workqueue_queue_duration_seconds_sum{name="replicaset"} 2
workqueue_queue_duration_seconds_count{name="replicaset"} 1
# HELP workqueue_retries_total Delayed adds: after failures, and by timers too.
# TYPE workqueue_retries_total counter
workqueue_retries_total{name="replicaset"} 1
# HELP workqueue_unfinished_work_seconds Seconds that the keys being processed have taken so far, summed twice a second.
# TYPE workqueue_unfinished_work_seconds gauge
workqueue_unfinished_work_seconds{name="replicaset"} 2
`, "workqueue_adds_total", "workqueue_depth", "workqueue_longest_running_processor_seconds",
			"workqueue_queue_duration_seconds", "workqueue_retries_total", "workqueue_unfinished_work_seconds")
		q.ShutDown()
	})
}

func TestReaders(t *testing.T) {
	m, reg := newMetrics(t)
	m.Readers().Opened()
	m.Readers().Opened()
	m.Readers().Missed(90)
	m.Readers().Closed("slow")
	compare(t, reg, `
# HELP loopscope_readers Open readers of the journal.
# TYPE loopscope_readers gauge
loopscope_readers 1
# HELP loopscope_reader_missed_total Traces that readers were too slow for, summed over readers.
# TYPE loopscope_reader_missed_total counter
loopscope_reader_missed_total 90
`, "loopscope_readers", "loopscope_reader_missed_total")
	if got := testutil.ToFloat64(m.readers.closed.WithLabelValues("slow")); got != 1 {
		t.Errorf("%v closed", got)
	}
}

func TestNothingIsRegisteredTwice(t *testing.T) {
	_, reg := newMetrics(t)
	if _, err := New(reg, Options{}); err == nil || !strings.HasPrefix(err.Error(), "register metrics: ") {
		t.Errorf("the second time: %v", err)
	}
	newMetrics(t) // Another registry, the same process.
}

// BenchmarkObserve is what counting adds to the end of each sync.
func BenchmarkObserve(b *testing.B) {
	quick := scaling(1)
	quick.Result, quick.Started, quick.Phases.Act = telemetry.ResultUnchanged, quick.Queued, 0
	for name, tr := range map[string]*telemetry.Trace{"wrote": scaling(1), "quiet": quick} {
		b.Run(name, func(b *testing.B) {
			m, _ := newMetrics(b)
			b.ReportAllocs()
			for b.Loop() {
				m.Observe(tr)
			}
		})
	}
}

// A program that instruments its own controllers gets what is told of them into a registry
// that has the metrics of Go and of queues already, and needs to name no more than the board.
func TestEmbedded(t *testing.T) {
	_, reg := newMetrics(t)
	if _, err := New(reg, Options{Embedded: true}); err == nil {
		t.Error("two of them share a registry")
	}
	reg = prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector())
	loops := decision.Loops{{Name: "backup", Kind: "Backup"}}
	m, err := New(reg, Options{Loops: loops, Embedded: true})
	if err != nil {
		t.Fatal(err)
	}
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Observe: m.Observe})
	m.States(Sources{Journal: journal})
	now := time.Now()
	journal.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "backup", Namespace: "shop", Name: "data"}, Queued: now, Started: now, Ended: now,
		Result: telemetry.ResultUnchanged, Sentence: decision.Sentence{Tone: decision.ToneOK, Code: "settled"}})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name := f.GetName(); !strings.HasPrefix(name, "loopscope_") && !strings.HasPrefix(name, "go_") {
			t.Errorf("%s is not asked for", name)
		}
	}
	want := `# HELP loopscope_objects_in_backoff Objects whose last sync failed and is tried again.
# TYPE loopscope_objects_in_backoff gauge
loopscope_objects_in_backoff{controller="backup"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "loopscope_objects_in_backoff"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(reg, "loopscope_objects"); err != nil || n != 6 {
		t.Errorf("%d series of objects, %v, want one of each tone and one that is settled", n, err)
	}
}
