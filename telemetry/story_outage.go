package telemetry

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// StoryOutage is an outage as a story met it.
type StoryOutage struct {
	Outage
	// Met is set where only the syncs of the story tell of it: their requests got no
	// answer, and whether those of others did is not known.
	Met bool `json:"met,omitempty"`
	// Due is what could not be done meanwhile. Idle is set where nothing was to be done.
	Due  []Due `json:"due,omitempty"`
	Idle bool  `json:"idle,omitempty"`
	// Tried is when the last of it was tried again; zero while something still is due.
	Tried time.Time `json:"tried,omitzero"`
}

// Due is a write that got no answer, or a sync that got none before it could decide.
type Due struct {
	Object string `json:"object"` // whose sync
	Write  *Write `json:"write,omitempty"`
}

// WithOutages tells the excerpt of the outages that the process knows of, for its stories.
func (e *Excerpt) WithOutages(outages []Outage) *Excerpt {
	e.outages = outages
	return e
}

// outagesOf are those that a story met: the ones that are known of its time, and those
// that its syncs alone tell of. Syncs that no longer failed narrow a known one down,
// as it is only looked now and then whether an API server serves.
func (e *Excerpt) outagesOf(s *Story, syncs []*Trace) []StoryOutage {
	list := met(syncs)
	for _, known := range e.outages {
		if !known.Ended.IsZero() && !known.Ended.After(s.Began) || !s.End().IsZero() && !known.Began.Before(s.End()) {
			continue
		}
		o := StoryOutage{Outage: known}
		o.narrow(syncs)
		list = slices.DeleteFunc(list, func(m StoryOutage) bool { return o.covers(&m) })
		list = append(list, o)
	}
	for i := range list {
		list[i].settle(e.loops, syncs)
	}
	return list
}

// outageBeats tells each outage where it began, or where the story does.
func (e *Excerpt) outageBeats(s *Story, syncs []*Trace) []Beat {
	var list []Beat
	for _, o := range e.outagesOf(s, syncs) {
		b := Beat{Kind: BeatOutage, At: o.Began, Object: "API server", Outage: &o}
		if b.At.Before(s.Began) {
			b.At = s.Began
		}
		list = append(list, b)
	}
	return list
}

// met are the outages that syncs tell of by themselves: from the first that got no
// answer to the next that did, or that was told of an API server that serves again.
func met(syncs []*Trace) []StoryOutage {
	var list []StoryOutage
	open := false
	for _, t := range syncs {
		switch {
		case open && t.answered():
			list[len(list)-1].Ended, open = t.servedAgain(), false
		case !open && t.Unanswered():
			o := StoryOutage{Outage: Outage{Began: t.Started}, Met: true}
			if t.Failure != nil {
				o.Error = t.Failure.Message
			}
			list, open = append(list, o), true
		}
	}
	return list
}

// answered reports whether the sync met an API server that serves.
func (t *Trace) answered() bool {
	return !t.Unanswered() && (t.Wrote() || t.told(CodeAnswersAgain))
}

func (t *Trace) told(code string) bool {
	return slices.ContainsFunc(t.Causes, func(c Cause) bool { return c.Code == code })
}

// servedAgain is when the sync was told that an API server serves again, or else when it found one.
func (t *Trace) servedAgain() time.Time {
	for i := range t.Causes {
		if t.Causes[i].Code == CodeAnswersAgain {
			return t.Causes[i].At
		}
	}
	return t.Started
}

// nearby is how late a probe may find that an API server has gone, or is back.
const nearby = 5 * time.Second

// narrow leaves out of an outage what lies before a write near its beginning, or after
// one near its end, that the API server answered.
func (o *StoryOutage) narrow(syncs []*Trace) {
	began, ended, failed := o.Began, o.Ended, false
	for _, t := range syncs {
		switch at := t.Ended; {
		case !o.during(at):
		case t.Unanswered():
			failed = true
		case !t.Wrote():
		case !failed && at.Sub(began) < nearby && (ended.IsZero() || at.Sub(began) < ended.Sub(at)):
			o.Began = at
		case !ended.IsZero() && ended.Sub(at) < nearby:
			o.Ended = at
		}
	}
}

// during reports whether a moment lies in the outage.
func (o *StoryOutage) during(at time.Time) bool {
	return !at.Before(o.Began) && (o.Ended.IsZero() || at.Before(o.Ended))
}

// covers reports whether two outages are one. What still fails for a moment just after
// the end does so on connections of before.
func (o *StoryOutage) covers(m *StoryOutage) bool {
	if !m.Ended.IsZero() && m.Ended.Before(o.Began) {
		return false
	}
	return o.Ended.IsZero() || !m.Began.After(o.Ended) || !m.Ended.IsZero() && !m.Ended.After(o.Ended.Add(nearby))
}

// settle finds what the syncs left undone in the outage, by the newest try of each
// object, and when it was tried again.
func (o *StoryOutage) settle(loops decision.Loops, syncs []*Trace) {
	left := map[Object]bool{}
	var tried time.Time
	o.Idle = !o.Ended.IsZero()
	for _, t := range syncs {
		within := t.Ended.After(o.Began) && (o.Ended.IsZero() || t.Started.Before(o.Ended))
		o.Idle = o.Idle && !(within && (t.Unanswered() || t.Wrote())) // One that waited for its answer did write.
		switch {
		case within && t.Unanswered():
			left[t.Object] = true
			o.Due = slices.DeleteFunc(o.Due, func(d Due) bool { return d.Object == t.title(loops) })
			o.Due = append(o.Due, t.undone(loops)...)
		case left[t.Object] && o.over(t):
			delete(left, t.Object)
			if tried = t.Started; tried.Before(o.Ended) {
				tried = o.Ended
			}
		}
	}
	if len(left) == 0 {
		o.Tried = tried
	}
}

// over reports whether a sync came after the outage, or was what showed that it is over.
func (o *StoryOutage) over(t *Trace) bool {
	return !o.Ended.IsZero() && (!t.Started.Before(o.Ended) || !t.Unanswered() && !t.Ended.Before(o.Ended))
}

// title is the object as events name it.
func (t *Trace) title(loops decision.Loops) string { return loops.Kind(t.Loop) + " " + t.Name }

// undone is every write of the sync that got no answer, or the sync as a whole
// where it did not come to one.
func (t *Trace) undone(loops decision.Loops) []Due {
	var list []Due
	t.outcomes(func(a *decision.Action, o *decision.Outcome) {
		if !unanswered(o.State, o.Failure) {
			return
		}
		w := t.request(loops, a, o)
		if a != nil && ofPods(a) && a.Target.Kind != "Pod" {
			w.Object, w.Count = "Pod", max(1, o.Failed+o.Untried)
		}
		list = append(list, Due{t.title(loops), &w})
	})
	if len(list) == 0 {
		list = append(list, Due{Object: t.title(loops)})
	}
	return list
}

// unanswered reports whether a request got no answer: none was there to give one, or it was lost.
func unanswered(s decision.State, f *decision.Failure) bool {
	return s == decision.Unanswered || s == decision.Unknown || s == decision.Partly && f.Down()
}

// triedAgain reports whether a sync only tried once more what an earlier one of the
// same object could not do for want of an API server either.
func triedAgain(loops decision.Loops, before, t *Trace) bool {
	if before == nil || !before.Unanswered() || !t.Unanswered() || t.Wrote() || before.Wrote() {
		return false
	}
	return slices.EqualFunc(before.undone(loops), t.undone(loops), func(a, b Due) bool {
		return (a.Write == nil) == (b.Write == nil) && (a.Write == nil || a.Write.Kind == b.Write.Kind && a.Write.Object == b.Write.Object && a.Write.Count == b.Write.Count)
	})
}
