package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
)

// explainText prints a trace for a terminal: the sentence first, then what was
// held back and what would be written, then the path.
func explainText(out io.Writer, t *telemetry.Trace, now time.Time) error {
	p := printer{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), now: now}
	p.line("%s", t.Sentence.At(now))
	p.numbers(t.Numbers)
	if len(t.Rounds) > 0 {
		verdict := t.Rounds[len(t.Rounds)-1].Verdict
		p.held(verdict.Held)
		p.actions(verdict.Actions)
	}
	p.path(t.Path())
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// printer keeps the first error, so that printing reads as a list of lines.
type printer struct {
	w   *tabwriter.Writer
	now time.Time
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// headline is the numbers of the page's header, in its order and with its bounds.
var headline = []struct{ label, fact, bound, limit string }{
	{"wanted", "wanted", "", ""},
	{"new", "new", "", ""},
	{"old", "old", "", ""},
	{"total", "total", "<=", "ceiling"},
	{"available", "available", ">=", "floor"},
}

func (p *printer) numbers(facts []decision.Fact) {
	value := map[string]string{}
	for _, f := range facts {
		value[f.Name] = f.Value.String()
	}
	var parts []string
	for _, h := range headline {
		if value[h.fact] == "" {
			continue
		}
		text := h.label + " " + value[h.fact]
		if value[h.limit] != "" {
			text += " " + h.bound + " " + value[h.limit]
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		p.line("%s", strings.Join(parts, ", "))
	}
}

func (p *printer) held(held []decision.Held) {
	if len(held) == 0 {
		return
	}
	p.line("\nHELD BACK")
	for _, h := range held {
		p.line("  %s  (%s)", describe(h.Kind, h.Target, h.Size), h.Question)
		if h.Equation != nil {
			p.line("    %s", equation(h.Equation))
		}
		if len(h.Unblocks) > 0 {
			p.line("    unblocks %s", h.Unblocks.At(p.now))
		}
		for _, b := range h.Blockers {
			p.line("    %s  %s", b.Name, blocker(b, p.now))
		}
		if more := h.BlockerCount - int64(len(h.Blockers)); more > 0 {
			p.line("    and %d more", more)
		}
	}
}

func blocker(b decision.Blocker, now time.Time) string {
	text := b.Reason
	if !b.Since.IsZero() {
		text += " for " + decision.Span(now.Sub(b.Since))
	}
	if b.Message != "" {
		text += ": " + b.Message
	}
	return text
}

func (p *printer) actions(actions []decision.Action) {
	if len(actions) == 0 {
		p.line("\nWOULD WRITE  nothing")
		return
	}
	p.line("\nWOULD WRITE")
	for _, a := range actions {
		p.line("  %s  (%s)", describe(a.Kind, a.Target, a.Size), a.Question)
		for _, c := range a.Changes {
			p.line("    %s %s -> %s", c.Field, c.From, c.To)
		}
	}
}

func describe(kind decision.ActionKind, target decision.Ref, size *decision.Size) string {
	verb, _, _ := strings.Cut(string(kind), "-")
	switch {
	case size == nil:
		return verb + " " + target.Kind + " " + target.Name
	case kind == decision.UpdateReplicaSet:
		return fmt.Sprintf("scale %s from %d to %d", target.Name, size.From, size.To)
	default:
		return fmt.Sprintf("%s %s %s with %d", verb, target.Kind, target.Name, size.To)
	}
}

func equation(e *decision.Equation) string {
	var terms []string
	for _, t := range e.Terms {
		terms = append(terms, fmt.Sprintf("%d %s", t.Value, t.Label))
	}
	return fmt.Sprintf("%s = %d %s", strings.Join(terms, " - "), e.Result.Value, e.Result.Label)
}

func (p *printer) path(path decision.Path) {
	p.line("\nPATH")
	for _, step := range path {
		text := step.Question
		if q, known := deployment.Catalogue.Find(step.Question); known {
			text = q.Text
		}
		var facts []string
		for _, f := range step.Facts {
			facts = append(facts, f.Name+" "+f.Value.String())
		}
		p.line("  %s\t%s\t%s\t%s", step.Question, text, step.Answer, strings.Join(facts, ", "))
	}
}
