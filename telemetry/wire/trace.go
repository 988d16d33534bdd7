package wire

import (
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

func (w *coder) trace(t *telemetry.Trace) {
	start := t.Started.Unix()
	w.start = 0
	integer(w, &start)
	w.start = start
	integer(w, &t.Version)
	str(w, &t.Epoch)
	count(w, &t.Seq)
	str(w, &t.Loop)
	str(w, &t.Namespace)
	str(w, &t.Name)
	str(w, &t.UID)
	str(w, &t.Owner)
	each(w, &t.Causes, (*coder).cause)
	integer(w, &t.Folded)
	count(w, &t.TakenBy)
	integer(w, &t.Worker)
	w.instant(&t.Queued)
	w.instant(&t.Started)
	w.instant(&t.Ended)
	for _, d := range []*time.Duration{&t.Phases.Observe, &t.Phases.Decide, &t.Phases.Act, &t.Phases.Settle, &t.Phases.Publish} {
		integer(w, d)
	}
	each(w, &t.Rounds, (*coder).round)
	maybe(w, &t.Report, (*coder).report)
	each(w, &t.Timers, (*coder).timer)
	str(w, &t.Result)
	integer(w, &t.Try.Number)
	integer(w, &t.Try.Limit)
	w.instant(&t.Try.Next)
	w.truth(&t.Try.Dropped)
	w.sentence(&t.Sentence)
	each(w, &t.Numbers, (*coder).fact)
	maybe(w, &t.Estimate, (*coder).estimate)
	maybe(w, &t.Failure, (*coder).failure)
	w.truth(&t.Gone)
	w.snapshot(&t.Snapshot)
}

func (w *coder) cause(c *telemetry.Cause) {
	str(w, &c.Kind)
	w.instant(&c.At)
	str(w, &c.Object)
	str(w, &c.OldRV)
	str(w, &c.NewRV)
	each(w, &c.Fields, (*coder).change)
	str(w, &c.Manager)
	count(w, &c.Sync)
	str(w, &c.Code)
	w.instant(&c.Due)
}

func (w *coder) change(c *decision.Change) {
	str(w, &c.Field)
	str(w, &c.From)
	str(w, &c.To)
}

func (w *coder) round(r *decision.Round) {
	w.learnt(&r.Learnt)
	each(w, &r.Verdict.Path, (*coder).step)
	each(w, &r.Verdict.Actions, (*coder).action)
	each(w, &r.Verdict.Held, (*coder).held)
	each(w, &r.Verdict.Timers, (*coder).timer)
	w.truth(&r.Verdict.Stop)
	str(w, &r.Verdict.Invalid)
	each(w, &r.Outcomes, (*coder).outcome)
}

func (w *coder) learnt(l *decision.Learnt) {
	maybe(w, &l.NameTaken, func(w *coder, n *decision.NameTaken) {
		str(w, &n.Name)
		str(w, &n.UID)
		w.truth(&n.Mine)
		w.truth(&n.SameTemplate)
	})
	str(w, &l.Parent)
	each(w, &l.ChildrenGone, str[string])
	w.truth(&l.NamespaceTerminating)
}

func (w *coder) step(s *decision.Step) {
	str(w, &s.Question)
	str(w, &s.Answer)
	each(w, &s.Facts, (*coder).fact)
	maybe(w, &s.Equation, (*coder).equation)
	w.truth(&s.Holds)
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
	switch w.uvarint(0) {
	case wireText:
		return decision.Text(name, w.text("")).Value
	case wireCount:
		return decision.Count(name, w.varint(0)).Value
	case wireFalse:
		return decision.Truth(name, false).Value
	case wireTrue:
		return decision.Truth(name, true).Value
	case wireDuration:
		return decision.Duration(name, time.Duration(w.varint(0))).Value
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
	str(w, &r.Kind)
	str(w, &r.Namespace)
	str(w, &r.Name)
	str(w, &r.UID)
	str(w, &r.RV)
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
	maybe(w, &a.Size, (*coder).resize)
	maybe(w, &a.Stamp, (*coder).stamp)
	maybe(w, &a.MinReadySeconds, integer[int64])
	str(w, &a.Hash)
	integer(w, &a.Count)
	each(w, &a.Victims, (*coder).victim)
	maybe(w, &a.Restore, (*coder).ref)
	each(w, &a.Changes, (*coder).change)
}

func (w *coder) stamp(s *decision.Stamp) {
	str(w, &s.Revision)
	str(w, &s.History)
	maybe(w, &s.Desired, integer[int64])
	maybe(w, &s.Max, integer[int64])
	w.truth(&s.Copy)
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
	w.ref(&h.Target)
	maybe(w, &h.Size, (*coder).resize)
	maybe(w, &h.Equation, (*coder).equation)
	each(w, &h.Unblocks, (*coder).part)
	str(w, &h.When.Event)
	w.ref(&h.When.Of)
	integer(w, &h.When.Needed)
	w.instant(&h.When.At)
	each(w, &h.Blockers, (*coder).blocker)
	integer(w, &h.BlockerCount)
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
	w.truth(&f.Terminal)
}

func (w *coder) outcome(o *decision.Outcome) {
	str(w, &o.State)
	str(w, &o.RV)
	each(w, &o.Names, str[string])
	each(w, &o.RVs, str[string])
	integer(w, &o.Done)
	integer(w, &o.Failed)
	integer(w, &o.Untried)
	maybe(w, &o.Failure, (*coder).failure)
	maybe(w, &o.Other, func(w *coder, x *decision.Writer) {
		str(w, &x.Manager)
		str(w, &x.RV)
		each(w, &x.Fields, str[string])
	})
	integer(w, &o.Took)
}

func (w *coder) report(r *decision.Report) {
	each(w, &r.Path, (*coder).step)
	w.truth(&r.Publish)
	w.truth(&r.Hold)
	each(w, &r.Changes, (*coder).change)
	each(w, &r.Events, (*coder).event)
	each(w, &r.Timers, (*coder).timer)
	maybe(w, &r.Outcome, (*coder).outcome)
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
	each(w, &s.Lead, (*coder).part)
	each(w, &s.Then, (*coder).part)
	w.instant(&s.Since)
	w.instant(&s.Turns)
	str(w, &s.Code)
}

func (w *coder) part(p *decision.Part) {
	str(w, &p.Kind)
	str(w, &p.Text)
	str(w, &p.Fact)
	integer(w, &p.N)
	w.instant(&p.At)
}

func (w *coder) estimate(e *decision.Estimate) {
	str(w, &e.Code)
	w.instant(&e.From)
	w.instant(&e.To)
	integer(w, &e.Pods)
	integer(w, &e.Fastest)
	integer(w, &e.Slowest)
	integer(w, &e.Steps)
	each(w, &e.Words, (*coder).part)
}
