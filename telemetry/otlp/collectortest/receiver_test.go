package collectortest

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/otlp"
)

// receive runs the Collector's OTLP receiver until the test ends, and points the
// exporter's environment to it.
func receive(t *testing.T, protocol string) *consumertest.TracesSink {
	t.Helper()
	address := freeAddress(t)
	settings, name := map[string]any{"http": map[string]any{"endpoint": address}}, "http/protobuf"
	if protocol == "grpc" {
		settings, name = map[string]any{"grpc": map[string]any{"endpoint": address}}, "grpc"
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(map[string]any{"protocols": settings}).Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	sink := new(consumertest.TracesSink)
	r, err := factory.CreateTraces(t.Context(), receivertest.NewNopSettings(factory.Type()), config, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", name)
	return sink
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// counts are what the exporter says of itself.
type counts struct{ exported, failed, missed atomic.Int64 }

func (c *counts) SpansExported(n int)  { c.exported.Add(int64(n)) }
func (c *counts) SpansFailed(n int)    { c.failed.Add(int64(n)) }
func (c *counts) SyncsMissed(n uint64) { c.missed.Add(int64(n)) }

// export records the traces while an exporter reads, and ends it.
func export(t *testing.T, traces []*telemetry.Trace) *counts {
	t.Helper()
	journal := telemetry.NewJournal(telemetry.JournalOptions{Loops: loops, Epoch: "7c41"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go journal.Run(ctx)
	c := &counts{}
	e, err := otlp.New(t.Context(), otlp.Options{
		Journal: journal, Counts: c, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Cluster: "kind", Version: "v1.2.3",
	})
	if err != nil || e == nil {
		t.Fatalf("exporter %v, %v", e, err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tr := range traces {
		journal.Record(tr)
	}
	stopping, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	if err := e.Stop(stopping); err != nil {
		t.Fatal(err)
	}
	return c
}

// received is what a sink took: spans by their parent, which is empty for syncs.
type received struct {
	resource map[string]any
	syncs    map[int64]ptrace.Span // by number
	children map[pcommon.SpanID][]ptrace.Span
	spans    int
}

func read(t *testing.T, sink *consumertest.TracesSink) received {
	t.Helper()
	r := received{syncs: map[int64]ptrace.Span{}, children: map[pcommon.SpanID][]ptrace.Span{}}
	for _, batch := range sink.AllTraces() {
		for _, rs := range batch.ResourceSpans().All() {
			r.resource = rs.Resource().Attributes().AsRaw()
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					r.add(t, s)
				}
			}
		}
	}
	return r
}

func (r *received) add(t *testing.T, s ptrace.Span) {
	t.Helper()
	r.spans++
	if !s.ParentSpanID().IsEmpty() {
		r.children[s.ParentSpanID()] = append(r.children[s.ParentSpanID()], s)
		return
	}
	seq, ok := s.Attributes().Get("loopscope.sync")
	if _, twice := r.syncs[seq.Int()]; !ok || twice {
		t.Errorf("span %s: sync %v, seen before: %v", s.Name(), seq, twice)
	}
	r.syncs[seq.Int()] = s
}
