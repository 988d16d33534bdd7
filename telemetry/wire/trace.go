package wire

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func (w *coder) trace(t *telemetry.Trace) {
	w.start, w.rv = w.varint(t.Started.Unix()), 0
	integer(w, &t.Version)
	str(w, &t.Epoch)
	count(w, &t.Seq)
	str(w, &t.Loop)
	str(w, &t.Namespace)
	str(w, &t.Name)
	m := w.mask(3)
	orStr(&m, &t.UID)
	orStr(&m, &t.Owner)
	orEach(&m, &t.Causes, (*coder).cause)
	orInteger(&m, &t.Folded)
	m.count(&t.TakenBy)
	orInteger(&m, &t.Worker)
	m.instant(&t.Queued)
	m.instant(&t.Ended)
	for _, d := range []*time.Duration{&t.Phases.Observe, &t.Phases.Decide, &t.Phases.Act, &t.Phases.Settle, &t.Phases.Publish} {
		orInteger(&m, d)
	}
	orEach(&m, &t.Rounds, (*coder).round)
	maybe(&m, &t.Report, (*coder).report)
	orEach(&m, &t.Timers, (*coder).timer)
	orEach(&m, &t.Numbers, (*coder).fact)
	maybe(&m, &t.Estimate, (*coder).estimate)
	maybe(&m, &t.Failure, (*coder).failure)
	m.bool(&t.Gone)
	if m.has(t.Try != (decision.Try{})) {
		w.try(&t.Try)
	}
	orEach(&m, &t.Diagnosis.Findings, (*coder).finding)
	m.end()
	w.instant(&t.Started)
	str(w, &t.Result)
	w.sentence(&t.Sentence)
	w.snapshot(&t.Snapshot)
}

func (w *coder) try(t *decision.Try) {
	integer(w, &t.Number)
	integer(w, &t.Limit)
	w.instant(&t.Next)
	w.bool(&t.Dropped)
}

func (w *coder) cause(c *telemetry.Cause) {
	str(w, &c.Kind)
	w.instant(&c.At)
	m := w.mask(1)
	orStr(&m, &c.Object)
	orRV(&m, &c.OldRV)
	orRV(&m, &c.NewRV)
	orEach(&m, &c.Fields, (*coder).change)
	orStr(&m, &c.Manager)
	m.count(&c.Sync)
	orStr(&m, &c.Code)
	m.instant(&c.Due)
	m.end()
}

func (w *coder) change(c *decision.Change) {
	str(w, &c.Field)
	str(w, &c.From)
	str(w, &c.To)
}

func (w *coder) round(r *decision.Round) {
	m := w.mask(1)
	if m.has(!r.Learnt.IsZero()) {
		w.learnt(&r.Learnt)
	}
	orEach(&m, &r.Verdict.Path, (*coder).step)
	orEach(&m, &r.Verdict.Actions, (*coder).action)
	orEach(&m, &r.Verdict.Held, (*coder).held)
	orEach(&m, &r.Verdict.Timers, (*coder).timer)
	m.bool(&r.Verdict.Stop)
	orStr(&m, &r.Verdict.Invalid)
	orEach(&m, &r.Outcomes, (*coder).outcome)
	m.end()
}

func (w *coder) learnt(l *decision.Learnt) {
	m := w.mask(1)
	maybe(&m, &l.NameTaken, func(w *coder, n *decision.NameTaken) {
		str(w, &n.Name)
		str(w, &n.UID)
		w.bool(&n.Mine)
		w.bool(&n.SameTemplate)
	})
	orStr(&m, &l.Parent)
	orEach(&m, &l.ChildrenGone, str[string])
	m.bool(&l.NamespaceTerminating)
	m.end()
}

func (w *coder) step(s *decision.Step) {
	str(w, &s.Question)
	str(w, &s.Answer)
	m := w.mask(1)
	orEach(&m, &s.Facts, (*coder).fact)
	maybe(&m, &s.Equation, (*coder).equation)
	m.bool(&s.Holds)
	m.end()
}

// Kinds of a fact's value. They stand in files: none may change its meaning.
const (
	wireText uint64 = iota
	wireCount
	wireFalse
	wireTrue
	wireDuration
	wireInstant
)

func (w *coder) fact(f *decision.Fact) {
	str(w, &f.Name)
	if w.reads {
		f.Value = w.readValue(f.Name)
		return
	}
	v := f.Value
	if n, ok := v.Int(); ok {
		w.uvarint(wireCount)
		w.varint(n)
	} else if b, ok := v.Bool(); ok && b {
		w.uvarint(wireTrue)
	} else if ok {
		w.uvarint(wireFalse)
	} else if d, ok := v.Duration(); ok {
		w.uvarint(wireDuration)
		w.varint(int64(d))
	} else if t, ok := v.Time(); ok {
		w.uvarint(wireInstant)
		w.instant(&t)
	} else {
		w.uvarint(wireText)
		w.text(v.String())
	}
}

func (w *coder) readValue(name string) decision.Value {
	switch w.next() {
	case wireText:
		return decision.Text(name, w.text("")).Value
	case wireCount:
		return decision.Count(name, signed(w.next())).Value
	case wireFalse:
		return decision.Bool(name, false).Value
	case wireTrue:
		return decision.Bool(name, true).Value
	case wireDuration:
		return decision.Duration(name, time.Duration(signed(w.next()))).Value
	case wireInstant:
		var t time.Time
		w.instant(&t)
		return decision.Instant(name, t).Value
	}
	w.fail()
	return decision.Value{}
}

func (w *coder) equation(e *decision.Equation) {
	each(w, &e.Terms, (*coder).term)
	w.term(&e.Result)
}

func (w *coder) term(t *decision.Term) {
	str(w, &t.Label)
	integer(w, &t.Value)
	str(w, &t.Origin)
}

func (w *coder) ref(r *decision.Ref) {
	m := w.mask(1)
	orStr(&m, &r.Kind)
	orStr(&m, &r.Namespace)
	orStr(&m, &r.Name)
	orStr(&m, &r.UID)
	orRV(&m, &r.RV)
	m.end()
}

func (w *coder) resize(s *decision.Size) {
	integer(w, &s.From)
	integer(w, &s.To)
}

func (w *coder) action(a *decision.Action) {
	str(w, &a.Kind)
	w.ref(&a.Target)
	str(w, &a.Discipline)
	str(w, &a.Question)
	m := w.mask(1)
	maybe(&m, &a.Size, (*coder).resize)
	maybe(&m, &a.Stamp, (*coder).stamp)
	maybe(&m, &a.MinReadySeconds, integer[int64])
	orStr(&m, &a.Hash)
	orInteger(&m, &a.Count)
	orEach(&m, &a.Victims, (*coder).victim)
	maybe(&m, &a.Restore, (*coder).ref)
	orEach(&m, &a.Changes, (*coder).change)
	m.end()
}

func (w *coder) stamp(s *decision.Stamp) {
	m := w.mask(1)
	orStr(&m, &s.Revision)
	orStr(&m, &s.History)
	maybe(&m, &s.Desired, integer[int64])
	maybe(&m, &s.Max, integer[int64])
	m.bool(&s.Copy)
	m.end()
}

func (w *coder) victim(v *decision.Victim) {
	str(w, &v.Name)
	str(w, &v.UID)
	integer(w, &v.Rank)
	each(w, &v.Facts, (*coder).fact)
}

func (w *coder) held(h *decision.Held) {
	str(w, &h.Code)
	str(w, &h.Question)
	str(w, &h.Kind)
	m := w.mask(2)
	if m.has(h.Target != (decision.Ref{})) {
		w.ref(&h.Target)
	}
	maybe(&m, &h.Size, (*coder).resize)
	maybe(&m, &h.Equation, (*coder).equation)
	orEach(&m, &h.Unblocks, (*coder).part)
	orStr(&m, &h.When.Event)
	if m.has(h.When.Of != (decision.Ref{})) {
		w.ref(&h.When.Of)
	}
	orInteger(&m, &h.When.Needed)
	m.instant(&h.When.At)
	orEach(&m, &h.Blockers, (*coder).blocker)
	orInteger(&m, &h.BlockerCount)
	m.end()
}

func (w *coder) blocker(b *decision.Blocker) {
	str(w, &b.Kind)
	str(w, &b.Name)
	str(w, &b.Reason)
	str(w, &b.Message)
	w.instant(&b.Since)
}

func (w *coder) timer(t *decision.Timer) {
	w.instant(&t.At)
	str(w, &t.Code)
	str(w, &t.Question)
}

func (w *coder) failure(f *decision.Failure) {
	integer(w, &f.Code)
	str(w, &f.Reason)
	str(w, &f.Message)
	w.bool(&f.Terminal)
}

func (w *coder) outcome(o *decision.Outcome) {
	str(w, &o.State)
	m := w.mask(2)
	orRV(&m, &o.RV)
	orEach(&m, &o.Names, str[string])
	orEach(&m, &o.RVs, rv)
	orInteger(&m, &o.Done)
	orInteger(&m, &o.Failed)
	orInteger(&m, &o.Untried)
	maybe(&m, &o.Failure, (*coder).failure)
	maybe(&m, &o.Other, func(w *coder, x *decision.Writer) {
		str(w, &x.Manager)
		rv(w, &x.RV)
		each(w, &x.Fields, str[string])
	})
	orInteger(&m, &o.Took)
	m.end()
}

func (w *coder) report(r *decision.Report) {
	m := w.mask(1)
	orEach(&m, &r.Path, (*coder).step)
	m.bool(&r.Publish)
	m.bool(&r.Hold)
	orEach(&m, &r.Changes, (*coder).change)
	orEach(&m, &r.Events, (*coder).event)
	orEach(&m, &r.Timers, (*coder).timer)
	maybe(&m, &r.Outcome, (*coder).outcome)
	m.end()
}

func (w *coder) event(e *decision.Event) {
	str(w, &e.Type)
	str(w, &e.Reason)
	str(w, &e.Message)
}

func (w *coder) sentence(s *decision.Sentence) {
	str(w, &s.Namespace)
	str(w, &s.Object)
	str(w, &s.Tone)
	str(w, &s.Verb)
	str(w, &s.State)
	str(w, &s.Code)
	m := w.mask(1)
	orEach(&m, &s.Lead, (*coder).part)
	orEach(&m, &s.Then, (*coder).part)
	m.instant(&s.Since)
	m.instant(&s.ChangesAt)
	m.end()
}

func (w *coder) part(p *decision.Part) {
	m := w.mask(1)
	orStr(&m, &p.Kind)
	orStr(&m, &p.Text)
	orStr(&m, &p.Fact)
	orInteger(&m, &p.N)
	m.instant(&p.At)
	m.end()
}

func (w *coder) finding(f *decision.Finding) {
	str(w, &f.Code)
	integer(w, &f.Count)
	m := w.mask(2)
	m.bool(&f.Old)
	orEach(&m, &f.Pods, str[string])
	m.instant(&f.Since)
	orEach(&m, &f.Before, (*coder).part)
	orEach(&m, &f.After, (*coder).part)
	orStr(&m, &f.Message)
	orEach(&m, &f.Unblocks, (*coder).part)
	m.bool(&f.NeedsAction)
	m.bool(&f.Usual)
	orStr(&m, &f.Show)
	m.end()
}

func (w *coder) estimate(e *decision.Estimate) {
	str(w, &e.Code)
	m := w.mask(1)
	m.instant(&e.From)
	m.instant(&e.To)
	orInteger(&m, &e.Pods)
	orInteger(&m, &e.Fastest)
	orInteger(&m, &e.Slowest)
	orInteger(&m, &e.Steps)
	orEach(&m, &e.Words, (*coder).part)
	m.end()
}
