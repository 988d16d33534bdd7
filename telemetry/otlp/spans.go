package otlp

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// export makes the spans of one sync. Of what a standby would have done there are none:
// the leader's own say what was.
func (e *Exporter) export(t *telemetry.Trace) {
	if t.Standby {
		return
	}
	m := momentsOf(t)
	links, others := e.causes(t)
	ctx, span := e.tracer.Start(named(context.Background(), spanName{epoch: t.Epoch, sync: t.Seq}), "sync "+t.Loop,
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(t.Started),
		trace.WithLinks(links...), trace.WithAttributes(syncAttributes(t)...))
	defer span.End(trace.WithTimestamp(m.ended))
	if !span.IsRecording() {
		return // The sampler left it out, and so its writes.
	}
	for _, c := range others {
		span.AddEvent("cause", trace.WithTimestamp(c.At), trace.WithAttributes(causeAttributes(c)...))
	}
	asked(span, t, m)
	if message, failed := failure(t); failed {
		span.SetStatus(codes.Error, message)
	}
	e.writes(ctx, t, m)
}

// moments are when the phases of a sync began, as far as it is recorded.
type moments struct{ decided, acted, settled, published, ended time.Time }

func momentsOf(t *telemetry.Trace) moments {
	m := moments{ended: t.Ended}
	if m.ended.Before(t.Started) {
		m.ended = t.Started // A clock that was set back.
	}
	within := func(at time.Time) time.Time {
		switch {
		case at.Before(t.Started):
			return t.Started
		case at.After(m.ended):
			return m.ended
		}
		return at
	}
	m.decided = within(t.Started.Add(t.Phases.Observe))
	m.acted = within(m.decided.Add(t.Phases.Decide))
	m.published = within(m.ended.Add(-t.Phases.Publish))
	m.settled = within(m.published.Add(-t.Phases.Settle))
	return m
}

// causes are links to the syncs of ours that caused this one, and what else did.
func (e *Exporter) causes(t *telemetry.Trace) (links []trace.Link, others []*telemetry.Cause) {
	for i := range t.Causes {
		c := &t.Causes[i]
		if sync, ok := e.writerOf(t, c); ok {
			links = append(links, trace.Link{SpanContext: spanName{epoch: t.Epoch, sync: sync}.spanContext(), Attributes: causeAttributes(c)})
			continue
		}
		others = append(others, c)
	}
	if t.TakenBy != 0 {
		links = append(links, trace.Link{SpanContext: spanName{epoch: t.Epoch, sync: t.TakenBy}.spanContext(), Attributes: takenAttributes})
	}
	return links, others
}

// writerOf is the sync of ours whose write a cause tells of.
func (e *Exporter) writerOf(t *telemetry.Trace, c *telemetry.Cause) (uint64, bool) {
	if c.Sync != 0 {
		return c.Sync, true
	}
	kind, namespace, name, _ := t.Called(c.Object) // Nothing is known of what has no name.
	if c.Kind == telemetry.CauseDeleted || c.Kind == telemetry.CauseTombstone {
		sync, _ := e.opts.Journal.Named(kind, namespace, name) // 0 is no sync.
		return sync, e.ended(sync, kind, namespace, name)
	}
	return e.opts.Journal.SyncOf(kind, namespace, name, c.NewRV)
}

// ended reports whether that sync deleted the object: the newest that named it
// may as well have created it.
func (e *Exporter) ended(sync uint64, kind, namespace, name string) bool {
	t, ok := e.opts.Journal.Get(sync)
	return ok && t.Deleted(e.opts.Journal.Loops(), kind, namespace, name)
}

// asked adds the questions of a sync and what was held back, round by round.
func asked(span trace.Span, t *telemetry.Trace, m moments) {
	for r := range t.Rounds {
		v := &t.Rounds[r].Verdict
		last := r == len(t.Rounds)-1 // What was learnt by acting on the others led to another round.
		for i := range v.Path {
			span.AddEvent(v.Path[i].Question, trace.WithTimestamp(m.decided), trace.WithAttributes(stepAttributes(&v.Path[i], r+1, last && i == len(v.Path)-1)...))
		}
		for i := range v.Held {
			span.AddEvent("held", trace.WithTimestamp(m.decided), trace.WithAttributes(heldAttributes(&v.Held[i], r+1, m.ended)...))
		}
	}
	if t.Report == nil {
		return
	}
	for i := range t.Report.Path {
		span.AddEvent(t.Report.Path[i].Question, trace.WithTimestamp(m.settled), trace.WithAttributes(stepAttributes(&t.Report.Path[i], 0, false)...))
	}
}

// failure is what a failed sync says of itself.
func failure(t *telemetry.Trace) (message string, failed bool) {
	switch t.Result {
	case telemetry.ResultFailed, telemetry.ResultDropped, telemetry.ResultPanicked, telemetry.ResultUnknown:
		failed = true
	}
	if t.Failure != nil {
		return t.Failure.Message, true
	}
	return string(t.Result), failed
}

// writes adds a span for each request, one after another from the beginning of
// acting, the status that its report wrote from that of publishing. Pods of one action are sent
// together, and only the phase of all of them is on record.
func (e *Exporter) writes(ctx context.Context, t *telemetry.Trace, m moments) {
	next, reported := m.acted, t.Report != nil && t.Report.Outcome != nil
	for i, w := range t.Writes(e.opts.Journal.Loops()) {
		from, to := next, next.Add(w.Took)
		switch {
		case reported && w.Kind == telemetry.WriteStatus && w.Question == "":
			from, to = m.published, m.published.Add(w.Took)
		case w.Took == 0:
			from, to = m.acted, m.acted.Add(t.Phases.Act)
		default:
			next = to
		}
		if to.After(m.ended) {
			to = m.ended
		}
		verb, resource := request(&w, t)
		_, span := e.tracer.Start(named(ctx, spanName{epoch: t.Epoch, sync: t.Seq, write: i + 1}), verb+" "+resource,
			trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(from), trace.WithAttributes(writeAttributes(&w, t, verb, resource)...))
		if f := w.Failure; f != nil && w.State != decision.Tolerated {
			span.SetStatus(codes.Error, f.Message)
		}
		span.End(trace.WithTimestamp(to))
	}
}
