package object

import (
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// head is the sentence of the newest sync.
func (s *Pages) head(q *page.Query, x *subject.Subject, coming words.Coming) views.Head {
	if !x.Moment.IsZero() {
		return s.headThen(q, x)
	}
	t := x.Newest
	cut := s.Outage()
	at, _ := cut.AsOf(t, q.Now)
	sen := s.Said(t, at)
	if x.Unseen() {
		at = t.Ended
		sen = words.LastKnown(t.Sentence, at, x.Unknown)
	}
	if !coming.None() {
		sen = coming.Before(sen)
	}
	o, _ := words.OutcomeOf(sen.Tone)
	h := views.Head{Sentence: sen.At(at), Code: sen.Code, State: views.Mark{Tone: o.View, Word: sen.State},
		Owner: x.Object.In(), Own: x.Object.Name, Verb: sen.Verb, Past: words.Past(sen.Verb),
		Lead: words.Text(sen.Lead, false), Then: words.First(words.Stop(words.Text(sen.Then, true))), Numbers: s.keyNumbers(t, o.View)}
	if !sen.ChangesAt.IsZero() {
		h.ChangesAt = &sen.ChangesAt
	}
	if sen.State == "" {
		h.Verb, h.Past, h.State.Word = "has", "had", "no sentence"
		told := words.Why(t, sen)
		h.Lead = told[:max(0, len(told)-1)]
		h.Sentence = x.Object.Key() + " has no sentence: " + h.Lead.At(at) + "."
	}
	h.Gone = t.FoundGone()
	if coming.Processing {
		h.Processing = &coming.Since
	}
	if x.Unseen() {
		h.Lead = h.Lead.Still(at)
		return h
	}
	if s.Overdue(t, at).IsZero() {
		h.Estimate = estimateView(s.Estimate(t))
	}
	if x.OnList {
		cut.Freeze(&h, t, q.Now)
	}
	if !coming.None() { // Its own clock runs on.
		h.Then = words.First(words.Stop(words.Text(sen.Then, true)))
	}
	return h
}

// headThen is the sentence as it was at a moment, with today's behind it. Nothing in
// it moves on.
func (s *Pages) headThen(q *page.Query, x *subject.Subject) views.Head {
	t := x.Cursor
	sen := s.Said(t, x.Moment)
	o, _ := words.OutcomeOf(sen.Tone)
	h := views.Head{Sentence: sen.At(x.Moment), Code: sen.Code, State: views.Mark{Tone: o.View, Word: sen.State},
		Owner: x.Object.In(), Own: x.Object.Name, Verb: words.Past(sen.Verb), Past: words.Past(sen.Verb),
		Lead: views.Say(sen.Lead.At(x.Moment)), Numbers: s.keyNumbers(t, o.View)}
	views.StillNumbers(h.Numbers, x.Moment)
	if then := sen.Then.At(x.Moment); then != "" {
		h.Then = views.Say(then + ".")
	}
	today, at := s.SaidThen(x.Newest, q.Now)
	now := views.Say("Now")
	switch {
	case x.Unseen():
		at = x.Newest.Ended
		today, now = words.LastKnown(x.Newest.Sentence, at, x.Unknown), views.Say("Last known, as of "+words.DayAndTime(at))
	case at.Before(q.Now):
		now = views.Say("Last known, as of ").Clock(at)
	}
	h.Last = views.Say("As of ").Clock(x.Moment).Plain(" UTC. ").Join(s.unknownThen(x)).Join(now).Plain(": ").Link(today.Subject()+" "+today.Verb+" "+today.State, address.Of(x.Object)).Plain(".")
	return h
}

// unknownThen says from when to when nobody knows what happened.
func (s *Pages) unknownThen(x *subject.Subject) views.Text {
	if x.Asked.IsZero() {
		return nil
	}
	why := "the history has no more of that run of the manager"
	if s.Partly() {
		why += " that you may see"
	}
	return views.Say("What happened between then and ").Clock(x.Asked).Plain(" UTC is not known: " + why + ". ")
}

// findingViews is what keeps the pods of an object.
func findingViews(all []decision.Finding) []views.Finding {
	list := make([]views.Finding, 0, len(all))
	for i := range all {
		f := &all[i]
		what := words.Text(f.Before, false).Plain(prose.Count(f.Count, sideOf(f)+"pod")).Join(words.Text(f.After, false))
		v := views.Finding{Code: f.Code, Reason: "/reasons/" + f.Code + "#" + diagnosis.Codes.AnchorOf(f.Code), What: words.First(what), Count: f.Count, Pods: f.Pods, Show: f.Show, Message: f.Message, NeedsAction: f.NeedsAction, Past: diagnosis.IsDisruption(f.Code)}
		v.Unblocks = views.Say("Unblocks ").Join(words.Stop(words.Text(f.Unblocks, false)))
		if !f.Since.IsZero() {
			v.Since, v.For = &f.Since, views.Text{}.Since(f.Since)
		}
		list = append(list, v)
	}
	return list
}

func sideOf(f *decision.Finding) string {
	if f.Old {
		return "old "
	}
	return ""
}

// estimateView is the line that says when a rollout may complete.
func estimateView(e *decision.Estimate) *views.Estimate {
	if e == nil {
		return nil
	}
	v := &views.Estimate{Code: e.Code, Text: words.Stop(words.Text(e.Words, false)), Pods: e.Pods, Steps: e.Steps}
	if !e.To.IsZero() {
		v.From, v.To = &e.From, &e.To
	}
	return v
}

// keyNumbers are facts of the newest sync, with their bounds beside them; none of what is gone.
func (s *Pages) keyNumbers(t *telemetry.Trace, tone views.Tone) []views.Number {
	if t.FoundGone() {
		return nil
	}
	n := facts.NumbersOf(t)
	var list []views.Number
	for _, k := range s.Loops.Of(t.Loop).Headlines {
		value, ok := n.Find(k.Fact)
		if !ok {
			continue
		}
		x := views.Number{Label: k.Label, Value: views.Say(value.String())}
		if at, ok := value.Time(); ok {
			x.Value, x.Note = views.Text{}.Since(at), views.Say("ago")
		}
		if bound, ok := n.Find(k.Bound); ok {
			sign, broken := k.Compare(value, bound)
			x.Note = views.Say(sign + " " + bound.String())
			switch {
			case broken && tone != views.Failed:
				x.Tone = views.Waiting
			case broken, bound.Equal(value) && tone != views.OK && tone != views.Idle:
				x.Tone = tone
			}
		}
		if note, ok := n.Find(k.Note); ok && !value.Equal(decision.Count("", 0).Value) {
			x.Note = views.Say(note.String() + " " + k.Words)
		}
		list = append(list, x)
	}
	if len(t.Timers) > 0 {
		list = append(list, views.Number{Label: "next sync", Value: views.Text{}.Until(soonest(t.Timers))})
	}
	return list
}

func soonest(timers []decision.Timer) time.Time {
	at := timers[0].At
	for _, t := range timers {
		if t.At.Before(at) {
			at = t.At
		}
	}
	return at
}
