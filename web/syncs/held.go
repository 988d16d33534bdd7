package syncs

import (
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// shownBlockers is how many blockers a page names one by one.
const shownBlockers = 5

// Held is the writes that a sync held back, each with its reason and what would let it go.
func (s *Teller) Held(t *telemetry.Trace) []views.Held {
	list := make([]views.Held, 0, len(facts.Held(t)))
	for _, h := range facts.Held(t) {
		v := heldView(h)
		v.Reason = s.ReasonHref(t.Loop, "held", h.Code)
		v.Href = s.QuestionHref(t.Loop, h.Question)
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
		verb = prose.Upper(words.Verb(h.Kind))
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

// blockerOf puts Kubernetes' own reasons into words; the reason follows.
func blockerOf(b decision.Blocker) views.Blocker {
	owner, own := words.SplitOf(b.Kind, b.Name)
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
