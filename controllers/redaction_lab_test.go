package controllers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/otlp"
	"github.com/loopscope/loopscope/telemetry/safetext"
	"github.com/loopscope/loopscope/web"
)

// laboratoryTime is when everything happens.
var laboratoryTime = time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)

// laboratory runs the real loops over a field and keeps everything that leaves them.
type laboratory struct {
	t     testing.TB
	loops []*engine.Loop
	out   bytes.Buffer
	// received is what a collector has received of it.
	received []byte
}

// observeAll lets every loop see the field change from before to after, sync what it
// woke, and see it go; what was recorded, logged and shown is returned.
func observeAll(t testing.TB, before, after *field, reply string) string {
	t.Helper()
	run := &laboratory{t: t}
	clock := clocktesting.NewFakeClock(laboratoryTime)
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: Loops, Epoch: "7c41", Clock: clock.Now})
	client := answering(after, replies[reply])
	f := informers.NewSharedInformerFactory(client, 0)
	opts := engine.Options{Clock: clock, Recorder: journal, Managers: changes.NewManagers(), Logger: slog.New(slog.NewJSONHandler(&run.out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	opts.Ledger, opts.Events = engine.NewLedger(clock), record.NewFakeRecorder(1000)
	d, err := deployments.New(t.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	lab.Check(t, err)
	r, err := replicasets.New(t.Context(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	lab.Check(t, err)
	rc, err := replicasets.NewReplicationController(t.Context(), f.Core().V1().ReplicationControllers(), f.Core().V1().Pods(), client, opts)
	lab.Check(t, err)
	run.loops = []*engine.Loop{d, r, rc}
	for _, l := range run.loops {
		t.Cleanup(l.Begin(t.Context()))
	}
	old, now := before.objects(), after.objects()
	for _, o := range slices.Concat(old, now) {
		_, err := opts.Managers.Strip(o)
		lab.Check(t, err)
	}
	stores := (&lab.Caches{Factory: f}).StoreOf
	for i, o := range now {
		lab.Check(t, stores(o).Add(o))
		run.tell(func(h cache.ResourceEventHandler) { h.OnAdd(o, false) })
		if i < len(old) {
			run.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(old[i], o) })
		}
	}
	run.states()
	run.work()
	for _, o := range now {
		lab.Check(t, stores(o).Delete(o))
		run.tell(func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: o}) })
	}
	run.states()
	run.read(journal, clock.Now)
	run.work()
	run.read(journal, clock.Now)
	run.spans(journal)
	run.explain(client)
	return run.out.String()
}

// tell gives an event to every handler, as informers do; each ignores what is not for it.
func (run *laboratory) tell(event func(cache.ResourceEventHandler)) {
	for _, l := range run.loops {
		for _, h := range l.Handlers() {
			event(h)
		}
	}
}

// work syncs until no key is ready.
func (run *laboratory) work() {
	for _, l := range run.loops {
		for l.Phases().Ready > 0 {
			l.Step(run.t.Context(), 0)
		}
	}
}

// keep is where everything ends that leaves a loop.
func (run *laboratory) keep(v any) {
	raw, err := json.Marshal(v)
	lab.Check(run.t, err)
	run.out.Write(raw)
}

func (run *laboratory) states() {
	for _, l := range run.loops {
		run.keep(l.State())
	}
}

// read opens every page and twin of the console.
func (run *laboratory) read(journal *telemetry.Journal, now func() time.Time) {
	var loops []telemetry.LoopState
	for _, l := range run.loops {
		loops = append(loops, l.State())
	}
	s, err := web.New(web.Options{Journal: journal, Now: now,
		Loops: func() []telemetry.LoopState { return loops }, Logger: slog.New(slog.NewJSONHandler(&run.out, nil))})
	lab.Check(run.t, err)
	paths := []string{"/deployments", "/queues", "/debug/controllers", "/export.jsonl"}
	for seq := uint64(1); seq <= journal.Last(); seq++ {
		trace, ok := journal.Get(seq)
		if !ok {
			continue
		}
		run.keep(trace)
		object := "/" + trace.Loop + "s/" + trace.Key()
		paths = append(paths, object, fmt.Sprintf("%s/syncs/%s/%d", object, trace.Epoch, seq), "/debug/controllers/"+trace.Loop, "/debug/controllers/"+trace.Loop+"/"+trace.Key())
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		for _, accept := range []string{"text/html", "application/json"} {
			req := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
			req.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, req)
			if w.Code == http.StatusInternalServerError {
				run.t.Errorf("%s: %d", path, w.Code)
			}
			run.out.Write(w.Body.Bytes())
		}
	}
}

// spans exports what the journal holds, and keeps what a collector receives.
func (run *laboratory) spans(journal *telemetry.Journal) {
	var mu sync.Mutex
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			run.t.Error(err)
		}
		run.out.WriteString(safetext.Line(string(body)) + "\n") // Its lengths are bytes of any kind.
		run.received = append(run.received, body...)
	}))
	defer collector.Close()
	run.t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	run.t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	e, err := otlp.New(run.t.Context(), otlp.Options{Journal: journal, Counts: uncounted{}, Logger: slog.New(slog.NewJSONHandler(&run.out, nil)), Cluster: "c", Version: "v"})
	lab.Check(run.t, err)
	lab.Check(run.t, e.Start(run.t.Context()))
	lab.Check(run.t, e.Stop(run.t.Context()))
	if journal.Last() > 0 && !bytes.Contains(run.received, []byte("shop")) {
		run.t.Error("no span was received: nothing of that was searched")
	}
}

// uncounted counts no spans.
type uncounted struct{}

func (uncounted) SpansExported(int)    {}
func (uncounted) SpansFailed(int)      {}
func (uncounted) SyncsMissed(_ uint64) {}

func (run *laboratory) explain(client *fake.Clientset) {
	trace, err := deployments.Explain(run.t.Context(), client, "shop", "web", engine.Options{})
	lab.Check(run.t, err)
	run.keep(trace)
	run.out.WriteString(trace.Sentence.At(trace.Ended))
}
