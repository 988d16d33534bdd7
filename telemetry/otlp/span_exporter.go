package otlp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter counts what goes through an exporter and tells of its failures. They
// end here: the SDK would hand them to a handler of the whole process.
type spanExporter struct {
	next   sdktrace.SpanExporter
	counts Counts
	failed *rateLimitedLog

	once   sync.Once
	closed chan struct{} // closes when time is up
}

func newSpanExporter(next sdktrace.SpanExporter, counts Counts, failed *rateLimitedLog) *spanExporter {
	return &spanExporter{next: next, counts: counts, failed: failed, closed: make(chan struct{})}
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
	if err := o.next.ExportSpans(ctx, spans); err != nil {
		o.counts.SpansFailed(len(spans))
		o.failed.log(uint64(len(spans)), slog.Any("error", err))
		return nil
	}
	o.counts.SpansExported(len(spans))
	return nil
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
