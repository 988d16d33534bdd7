package otlp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/loopscope/loopscope/telemetry"
)

// counts are what an exporter says of itself.
type counts struct {
	mu                       sync.Mutex
	exported, failed, missed int
}

func (c *counts) SpansExported(n int) { c.add(&c.exported, n) }
func (c *counts) SpansFailed(n int)   { c.add(&c.failed, n) }
func (c *counts) SyncsMissed(n uint64) {
	c.add(&c.missed, int(n))
}

func (c *counts) add(to *int, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*to += n
}

func (c *counts) now() (exported, failed, missed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exported, c.failed, c.missed
}

// rig is a journal with an exporter that reads it.
type rig struct {
	journal  *telemetry.Journal
	exporter *Exporter
	counts   *counts
	log      *bytes.Buffer
}

// newRig starts an exporter with the environment as it is. The journal's ring
// has that many slots.
func newRig(t testing.TB, recent int) *rig {
	t.Helper()
	r := &rig{counts: &counts{}, log: &bytes.Buffer{}}
	r.journal = telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Recent: recent, Epoch: "7c41"})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.journal.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	var err error
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r.exporter, err = New(t.Context(), Options{
		Journal: r.journal, Counts: r.counts, Logger: slog.New(slog.NewTextHandler(r.log, nil)), Clock: func() time.Time { return noon },
	})
	if err != nil || r.exporter == nil {
		t.Fatalf("exporter %v, %v", r.exporter, err)
	}
	if err := r.exporter.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) record(n int) {
	for range n {
		r.journal.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Started: time.Now(), Ended: time.Now()})
	}
}

// stop ends the exporter and returns how long that took and what Stop said.
func (r *rig) stop(within time.Duration) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := r.exporter.Stop(ctx)
	return time.Since(began), err
}

// receiver takes spans over http while it is open.
func receiver(t testing.TB, handle http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
}

// Spans that are in the queue when Stop is called still arrive.
func TestStopSendsTheRest(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		receiver(t, func(http.ResponseWriter, *http.Request) {})
		t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
		r := newRig(t, 8192)
		r.record(3000)
		_, err := r.stop(time.Minute)
		if exported, failed, missed := r.counts.now(); err != nil || exported != 3000 || failed != 0 || missed != 0 || r.log.Len() > 0 {
			t.Errorf("%v; exported %d, failed %d, missed %d; said %q", err, exported, failed, missed, r.log)
		}
	})
}

// A receiver that takes nothing holds up the exporter and nobody else: syncs are
// recorded as ever, and what the ring has no room for is counted.
func TestSlowReceiver(t *testing.T) {
	const syncs = 20_000
	open, asked := make(chan struct{}), make(chan struct{}, 1)
	receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-open:
		case <-r.Context().Done():
		}
	})
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "32")
	r := newRig(t, 512)
	r.record(64)
	<-asked // The first batch is on its way and stays there.
	const parts = 16
	quickest := time.Hour // A busy machine slows some parts down; whoever waits for the receiver, all.
	for range parts {
		began := time.Now()
		r.record((syncs - 64) / parts)
		quickest = min(quickest, time.Since(began)*parts/(syncs-64))
	}
	if quickest > 100*time.Microsecond {
		t.Errorf("recording took at least %v each beside a receiver that takes nothing", quickest)
	}
	close(open)
	_, err := r.stop(time.Minute)
	exported, failed, missed := r.counts.now()
	if err != nil || exported+missed != syncs || failed != 0 || missed < syncs-1024 {
		t.Errorf("%v; exported %d, failed %d, missed %d of %d", err, exported, failed, missed, syncs)
	}
	if n := strings.Count(r.log.String(), "the receiver is too slow"); n != 1 {
		t.Errorf("%d lines of missed syncs in a minute, want 1:\n%s", n, r.log)
	}
}

// A receiver that never answers does not hold up the end of the program.
func TestStopWithinItsDeadline(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for protocol, first := range map[string]string{"http/protobuf": "POST", "grpc": "PRI "} {
		t.Run(protocol, func(t *testing.T) {
			said := silent(t)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")
			t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "600000")
			t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
			r := newRig(t, 8192)
			r.record(1000)
			took, err := r.stop(300 * time.Millisecond)
			if !errors.Is(err, context.DeadlineExceeded) || took < 300*time.Millisecond || took > 5*time.Second {
				t.Errorf("Stop = %v after %v, want that not everything was sent in 300 ms", err, took)
			}
			if exported, failed, missed := r.counts.now(); exported != 0 || failed+missed != 1000 {
				t.Errorf("exported %d, failed %d, missed %d", exported, failed, missed)
			}
			if got := <-said; got != first {
				t.Errorf("the exporter began with %q, want %q", got, first)
			}
		})
	}
}

// silent accepts connections and says nothing. It gives the first four bytes that it is told.
func silent(t *testing.T) (said <-chan string) {
	t.Helper()
	first := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				head := make([]byte, 4)
				_, _ = io.ReadFull(c, head)
				select {
				case first <- string(head):
				default:
				}
				_, _ = io.Copy(io.Discard, c) // until the exporter hangs up
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	return first
}

// Nobody listens: spans fail, are counted, and the log says so once a minute.
func TestReceiverIsDown(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "50")
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
			r := newRig(t, 8192)
			r.record(40)
			_, err = r.stop(time.Minute)
			if exported, failed, missed := r.counts.now(); err != nil || exported != 0 || failed != 40 || missed != 0 {
				t.Errorf("%v; exported %d, failed %d, missed %d", err, exported, failed, missed)
			}
			if n := strings.Count(r.log.String(), "spans could not be sent"); n != 1 || !strings.Contains(r.log.String(), "error=") {
				t.Errorf("%d lines of failures in a minute, want 1 with the error:\n%s", n, r.log)
			}
		})
	}
}

// A receiver that refuses is no reason to try forever, nor to be silent.
func TestReceiverRefuses(t *testing.T) {
	receiver(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) })
	r := newRig(t, 8192)
	r.record(5)
	_, err := r.stop(time.Minute)
	if _, failed, _ := r.counts.now(); err != nil || failed != 5 || !strings.Contains(r.log.String(), "who are you?") {
		t.Errorf("%v; failed %d:\n%s", err, failed, r.log)
	}
}

// What is sent as the headers of the environment arrives as headers.
func TestHeadersArrive(t *testing.T) {
	got := make(chan string, 1)
	receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case got <- r.URL.Path + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Content-Encoding"):
		default:
		}
	})
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20c2VjcmV0")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	r := newRig(t, 8192)
	r.record(1)
	if _, err := r.stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if request := <-got; request != "/v1/traces Basic c2VjcmV0 gzip" {
		t.Errorf("the receiver got %q", request)
	}
}

// TestResource: who sends the spans, where the environment has the last word.
func TestResource(t *testing.T) {
	only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere, "OTEL_RESOURCE_ATTRIBUTES": "team=blue,telemetry.sdk.name=ours"})
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: testLoops, Epoch: "7c41"})
	e, err := New(t.Context(), Options{Journal: j, Cluster: "kind", Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[attribute.Key]string{
		"service.name": "loopscope", "service.version": "v1.2.3", "service.instance.id": "7c41", "k8s.cluster.name": "kind", "loopscope.epoch": "7c41", "team": "blue", "telemetry.sdk.name": "ours",
	} {
		if got, _ := e.resource.Set().Value(key); got.AsString() != want {
			t.Errorf("%s is %q, want %q", key, got.AsString(), want)
		}
	}
	if age := time.Since(e.opts.Clock()); age > time.Minute {
		t.Errorf("without a clock it is %s ago", age)
	}
	if e, err = New(t.Context(), Options{Journal: j, Clock: func() time.Time { return time.Time{} }}); err != nil || !e.opts.Clock().IsZero() {
		t.Errorf("its own clock is not used (%v)", err)
	}
}

// TestStartWithoutTime: an exporter that cannot begin says so.
func TestStartWithoutTime(t *testing.T) {
	only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": somewhere})
	e, err := New(t.Context(), Options{Journal: telemetry.NewJournal(telemetry.JournalOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestAfterTheEnd nothing is sent any more, and all of it is counted.
func TestAfterTheEnd(t *testing.T) {
	memory, c, journal := tracetest.NewInMemoryExporter(), &counts{}, telemetry.NewJournal(telemetry.JournalOptions{})
	e := &Exporter{opts: Options{Journal: journal, Counts: c, Logger: slog.New(slog.DiscardHandler), Clock: time.Now}}
	e.missed, e.outlet = e.warn("missed"), newSpanExporter(memory, c, e.warn)
	r := rig{journal: journal}
	r.record(3)
	batch := journal.Kept(0, 9)
	e.outlet.close()
	if last := e.take(batch, 2, 0); last != 3 {
		t.Errorf("the last one is %d, want 3", last)
	}
	e.drain(1)
	if err := e.outlet.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 4)); err != nil || len(memory.GetSpans()) > 0 {
		t.Errorf("%d spans were sent, %v", len(memory.GetSpans()), err)
	}
	if exported, failed, missed := c.now(); exported != 0 || failed != 4 || missed != 2+3+2 {
		t.Errorf("exported %d, failed %d, missed %d", exported, failed, missed)
	}
}

// unending cannot be ended.
type unending struct{ *tracetest.InMemoryExporter }

var errUnending = errors.New("it goes on")

func (unending) Shutdown(context.Context) error { return errUnending }

// TestStopTellsOfTheEnd that the exporter below could not make.
func TestStopTellsOfTheEnd(t *testing.T) {
	e := &Exporter{cancel: func() {}, done: make(chan struct{})}
	e.outlet = newSpanExporter(unending{tracetest.NewInMemoryExporter()}, &counts{}, e.warn)
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(e.outlet))
	close(e.done)
	if err := e.Stop(t.Context()); !errors.Is(err, errUnending) || !strings.HasPrefix(err.Error(), "opentelemetry: end the export: ") {
		t.Errorf("error %v", err)
	}
}

func TestSeldom(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	s := &rateLimitedLog{logger: slog.New(slog.NewTextHandler(&log, nil)), message: "missed", now: func() time.Time { return now }}
	for i, after := range []time.Duration{0, time.Second, 58 * time.Second, time.Second, time.Second} {
		now = now.Add(after)
		s.log(uint64(i + 1))
	}
	if got := log.String(); strings.Count(got, "missed") != 2 || !strings.Contains(got, "count=1\n") || !strings.Contains(got, "count=9\n") {
		t.Errorf("said:\n%s", got)
	}
}
