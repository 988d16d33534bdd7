package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/loopscope/loopscope/telemetry"
)

// scope is the instrumentation scope of the spans.
const scope = "github.com/loopscope/loopscope/telemetry/otlp"

// Counts takes how many spans were sent and how many were not. Its methods are
// called from several goroutines.
type Counts interface {
	// SpansExported counts spans that the receiver took, SpansFailed those that
	// it did not take, or not in time.
	SpansExported(n int)
	SpansFailed(n int)
	// SyncsMissed counts syncs of which no span was made, as the journal had
	// gone on without this reader.
	SyncsMissed(n uint64)
}

// Options says what is exported. Journal, Counts and Logger are required.
type Options struct {
	Journal *telemetry.Journal
	Counts  Counts
	Logger  *slog.Logger
	// Cluster and Version go into the resource of the spans.
	Cluster, Version string
	// Clock spaces out what is logged. Default time.Now.
	Clock func() time.Time
}

// Exporter is a reader of a journal that sends what it reads as spans. It is
// started and stopped once.
type Exporter struct {
	opts     Options
	protocol string
	resource *resource.Resource
	missed   *rateLimitedLog

	outlet   *spanExporter
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	cancel   context.CancelFunc
	done     chan struct{}
}

// New checks the environment. It returns nil where that asks for no export, and
// an error that names the variable where a value is wrong. Nothing runs before Start.
func New(ctx context.Context, o Options) (*Exporter, error) {
	protocol, err := environment()
	if err != nil || protocol == "" {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	e := &Exporter{opts: o, protocol: protocol, done: make(chan struct{})}
	e.missed = e.warn("OpenTelemetry: the receiver is too slow, syncs were left out")
	e.resource, err = resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", "loopscope"),
			attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Journal.Epoch()),
			attribute.String("k8s.cluster.name", o.Cluster),
			attribute.String("loopscope.epoch", o.Journal.Epoch()),
		),
		resource.WithFromEnv(), // The last one wins.
	)
	if err != nil {
		return nil, fmt.Errorf("opentelemetry: OTEL_RESOURCE_ATTRIBUTES: %w; write key=value,key=value", err)
	}
	return e, nil
}

func (e *Exporter) warn(message string) *rateLimitedLog {
	return &rateLimitedLog{logger: e.opts.Logger, message: message, now: e.opts.Clock}
}

// Start reads the journal from its beginning on, in a goroutine of its own,
// until Stop. The receiver need not be there.
func (e *Exporter) Start(ctx context.Context) error {
	to, err := e.sender(ctx)
	if err != nil {
		return fmt.Errorf("opentelemetry: %w", err)
	}
	e.outlet = newSpanExporter(to, e.opts.Counts, e.warn)
	e.provider = sdktrace.NewTracerProvider(
		sdktrace.WithIDGenerator(derived{}),
		sdktrace.WithResource(e.resource),
		// A full queue holds up this reader and nobody else: the journal then
		// says how many it missed, where the queue would drop spans unseen.
		sdktrace.WithBatcher(e.outlet, sdktrace.WithBlocking()),
	)
	e.tracer = e.provider.Tracer(scope, trace.WithInstrumentationVersion(e.opts.Version))
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(e.done)
		e.drain(e.follow(ctx))
	}()
	return nil
}

// sender is the protocol's exporter, which takes its settings from the environment.
func (e *Exporter) sender(ctx context.Context) (*otlptrace.Exporter, error) {
	if e.protocol == protocolGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// follow reads until ctx or the journal ends, and returns the last number it has read.
func (e *Exporter) follow(ctx context.Context) (after uint64) {
	for {
		batch, missed, err := e.opts.Journal.Next(ctx, after)
		if err != nil {
			return after
		}
		after = e.take(batch, missed, after)
	}
}

// drain reads what was recorded until now.
func (e *Exporter) drain(after uint64) {
	ctx := context.Background() // There is something to read in every round: none waits.
	for last := e.opts.Journal.Last(); after < last; {
		if e.outlet.over() {
			e.miss(last - after)
			return
		}
		batch, missed, err := e.opts.Journal.Next(ctx, after)
		if err != nil {
			return
		}
		after = e.take(batch, missed, after)
	}
}

// take makes spans of a batch.
func (e *Exporter) take(batch []*telemetry.Trace, missed, after uint64) uint64 {
	e.miss(missed)
	for i, t := range batch {
		if e.outlet.over() {
			e.miss(uint64(len(batch) - i))
			return batch[len(batch)-1].Seq
		}
		e.export(t)
		after = t.Seq
	}
	return after
}

func (e *Exporter) miss(n uint64) {
	if n > 0 {
		e.opts.Counts.SyncsMissed(n)
		e.missed.log(n)
	}
}

// Stop sends what was recorded until now and ends the export. Where ctx ends
// first the rest is given up, counted, and told by the error. It is called once,
// after Start.
func (e *Exporter) Stop(ctx context.Context) error {
	e.cancel()
	defer context.AfterFunc(ctx, e.outlet.close)()
	<-e.done // At the latest when the outlet is closed, as nothing is waited for then.
	if err := e.provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("opentelemetry: end the export: %w", err)
	}
	if e.outlet.over() {
		return fmt.Errorf("opentelemetry: not everything was sent in time: %w", ctx.Err())
	}
	return nil
}
