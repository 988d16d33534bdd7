package deployment_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// render writes what a sync did as text that is read and compared.
func render(p played) map[string]string {
	var path, actions, held strings.Builder
	for i, r := range p.rounds {
		if i > 0 {
			learnt, _ := json.Marshal(r.Learnt)
			fmt.Fprintf(&path, "round %d, learnt %s\n", i+1, learnt)
			fmt.Fprintf(&actions, "round %d\n", i+1)
		}
		renderPath(&path, r.Verdict.Path)
		for _, a := range r.Verdict.Actions {
			renderAction(&actions, a)
		}
		for _, h := range r.Verdict.Held {
			renderHeld(&held, p, h)
		}
		renderTimers(&path, p, r.Verdict.Timers)
		if r.Verdict.Stop {
			fmt.Fprintf(&path, "stop %s\n", r.Verdict.Invalid)
		}
	}
	return map[string]string{
		"path": path.String(), "actions": actions.String(), "held": held.String(),
		"report": renderReport(p), "sentence": renderSentence(p), "estimate": renderEstimate(p),
	}
}

func renderPath(b *strings.Builder, path decision.Path) {
	for _, step := range path {
		fmt.Fprintf(b, "%s %s", step.Question, step.Answer)
		for _, f := range step.Facts {
			fmt.Fprintf(b, " %s=%s", f.Name, f.Value)
		}
		if step.Equation != nil {
			b.WriteString(" " + equation(step.Equation))
		}
		if step.Holds {
			b.WriteString(" holds")
		}
		b.WriteString("\n")
	}
}

// equation is "(11 total - 8 floor - 3 new not available = 0 may go)".
func equation(e *decision.Equation) string {
	if e == nil {
		return "()"
	}
	var terms []string
	for _, t := range e.Terms {
		terms = append(terms, fmt.Sprintf("%d %s [%s]", t.Value, t.Label, t.Origin))
	}
	return fmt.Sprintf("(%s = %d %s)", strings.Join(terms, " - "), e.Result.Value, e.Result.Label)
}

func renderAction(b *strings.Builder, a decision.Action) {
	fmt.Fprintf(b, "%s %s %s uid=%s rv=%s %s [%s]", a.Kind, a.Target.Kind, a.Target.Name, a.Target.UID, a.Target.RV, a.Discipline, a.Question)
	if a.Size != nil {
		fmt.Fprintf(b, " size %d->%d", a.Size.From, a.Size.To)
	}
	if s := a.Stamp; s != nil {
		raw, _ := json.Marshal(s)
		fmt.Fprintf(b, " stamp %s", raw)
	}
	if a.MinReadySeconds != nil {
		fmt.Fprintf(b, " minReadySeconds %d", *a.MinReadySeconds)
	}
	if a.Hash != "" {
		fmt.Fprintf(b, " hash %s", a.Hash)
	}
	if a.Restore != nil {
		fmt.Fprintf(b, " restore %s rv=%s", a.Restore.Name, a.Restore.RV)
	}
	for _, c := range a.Changes {
		fmt.Fprintf(b, "\n  %s: %q -> %q", c.Field, c.From, c.To)
	}
	b.WriteString("\n")
}

func renderHeld(b *strings.Builder, p played, h decision.Held) {
	fmt.Fprintf(b, "%s %s %s [%s]", h.Code, h.Kind, h.Target.Name, h.Question)
	if h.Size != nil {
		fmt.Fprintf(b, " size %d->%d", h.Size.From, h.Size.To)
	}
	fmt.Fprintf(b, " %s\n  unblocks %s\n", equation(h.Equation), h.Unblocks.At(p.snapshot.Now))
	fmt.Fprintf(b, "  when %s\n", renderRelease(p, h.When))
	for _, blocker := range h.Blockers {
		fmt.Fprintf(b, "  %s %s %s %q", blocker.Kind, blocker.Name, blocker.Reason, blocker.Message)
		if !blocker.Since.IsZero() {
			fmt.Fprintf(b, " %s", prose.Span(p.snapshot.Now.Sub(blocker.Since)))
		}
		b.WriteString("\n")
	}
	if h.BlockerCount != int64(len(h.Blockers)) {
		fmt.Fprintf(b, "  of %d\n", h.BlockerCount)
	}
}

func renderEstimate(p played) string {
	if p.estimate == nil {
		return ""
	}
	return p.estimate.Code + " " + p.estimate.Words.At(p.snapshot.Now) + "\n"
}

// renderRelease is "pods-ready 2 of ReplicaSet web-2, 18s from now".
func renderRelease(p played, r decision.Unblock) string {
	text := string(r.Event)
	if r.Needed > 0 {
		text += fmt.Sprintf(" %d", r.Needed)
	}
	if r.Of.Name != "" {
		text += " of " + r.Of.Kind + " " + r.Of.Name
	}
	if r.Of.RV != "" {
		text += " rv " + r.Of.RV
	}
	if !r.At.IsZero() {
		text += ", " + prose.Span(r.At.Sub(p.snapshot.Now)) + " from now"
	}
	return text
}

func renderTimers(b *strings.Builder, p played, timers []decision.Timer) {
	for _, timer := range timers {
		fmt.Fprintf(b, "timer %s in %s [%s]\n", timer.Code, prose.Span(timer.At.Sub(p.snapshot.Now)), timer.Question)
	}
}

func renderReport(p played) string {
	if p.report == nil {
		return ""
	}
	var b strings.Builder
	renderPath(&b, p.report.Path)
	fmt.Fprintf(&b, "publish %v\n", p.report.Publish)
	for _, c := range p.report.Changes {
		fmt.Fprintf(&b, "change %s: %s -> %s\n", c.Field, c.From, c.To)
	}
	for _, c := range p.report.Status.Conditions {
		fmt.Fprintf(&b, "condition %s %s %s %q updated %s changed %s\n", c.Type, c.Status, c.Reason, c.Message,
			c.Updated.Format("15:04:05"), c.Transition.Format("15:04:05"))
	}
	for _, e := range p.report.Events {
		fmt.Fprintf(&b, "event %s %s %q\n", e.Type, e.Reason, e.Message)
	}
	renderTimers(&b, p, p.report.Timers)
	return b.String()
}

func renderSentence(p played) string {
	s := p.sentence
	text := s.At(p.snapshot.Now) + "\n" + string(s.Tone) + " " + s.Code
	if !s.Since.IsZero() {
		text += " since " + prose.Span(p.snapshot.Now.Sub(s.Since))
	}
	if !s.ChangesAt.IsZero() {
		text += " turns in " + prose.Span(s.ChangesAt.Sub(p.snapshot.Now))
	}
	return text + "\n"
}
