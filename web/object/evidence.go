package object

import (
	"context"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
)

const (
	// askedWithin is how long a page waits for the events of pods.
	askedWithin = time.Second
	// evidenceFor is how long they are shown without being read again.
	evidenceFor = 10 * time.Second
	// maxEvidence bounds the objects of which events are remembered.
	maxEvidence = 256
)

// evidence is what was read of the events of objects, by their address. Whoever opens a
// page has them read; while it is live it shows what was read then, so that no sync
// and no drawing waits for the API server.
type evidence struct {
	mu sync.Mutex
	of map[telemetry.Object]cachedWarnings
}

// cachedWarnings is the warnings of one object's pods, as read at a moment.
type cachedWarnings struct {
	at   time.Time
	list []telemetry.Warning
	err  error
}

// evidenceOf is the newest warnings of the pods that keep an object. nil where there
// are none to look at.
func (s *Pages) evidenceOf(q *page.Query, t *telemetry.Trace, found []decision.Finding) *views.Evidence {
	var pods []string
	for _, f := range found {
		pods = append(pods, f.Pods...)
	}
	if len(pods) == 0 || s.Opts.Warnings == nil {
		return nil
	}
	read, known := s.seen.last(t.Object)
	if !q.Live && (!known || q.Now.Sub(read.at) > evidenceFor) {
		read = s.readWarnings(q, t, pods[:min(len(pods), 3)])
	}
	v := &views.Evidence{At: read.at, Again: address.Of(t.Object)}
	if read.err != nil {
		v.Error = prose.Clip(read.err.Error(), 200)
	}
	for _, w := range read.list {
		v.Warnings = append(v.Warnings, views.Warning{At: w.At, Count: w.Count, Object: w.Object, Reason: w.Reason, Message: prose.Clip(w.Message, 400)})
	}
	return v
}

func (s *Pages) readWarnings(q *page.Query, t *telemetry.Trace, pods []string) cachedWarnings {
	found := cachedWarnings{at: q.Now.UTC()}
	read := func() error { // Others draw while the API server is asked.
		ctx, cancel := context.WithTimeout(q.Ctx, askedWithin)
		defer cancel()
		found.list, found.err = s.Opts.Warnings(ctx, t.Namespace, pods)
		return q.Ctx.Err()
	}
	if err := q.Slot.Without(q.Ctx, read); err != nil {
		return cachedWarnings{at: found.at, err: err} // The reader has left, which is no news of the pods.
	}
	s.seen.keep(t.Object, found)
	return found
}

func (e *evidence) last(o telemetry.Object) (cachedWarnings, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found, known := e.of[o]
	return found, known
}

func (e *evidence) keep(o telemetry.Object, found cachedWarnings) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil || len(e.of) >= maxEvidence {
		e.of = map[telemetry.Object]cachedWarnings{}
	}
	e.of[o] = found
}
