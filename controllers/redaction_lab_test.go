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
	loops []*Loop
	out   bytes.Buffer
	// received is what a collector has received of it.
	received []byte
}

// observeAll lets every loop see the field change from before to after, sync what it
// woke, and see it go; what was recorded, logged and shown is returned.
func observeAll(t testing.TB, before, after *field, reply string) string {
	t.Helper()
	lab := &laboratory{t: t}
	clock := clocktesting.NewFakeClock(laboratoryTime)
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: Loops, Epoch: "7c41", Clock: clock.Now})
	client := answering(after, replies[reply])
	f := informers.NewSharedInformerFactory(client, 0)
	opts := Options{Clock: clock, Recorder: journal, Managers: changes.NewManagers(), Logger: slog.New(slog.NewJSONHandler(&lab.out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	opts.Ledger = NewLedger(clock)
	d, err := NewDeployment(t.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	check(t, err)
	r, err := NewReplicaSet(t.Context(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	check(t, err)
	rc, err := NewReplicationController(t.Context(), f.Core().V1().ReplicationControllers(), f.Core().V1().Pods(), client, opts)
	check(t, err)
	lab.loops = []*Loop{d, r, rc}
	for _, l := range lab.loops {
		l.recorder = record.NewFakeRecorder(1000)
		l.queue.Start()
		t.Cleanup(l.queue.ShutDown)
	}
	old, now := before.objects(), after.objects()
	for _, o := range slices.Concat(old, now) {
		_, err := opts.Managers.Strip(o)
		check(t, err)
	}
	stores := (&caches{factory: f}).store
	for i, o := range now {
		check(t, stores(o).Add(o))
		lab.tell(func(h cache.ResourceEventHandler) { h.OnAdd(o, false) })
		if i < len(old) {
			lab.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(old[i], o) })
		}
	}
	lab.states()
	lab.work()
	for _, o := range now {
		check(t, stores(o).Delete(o))
		lab.tell(func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: o}) })
	}
	lab.states()
	lab.read(journal, clock.Now)
	lab.work()
	lab.read(journal, clock.Now)
	lab.spans(journal)
	lab.explain(client)
	return lab.out.String()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tell gives an event to every handler, as informers do; each ignores what is not for it.
func (lab *laboratory) tell(event func(cache.ResourceEventHandler)) {
	for _, l := range lab.loops {
		switch b := l.controller.(type) {
		case *deploymentController:
			event(b.deploymentHandler())
			event(b.replicaSetHandler())
			event(b.podHandler())
		case *replicaSetController:
			event(b.ownerHandler())
			event(b.podHandler())
		}
	}
}

// work syncs until no key is ready.
func (lab *laboratory) work() {
	for _, l := range lab.loops {
		for l.queue.Len() > 0 {
			w, _ := l.queue.Get()
			l.sync(lab.t.Context(), w, 0)
		}
	}
}

// keep is where everything ends that leaves a loop.
func (lab *laboratory) keep(v any) {
	raw, err := json.Marshal(v)
	check(lab.t, err)
	lab.out.Write(raw)
}

func (lab *laboratory) states() {
	for _, l := range lab.loops {
		lab.keep(l.State())
	}
}

// read opens every page and twin of the console.
func (lab *laboratory) read(journal *telemetry.Journal, now func() time.Time) {
	var loops []telemetry.LoopState
	for _, l := range lab.loops {
		loops = append(loops, l.State())
	}
	s, err := web.New(web.Options{Journal: journal, Now: now,
		Loops: func() []telemetry.LoopState { return loops }, Logger: slog.New(slog.NewJSONHandler(&lab.out, nil))})
	check(lab.t, err)
	paths := []string{"/deployments", "/queues", "/debug/controllers", "/export.jsonl"}
	for seq := uint64(1); seq <= journal.Last(); seq++ {
		trace, ok := journal.Get(seq)
		if !ok {
			continue
		}
		lab.keep(trace)
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
				lab.t.Errorf("%s: %d", path, w.Code)
			}
			lab.out.Write(w.Body.Bytes())
		}
	}
}

// spans exports what the journal holds, and keeps what a collector receives.
func (lab *laboratory) spans(journal *telemetry.Journal) {
	var mu sync.Mutex
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			lab.t.Error(err)
		}
		lab.out.WriteString(safetext.Line(string(body)) + "\n") // Its lengths are bytes of any kind.
		lab.received = append(lab.received, body...)
	}))
	defer collector.Close()
	lab.t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	lab.t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	e, err := otlp.New(lab.t.Context(), otlp.Options{Journal: journal, Counts: uncounted{}, Logger: slog.New(slog.NewJSONHandler(&lab.out, nil)), Cluster: "c", Version: "v"})
	check(lab.t, err)
	check(lab.t, e.Start(lab.t.Context()))
	check(lab.t, e.Stop(lab.t.Context()))
	if journal.Last() > 0 && !bytes.Contains(lab.received, []byte("shop")) {
		lab.t.Error("no span was received: nothing of that was searched")
	}
}

// uncounted counts no spans.
type uncounted struct{}

func (uncounted) SpansExported(int)    {}
func (uncounted) SpansFailed(int)      {}
func (uncounted) SyncsMissed(_ uint64) {}

func (lab *laboratory) explain(client *fake.Clientset) {
	trace, err := ExplainDeployment(lab.t.Context(), client, "shop", "web", Options{})
	check(lab.t, err)
	lab.keep(trace)
	lab.out.WriteString(trace.Sentence.At(trace.Ended))
}
