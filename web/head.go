package web

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// head is the sentence of the newest sync.
func (s *Server) head(q *page.Query, x *subject) views.Head {
	if !x.moment.IsZero() {
		return s.headThen(q, x)
	}
	t := x.newest
	cut := s.src.Outage()
	at, _ := cut.AsOf(t, q.Now)
	sen := s.src.Said(t, at)
	o, _ := words.OutcomeOf(sen.Tone)
	h := views.Head{Sentence: sen.At(at), Code: sen.Code, State: views.Mark{Tone: o.View, Word: sen.State},
		Owner: x.object.Namespace + "/", Own: x.object.Name, Verb: sen.Verb, Past: words.Past(sen.Verb),
		Lead: words.Text(sen.Lead, false), Then: words.First(words.Stop(words.Text(sen.Then, true))), Numbers: s.keyNumbers(t, o.View)}
	if !sen.ChangesAt.IsZero() {
		h.ChangesAt = &sen.ChangesAt
	}
	if sen.State == "" {
		h.Verb, h.Past, h.State.Word = "has", "had", "no sentence"
		told := words.Why(t, sen)
		h.Lead = told[:max(0, len(told)-1)]
		h.Sentence = x.object.Key() + " has no sentence: " + h.Lead.At(at) + "."
	}
	if !x.onList && !t.Gone {
		h.Gone = true
	}
	h.Estimate = estimateView(s.src.Estimate(t))
	if x.onList {
		cut.Freeze(&h, t, q.Now)
	}
	return h
}

// told is the sync that the top of the page tells of: the newest, or the one in
// force at the moment that the address names.
func (x *subject) told() *telemetry.Trace {
	if x.moment.IsZero() {
		return x.newest
	}
	return x.cursor
}

// headThen is the sentence as it was at a moment, with today's behind it. Nothing in
// it moves on.
func (s *Server) headThen(q *page.Query, x *subject) views.Head {
	t := x.cursor
	sen := s.src.Said(t, x.moment)
	o, _ := words.OutcomeOf(sen.Tone)
	h := views.Head{Sentence: sen.At(x.moment), Code: sen.Code, State: views.Mark{Tone: o.View, Word: sen.State},
		Owner: x.object.Namespace + "/", Own: x.object.Name, Verb: words.Past(sen.Verb), Past: words.Past(sen.Verb),
		Lead: views.Say(sen.Lead.At(x.moment)), Numbers: s.keyNumbers(t, o.View)}
	if then := sen.Then.At(x.moment); then != "" {
		h.Then = views.Say(then + ".")
	}
	today, at := s.src.SaidThen(x.newest, q.Now)
	now := views.Say("Now")
	if at.Before(q.Now) {
		now = views.Say("Last known, as of ").Clock(at)
	}
	h.Last = views.Say("As of ").Clock(x.moment).Plain(" UTC. ").Join(now).Plain(": ").Link(today.Subject()+" "+today.Verb+" "+today.State, address.Of(x.object)).Plain(".")
	return h
}

// findingsOf is what keeps the pods of an object, as its newest sync saw it.
func findingsOf(t *telemetry.Trace) []views.Finding {
	all := t.Diagnosis.Findings
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

// keyNumbers are facts of the newest sync, with their bounds beside them.
func (s *Server) keyNumbers(t *telemetry.Trace, tone views.Tone) []views.Number {
	n := facts.NumbersOf(t)
	var list []views.Number
	for _, k := range s.src.Loops.Of(t.Loop).Headlines {
		value, ok := n.Find(k.Fact)
		if !ok {
			continue
		}
		x := views.Number{Label: k.Label, Value: views.Say(value.String())}
		if at, ok := value.Time(); ok {
			x.Value, x.Note = views.Text{}.Since(at), views.Say("ago")
		}
		if bound, ok := n.Find(k.Bound); ok {
			x.Note = views.Say(k.Sign + " " + bound.String())
			if bound.Equal(value) && tone != views.OK && tone != views.Idle {
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

// shownBlockers is how many blockers a page names one by one.
const shownBlockers = 5

func (s *Server) heldViews(t *telemetry.Trace) []views.Held {
	list := make([]views.Held, 0, len(facts.Held(t)))
	for _, h := range facts.Held(t) {
		v := heldView(h)
		v.Reason = s.src.ReasonHref(t.Loop, "held", h.Code)
		v.Href = s.src.QuestionHref(t.Loop, h.Question)
		list = append(list, v)
	}
	return list
}

func heldView(h decision.Held) views.Held {
	v := views.Held{Question: h.Question, Code: h.Code, What: heldTarget(h), Unblocks: words.First(words.Stop(words.Text(h.Unblocks, false))), When: unblockOf(h.When)}
	if h.Equation != nil {
		v.Equation = words.Equation(h.Equation)
	}
	said := ""
	for _, b := range h.Blockers[:min(len(h.Blockers), shownBlockers)] {
		if b.Message == said { // Pods of one template mostly wait for the same.
			b.Message = ""
		} else {
			said = b.Message
		}
		v.Blockers = append(v.Blockers, blockerOf(b))
	}
	if n := max(h.BlockerCount, int64(len(h.Blockers))) - int64(len(v.Blockers)); n > 0 && len(v.Blockers) > 0 {
		last := v.Blockers[len(v.Blockers)-1]
		v.More = "and " + words.Digits(n) + " more like …-" + last.Own
	}
	if len(v.Unblocks) > 0 {
		v.Unblocks = views.Say("Unblocks ").Join(words.Stop(words.Text(h.Unblocks, false)))
	}
	return v
}

func unblockOf(u decision.Unblock) views.Unblock {
	v := views.Unblock{Event: string(u.Event), Of: strings.TrimSpace(u.Of.Kind + " " + u.Of.Name), Needed: u.Needed}
	if !u.At.IsZero() {
		v.At = &u.At
	}
	return v
}

func heldTarget(h decision.Held) views.Text {
	verb := map[decision.ActionKind]string{decision.UpdateReplicaSet: "Scale", decision.CreateReplicaSet: "Create",
		decision.DeleteReplicaSet: "Delete", decision.CreatePods: "Create pods of", decision.DeletePods: "Delete pods of"}[h.Kind]
	if verb == "" {
		verb = string(h.Kind)
	}
	if h.Target.Name == "" {
		return views.Text{}.Strong(verb + " " + prose.Plural(h.BlockerCount, "an old ReplicaSet", "old ReplicaSets"))
	}
	t := views.Text{}.Strong(verb + " ").Code(h.Target.Name)
	switch {
	case h.Size == nil:
	case h.Kind == decision.CreateReplicaSet:
		t = t.Strong(" with " + prose.Count(h.Size.To, "pod"))
	default:
		t = t.Strong(" from " + words.Digits(h.Size.From) + " to " + words.Digits(h.Size.To))
	}
	return t
}

// blockerWords put Kubernetes' own reasons into words; the reason follows.
func blockerOf(b decision.Blocker) views.Blocker {
	owner, own := words.Split(b.Name)
	v := views.Blocker{Kind: b.Kind, Owner: owner, Own: own}
	switch {
	case b.Reason == "Ready":
		v.Why = views.Say("ready")
	case b.Reason != "":
		v.Why = views.Text{}.Code(b.Reason)
	case b.Kind == "Pod":
		v.Why = views.Say("not ready")
	}
	if !b.Since.IsZero() {
		v.Why = v.Why.Plain(" ").Since(b.Since)
	}
	if b.Message != "" {
		v.Why = v.Why.Plain(", ").Plain(prose.ClipMiddle(b.Message, 160)) // The answer mostly stands at the end.
	}
	return v
}
