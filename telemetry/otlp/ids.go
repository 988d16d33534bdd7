package otlp

import (
	"context"
	"crypto/sha256"
	"strconv"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// spanName is what a span's ids are made of: a sync, and its n-th write from 1
// or 0 for the sync itself.
type spanName struct {
	epoch string
	sync  uint64
	write int
}

// ids are the trace that a span of the sync is in and the span's own. They are a
// hash, as samplers take a trace id for evenly spread.
func (n spanName) ids() (of trace.TraceID, span trace.SpanID) {
	sync := n.epoch + "/" + strconv.FormatUint(n.sync, 10)
	whole := sha256.Sum256([]byte("loopscope sync " + sync))
	copy(of[:], whole[:])
	copy(span[:], whole[len(of):])
	if n.write > 0 {
		part := sha256.Sum256([]byte("loopscope write " + sync + "/" + strconv.Itoa(n.write)))
		copy(span[:], part[:])
	}
	return of, span
}

// spanContext is how a link names a sync.
func (n spanName) spanContext() trace.SpanContext {
	of, span := n.ids()
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true})
}

type nameKey struct{}

// named is the context in which a span of that name is started.
func named(ctx context.Context, n spanName) context.Context {
	return context.WithValue(ctx, nameKey{}, n)
}

// derived makes the ids of the span that the context names.
type derived struct{}

var _ sdktrace.IDGenerator = derived{}

// NewIDs is part of sdktrace.IDGenerator.
func (derived) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	n, _ := ctx.Value(nameKey{}).(spanName)
	return n.ids()
}

// NewSpanID is part of sdktrace.IDGenerator.
func (derived) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	n, _ := ctx.Value(nameKey{}).(spanName)
	_, span := n.ids()
	return span
}
