package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// explainText prints a trace for a terminal: the sentence first, then what was
// held back and what would be written, then the path.
func explainText(out io.Writer, t *telemetry.Trace, seen evidence, now time.Time) error {
	p := printer{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), now: now}
	p.line("%s", t.Sentence.At(now))
	p.numbers(t.Loop, t.Numbers)
	p.estimate(estimateOf(t))
	p.findings(t.Diagnosis)
	p.evidence(seen)
	if len(t.Rounds) > 0 {
		verdict := t.Rounds[len(t.Rounds)-1].Verdict
		p.held(verdict.Held)
		p.actions(verdict.Actions)
	}
	p.path(t)
	return p.end()
}

// recordedText prints a sync of the past: which one it is, and what it wrote
// where explainText says what would be written.
func recordedText(out io.Writer, x recalled) error {
	t, at := x.trace, x.at
	p := printer{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), now: at}
	p.line("As of %s: sync %s/%d of %s %s, which ended at %s.", stamp(at), t.Epoch, t.Seq, t.Loop, t.Key(), stamp(t.Ended))
	if !x.unknownSince().IsZero() {
		p.line("What happened between then and %s is not known: the history has no more of that run of the manager.", stamp(x.asked))
	}
	p.line("")
	p.line("%s", inThePast(t.Sentence).At(at))
	p.numbers(t.Loop, t.Numbers)
	p.estimate(estimateAt(t, at))
	p.findings(t.Diagnosis)
	if len(t.Rounds) > 0 {
		p.held(t.Rounds[len(t.Rounds)-1].Verdict.Held)
	}
	p.writes(t.Writes(app.Recorded()))
	if t.Failure != nil {
		p.line("\nFAILED  %s", t.Failure.Message)
	}
	p.path(t)
	return p.end()
}

// pasts are the verbs that join subject and tone.
var pasts = map[string]string{"is": "was", "has": "had"}

func inThePast(s decision.Sentence) decision.Sentence {
	if past := pasts[s.Verb]; past != "" {
		s.Verb = past
	}
	return s
}

// printer keeps the first error, so that printing reads as a list of lines.
type printer struct {
	w   *tabwriter.Writer
	now time.Time
	err error
}

// line prints a line; no text in it makes another one.
func (p *printer) line(format string, args ...any) {
	for i, a := range args {
		switch a.(type) {
		case int, int64, uint64: // Nobody's words.
		default:
			args[i] = safetext.Line(fmt.Sprint(a))
		}
	}
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) end() error {
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// signs are those of bounds as every terminal has them.
var signs = map[string]string{"≤": "<=", "≥": ">=", "<": "<", ">": ">"}

// numbers are those at the top of the page, with their bounds and without instants.
func (p *printer) numbers(loop string, facts []decision.Fact) {
	value := map[string]decision.Value{}
	for _, f := range facts {
		if _, instant := f.Value.Time(); !instant {
			value[f.Name] = f.Value
		}
	}
	var parts []string
	for _, h := range app.Loops().Of(loop).Headlines {
		is, known := value[h.Fact]
		if !known || is.String() == "" {
			continue
		}
		text := h.Label + " " + is.String()
		if bound, known := value[h.Bound]; known {
			sign, _ := h.Compare(is, bound)
			text += " " + signs[sign] + " " + bound.String()
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		p.line("%s", strings.Join(parts, ", "))
	}
}

// estimateOf says when a rollout may complete, as of its sync; nil where none was under way.
func estimateOf(t *telemetry.Trace) *decision.Estimate {
	loop := app.Loops().Of(t.Loop)
	if loop.Decode == nil || t.Snapshot.IsZero() || len(t.Rounds) == 0 {
		return nil
	}
	s, err := loop.Decode(t.Snapshot.JSON())
	if err != nil {
		return nil // A recording of a later version: the rest of the sync stands.
	}
	return sim.EstimateOf(s, t.Rounds[len(t.Rounds)-1])
}

// estimateAt is that as it is told at a moment: what is due as the sync ends stands as it is.
func estimateAt(t *telemetry.Trace, at time.Time) *decision.Estimate {
	e := estimateOf(t)
	if at.After(t.Ended) {
		e = sim.AsOf(e, at)
	}
	return e
}

func (p *printer) estimate(e *decision.Estimate) {
	if e != nil {
		p.line("%s.", e.Words.At(p.now))
	}
}

// findings are what keeps the pods, each with the words of the cluster and a command
// that shows more.
func (p *printer) findings(d decision.Diagnosis) {
	for i := range d.Findings {
		f := &d.Findings[i]
		if i == 0 {
			p.line("\n%s", strings.ToUpper(diagnosis.Heading(d.Findings)))
		}
		text := f.Before.At(p.now) + fmt.Sprintf("%d %s", f.Count, podWord(f)) + f.After.At(p.now)
		p.line("  %s%s  (%s)", text, p.since(f), f.Code)
		p.line("    unblocks %s", f.Unblocks.At(p.now))
		if f.Message != "" {
			p.line("    %s", strings.Join(strings.Fields(f.Message), " "))
		}
		if f.Show != "" {
			p.line("    %s", f.Show)
		}
	}
}

// since is for how long pods have been kept, or when they were taken away.
func (p *printer) since(f *decision.Finding) string {
	span := prose.Span(p.now.Sub(f.Since))
	switch {
	case f.Since.IsZero():
		return ""
	case !diagnosis.IsDisruption(f.Code):
		return ", for " + span
	case f.Count == 1:
		return ", " + span + " ago"
	default:
		return ", the first " + span + " ago"
	}
}

// evidence are the newest warnings of these pods. Nothing was decided on them.
func (p *printer) evidence(seen evidence) {
	if seen.failure != nil {
		p.line("\nWARNINGS OF THESE PODS  could not be read: %s", seen.failure)
		return
	}
	for i, w := range seen.warnings {
		if i == 0 {
			p.line("\nWARNINGS OF THESE PODS")
		}
		p.line("  %s  %s ago, %s, %s: %s", w.Reason, prose.Span(p.now.Sub(w.At)), times(int64(w.Count)), w.Object, strings.Join(strings.Fields(w.Message), " "))
	}
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func podWord(f *decision.Finding) string {
	word := prose.Plural(f.Count, "pod", "pods")
	if f.Old {
		return "old " + word
	}
	return word
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
		p.blockers(h)
	}
}

// blockers are what is in the way, one by one as far as it is named.
func (p *printer) blockers(h decision.Held) {
	said := ""
	for _, b := range h.Blockers {
		if b.Message == said { // Pods of one template mostly wait for the same.
			b.Message = ""
		} else {
			said = b.Message
		}
		p.line("    %s", strings.TrimSpace(b.Name+"  "+blocker(b, p.now)))
	}
	if more := h.BlockerCount - int64(len(h.Blockers)); more > 0 && len(h.Blockers) > 0 {
		p.line("    and %d more", more)
	}
}

func blocker(b decision.Blocker, now time.Time) string {
	text := b.Reason
	if text == "" && b.Kind == "Pod" {
		text = "not ready"
	}
	if !b.Since.IsZero() {
		text += " for " + prose.Span(now.Sub(b.Since))
	}
	if b.Message != "" {
		text += ": " + b.Message
	}
	return strings.TrimSpace(text)
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

// writes are those that were sent, with what became of each.
func (p *printer) writes(list []telemetry.Write) {
	if len(list) == 0 {
		p.line("\nWROTE  nothing")
		return
	}
	p.line("\nWROTE")
	for i := range list {
		w := &list[i]
		text := strings.ReplaceAll(string(w.Kind), "-", " ") + ": " + w.Object
		if w.Count > 0 { // Of pods that have no names yet.
			text = fmt.Sprintf("%s: %d", strings.ReplaceAll(string(w.Kind), "-", " "), w.Count)
		}
		if w.Question != "" {
			text += "  (" + w.Question + ")"
		}
		text += "  " + string(w.State)
		if w.RV != "" {
			text += ", rv " + w.RV
		}
		if w.Failure != nil {
			text += ": " + w.Failure.Message
		}
		p.line("  %s", text)
		for _, c := range w.Changes {
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
	return strings.Join(terms, " - ") + " = " + e.Said()
}

func (p *printer) path(t *telemetry.Trace) {
	catalogue := app.Recorded().Of(t.Loop).Catalogue
	p.line("\nPATH")
	for _, step := range t.Path() {
		text := step.Question
		if q, known := catalogue.Find(step.Question); known {
			text = q.Text
		}
		var facts []string
		for _, f := range step.Facts {
			facts = append(facts, f.Name+" "+f.Value.String())
		}
		p.line("  %s\t%s\t%s\t%s", step.Question, text, step.Answer, strings.Join(facts, ", "))
	}
}
