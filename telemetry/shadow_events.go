package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

const (
	// eventSettles is how long an event waits to be compared: until all is known of the write that it tells of.
	eventSettles = ShadowSettles + 5*time.Second
	// eventWithin is how long after a write its event may come: a controller under load publishes at the
	// rate at which it writes, behind its writes. So long events are kept, too, as they tell who created
	// and deleted.
	eventWithin = 2 * time.Minute
	// signedWithin is how long a deletion that is not called for waits for an event that says who did it.
	signedWithin = time.Minute
	maxEvents    = 4096
	// oldestStamp is how old an event may say that it is when it comes.
	oldestStamp = 10 * time.Minute
)

// Published is a Kubernetes Event that another controller published about an object of a loop, in the
// moment in which it was new or was counted once more.
type Published struct {
	Object
	UID string
	decision.Event
	// Named is the name of the event, and Component who published it.
	Named, Component string
	At               time.Time // when it was seen here
	// Stamped is when it happened, by the clock of who published it; zero where it does not say.
	Stamped time.Time
}

// published is one with what became of it here.
type published struct {
	Published
	judged bool
}

// judged is what came of a part of a write: events tell of it.
type judged struct {
	Object
	decision.Predictable
	name    string
	at      time.Time
	verdict ShadowVerdict
	// told are the events of the decision that it agrees with.
	told     []decision.Event
	question string
	// signed is set where an event had told of it by then: that may be given up before the write is counted.
	signed bool
}

// ShadowEvents is how events are compared.
type ShadowEvents struct {
	// Followed is set while they are watched; Why says why they are not.
	Followed bool   `json:"followed"`
	Why      string `json:"why,omitempty"`
	// Told counts writes that agree and that the rules tell of in an event, and Untold those of them
	// whose event was not seen: it was dropped, or put together with others, or never came.
	Told   uint64 `json:"told"`
	Untold uint64 `json:"untold"`
}

// Follows notes whether events are watched, and why not.
func (s *Shadow) Follows(events bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Events.Followed, s.state.Events.Why = events, why
}

// Heard takes an event of another controller. It is compared some seconds later.
func (s *Shadow) Heard(p *Published) {
	if !slices.Contains(s.loops.Of(p.Loop).Predicts, eventOf(s.loops.Kind(p.Loop))) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heard) >= maxEvents && !s.heard[0].judged {
		s.state.LeftOut++
		return
	}
	if len(s.heard) >= maxEvents {
		s.heard[0], s.heard = published{}, s.heard[1:]
	}
	s.heard = append(s.heard, published{Published: *p})
}

func eventOf(kind string) decision.Predictable {
	return decision.Predictable{Aspect: decision.AspectEvent, Of: kind}
}

// told compares events that are old enough, and gives up what no event can tell of any more.
func (s *Shadow) told(now time.Time) {
	for i := range s.heard {
		e := &s.heard[i]
		if e.judged || now.Sub(e.At) <= eventSettles {
			continue
		}
		if e.judged = true; s.budget.has() {
			s.budget.spend(func() { s.judgeEvent(e) })
		} else {
			s.state.LeftOut++
		}
	}
	for len(s.judged) > 0 && (now.Sub(s.judged[0].at) > eventWithin || len(s.judged) > maxEvents) {
		s.countTold(&s.judged[0])
		s.judged[0] = judged{}
		s.judged = s.judged[1:]
	}
	s.heard = slices.DeleteFunc(s.heard, func(e published) bool { return now.Sub(e.At) > eventWithin })
}

// countTold counts a write of the other controller by whether an event told of it.
func (s *Shadow) countTold(w *judged) {
	sign := s.loops.Of(w.Loop).Signs[w.Predictable]
	if sign == "" || !w.verdict.Agrees() || !s.state.Events.Followed {
		return
	}
	if s.state.Events.Told++; !w.signed && s.signer(w.Object, w.Predictable, w.name) == "" {
		s.state.Events.Untold++
	}
}

// signer is who of the other controller made or deleted that, by an event that tells so; "" for nobody known.
func (s *Shadow) signer(o Object, p decision.Predictable, name string) string {
	if e := s.signature(o, p, name, time.Time{}); e != nil {
		return e.Component
	}
	return ""
}

// signature is the first event that tells so and was not seen before that time; nil for none.
func (s *Shadow) signature(o Object, p decision.Predictable, name string, since time.Time) *published {
	sign := s.loops.Of(o.Loop).Signs[p]
	for i := range s.heard {
		if e := &s.heard[i]; e.Object == o && e.Reason == sign && !e.At.Before(since) && e.Names(name) {
			return e
		}
	}
	return nil
}

// keepJudged keeps what came of a part of a write, unless no event tells of such a one.
func (s *Shadow) keepJudged(x *suspect, part int, verdict ShadowVerdict) {
	p := &x.parts[part]
	if !s.state.Events.Followed || p.Aspect == decision.AspectStatus || p.Aspect == decision.AspectConditions {
		return
	}
	told := x.best.told
	if x.best.on != nil && x.best.parts[part].agrees {
		told = s.eventsOn(x.best.on)
	}
	signed := s.signature(x.trace.Object, p.Predictable, p.Name, x.cause.At.Add(-ShadowSettles)) != nil // An older one tells of another write.
	s.judged = append(s.judged, judged{x.trace.Object, p.Predictable, p.Name, x.trace.Ended, verdict, told, x.best.parts[part].question, signed})
}

// judgeEvent holds an event against what the rules publish: where they agree with the writes that were seen,
// and on the states that there were around it. One that tells of a write which is a difference is that
// difference, and not another one; one that tells of no write that was seen came too late, as did one of what may have
// been decided on a state that nobody here knows.
func (s *Shadow) judgeEvent(e *published) {
	d := Difference{Verdict: ShadowUnexplained, At: e.At, Object: e.Object, Predictable: eventOf(s.loops.Kind(e.Loop)), Target: e.Object.Name, Predicted: notCalledFor,
		Observed: e.Event.Type + " " + e.Reason + ": " + e.Message, Manager: e.Component}
	named := false
	for i := range s.judged {
		w := &s.judged[i]
		if w.Object != e.Object {
			continue
		}
		if d.publishes(&e.Event, w.told) {
			d.Question = w.question
			break
		}
		named = named || e.Names(w.name) && s.loops.Of(e.Loop).Signs[w.Predictable] == e.Reason
		if !w.verdict.Agrees() && e.Names(w.name) {
			return
		}
	}
	syncs, tried := s.around(e), 0
	for _, t := range syncs {
		if s.decoded(t) == nil {
			continue
		}
		tried++
		if d.Question = cmp.Or(d.Question, t.Leaf()); d.Verdict.Agrees() {
			break
		}
		if d.publishes(&e.Event, s.eventsOn(t)) {
			d.Question = t.Leaf()
		}
	}
	if tried == 0 || !d.Verdict.Agrees() && (e.late() || !named && s.signs(e) || s.onUnknown(e.Object, e.happened())) {
		s.state.Together++
		return
	}
	last := slices.MaxFunc(syncs, func(a, b *Trace) int { return cmp.Compare(a.Seq, b.Seq) })
	d.Epoch, d.SeenIn = last.Epoch, last.Seq
	s.note(&suspect{observed{cause: &Cause{Kind: CauseAdded, At: e.At, Object: e.Call("Event", e.Namespace, e.Named), Manager: e.Component}}, last, answer{tried: tried}}, d)
}

// signs reports whether an event is of a reason that tells of a write.
func (s *Shadow) signs(e *published) bool {
	for _, reason := range s.loops.Of(e.Loop).Signs {
		if reason == e.Reason {
			return true
		}
	}
	return false
}

// publishes notes whether the event is among those, or which of the same reason is.
func (d *Difference) publishes(e *decision.Event, told []decision.Event) bool {
	for i := range told {
		switch f := &told[i]; {
		case f.Foretells(e):
			d.Verdict = ShadowAgrees
			return true
		case f.Reason == e.Reason && d.Predicted == notCalledFor:
			d.Predicted = f.Type + " " + f.Reason + ": " + f.Message
		}
	}
	return false
}

// happened is when it did, as far as its stamp can be so. No stamp is one of long ago.
func (e *published) happened() time.Time {
	if stamp := e.Stamped; stamp.Before(e.At) && e.At.Sub(stamp) < oldestStamp {
		return stamp
	}
	return e.At
}

// late reports whether it came when what it tells of may have been given up here.
func (e *published) late() bool { return e.At.Sub(e.happened()) > eventWithin }

// around are the syncs of the object of an event from before it may have happened to when all was seen: first
// those before it, the newest first.
func (s *Shadow) around(e *published) []*Trace {
	happened := e.happened()
	all := s.last.of(e.Object)
	from, to := 0, 0
	for i, t := range all {
		if t.Ended.Before(happened.Add(-maxLag)) {
			from = i // the newest before it: so it still was
		}
		if !t.Ended.After(e.At.Add(ShadowSettles)) {
			to = i + 1
		}
	}
	before := from
	for before < to && !all[before].Ended.After(e.At) {
		before++
	}
	list := slices.Clone(all[from:before])
	slices.Reverse(list)
	list = append(list, all[before:max(before, to)]...)
	return slices.DeleteFunc(list, func(t *Trace) bool { return e.UID != "" && t.UID != "" && t.UID != e.UID })
}

// eventsOn are the events that the rules publish on what a sync decided on.
func (s *Shadow) eventsOn(t *Trace) []decision.Event {
	told, known := s.last.events[t]
	if !known {
		told = s.eventsOf(s.decoded(t))
		s.last.keepEvents(t, told)
	}
	return told
}

// eventsOf are those of a snapshot; none of one that no cluster ever was like.
func (s *Shadow) eventsOf(snapshot decision.Snapshot) (list []decision.Event) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	return decision.EventsOn(snapshot, s.rehashes())
}
