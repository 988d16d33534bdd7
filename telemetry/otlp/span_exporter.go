package otlp

import (
	"context"
	"log/slog"
	"regexp"
	"strconv"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter counts what goes through an exporter and tells of its failures. They
// end here: the SDK would hand them to a handler of the whole process.
type spanExporter struct {
	next   sdktrace.SpanExporter
	counts Counts
	// failed is of spans that were not sent, rejected of those that the receiver did not take among
	// others, and warned of those with which it found fault and took them.
	failed, rejected, warned *rateLimitedLog

	once   sync.Once
	closed chan struct{} // closes when time is up
}

func newSpanExporter(next sdktrace.SpanExporter, counts Counts, warn func(message string) *rateLimitedLog) *spanExporter {
	return &spanExporter{
		next: next, counts: counts, closed: make(chan struct{}),
		failed:   warn("OpenTelemetry: spans could not be sent"),
		rejected: warn("OpenTelemetry: the receiver rejected spans"),
		warned:   warn("OpenTelemetry: the receiver took spans with a warning"),
	}
}

// ExportSpans is part of sdktrace.SpanExporter.
func (o *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if o.over() {
		o.counts.SpansFailed(len(spans))
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-o.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	o.sent(len(spans), o.next.ExportSpans(ctx, spans))
	return nil
}

// sent counts spans that were sent with that error.
func (o *spanExporter) sent(spans int, err error) {
	if err == nil {
		o.counts.SpansExported(spans)
		return
	}
	failed, log := spans, o.failed
	if rejected, ok := partialSuccess(err); ok {
		failed, log = min(rejected, spans), o.rejected
	}
	about := failed
	if failed == 0 {
		about, log = spans, o.warned
	}
	if failed > 0 {
		o.counts.SpansFailed(failed)
	}
	if failed < spans {
		o.counts.SpansExported(spans - failed)
	}
	log.log(uint64(about), slog.Any("error", err))
}

// partly is how the exporters say that a receiver took the spans but for some, or with a warning.
// Their error has no type that others could know.
var partly = regexp.MustCompile(`(?s)^OTLP partial success: .* \(([0-9]+) spans rejected\)$`)

// partialSuccess is how many spans were rejected, where nothing else went wrong.
func partialSuccess(err error) (rejected int, ok bool) {
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return partialSuccess(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			n, ok := partialSuccess(e)
			if !ok {
				return 0, false
			}
			rejected += n
		}
		return rejected, true
	}
	if err == nil {
		return 0, false
	}
	found := partly.FindStringSubmatch(err.Error())
	if found == nil {
		return 0, false
	}
	rejected, err = strconv.Atoi(found[1])
	return rejected, err == nil
}

// Shutdown is part of sdktrace.SpanExporter.
func (o *spanExporter) Shutdown(ctx context.Context) error { return o.next.Shutdown(ctx) }

// close makes what is being sent, and all that follows, fail at once.
func (o *spanExporter) close() { o.once.Do(func() { close(o.closed) }) }

func (o *spanExporter) over() bool {
	select {
	case <-o.closed:
		return true
	default:
		return false
	}
}

// rateLimitedLog logs a message at most once a minute, with how many it stands for.
type rateLimitedLog struct {
	logger  *slog.Logger
	message string
	now     func() time.Time

	mu    sync.Mutex
	count uint64
	next  time.Time
}

func (s *rateLimitedLog) log(n uint64, about ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count += n
	if now := s.now(); !now.Before(s.next) {
		s.logger.Warn(s.message, append([]any{"count", s.count}, about...)...)
		s.count, s.next = 0, now.Add(time.Minute)
	}
}
