package telemetry

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// End is when the story ended; zero while it is under way.
func (s *Story) End() time.Time {
	if s.Settled.IsZero() {
		return s.Gone
	}
	return s.Settled
}

// during reports whether a moment lies in the story.
func (s *Story) during(at time.Time) bool {
	return !at.Before(s.Began) && (s.End().IsZero() || !at.After(s.End()))
}

// storyRange is a story among the syncs of its Deployment: first to last.
type storyRange struct {
	first, last   int
	open          bool
	settled, gone bool   // how it ended; neither while it is under way
	next          *Trace // the first sync of another object of that name; nil where none was seen
}

// storyRangeOf finds the story that sync at belongs to. A sync that decided nothing,
// as it waited for an echo, neither begins nor ends one. To what is gone nothing happens
// any more: a timer that was left over belongs to the story that ended so.
func storyRangeOf(loops decision.Loops, syncs []*Trace, at int) (storyRange, bool) {
	for at > 0 && syncs[at].FoundGone() && syncs[at-1].FoundGone() {
		at--
	}
	for at >= 0 && !unsettled(syncs[at]) {
		at--
	}
	if at < 0 {
		return storyRange{}, false
	}
	s := storyRange{first: at, last: at, open: true}
	for i := at; i >= 0; i-- {
		if settled(syncs[i]) {
			s.open = false
			break
		}
		s.first = i
	}
	if first := syncs[s.first]; begins(loops, first) || untouched(loops, first) {
		s.open = false
	}
	s.first = leadingUp(loops, syncs, s.first)
	for i := at + 1; i < len(syncs) && !s.settled && !syncs[s.last].FoundGone(); i++ {
		s.last, s.settled = i, settled(syncs[i])
	}
	s.gone = syncs[s.last].FoundGone()
	return s, true
}

// restBefore is when the last of the syncs before one began that settled their object, zero where none did.
func restBefore(syncs []*Trace, at int) time.Time {
	for _, t := range slices.Backward(syncs[:at]) {
		if settled(t) {
			return t.Started
		}
	}
	return time.Time{}
}

func settled(t *Trace) bool   { return t.Report != nil && t.Sentence.Tone == decision.ToneOK }
func unsettled(t *Trace) bool { return t.Sentence.Tone != decision.ToneOK && t.Result != ResultWaiting }

// begins reports whether a sync is the first of its object.
func begins(loops decision.Loops, t *Trace) bool {
	return slices.ContainsFunc(t.Causes, func(c Cause) bool {
		return c.Kind == CauseAdded && c.Object == t.title(loops)
	})
}

// untouched reports whether a sync was the first about an object that somebody had just
// asked for on another one.
func untouched(loops decision.Loops, t *Trace) bool {
	if !slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Kind == CauseModified || c.Kind == CauseAdded }) {
		return false
	}
	decided, err := t.Decided(loops)
	if err != nil {
		return false
	}
	asked, ok := decided.(decision.Requested)
	return ok && asked.Untouched()
}

// deleted is when an object was, as the first sync of the next one of its name knows it: that sync
// itself where nobody was told.
func (e *Excerpt) deleted(next *Trace) time.Time {
	for i := range next.Causes {
		if c := &next.Causes[i]; c.ends() && c.Object == next.title(e.loops) && !c.At.IsZero() {
			return c.At
		}
	}
	return next.Started
}

// since are the causes of a sync that are of its object: those before it was created anew are of the
// one before.
func (e *Excerpt) since(t *Trace) []Cause {
	from, deleted := 0, false
	for i := range t.Causes {
		switch c := &t.Causes[i]; {
		case c.Object != t.title(e.loops):
		case c.ends():
			deleted = true
		case c.Kind == CauseAdded && deleted:
			from = i
		}
	}
	return t.Causes[from:]
}

// ends reports whether the event is the end of an object.
func (c *Cause) ends() bool { return c.Kind == CauseDeleted || c.Kind == CauseTombstone }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
