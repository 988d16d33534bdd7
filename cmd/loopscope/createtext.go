package main

import (
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/app"
	"github.com/loopscope/loopscope/cmd/internal/create"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// forecastText prints what the loops will do with objects, before they are written.
func forecastText(out io.Writer, list []create.Forecast, now time.Time) error {
	p := printer{w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), now: now}
	if len(list) == 0 {
		p.line("No Deployment, ReplicaSet or ReplicationController is among the objects: the loops do nothing with them.\n")
	}
	for i := range list {
		p.forecast(&list[i])
	}
	return p.end()
}

func (p *printer) forecast(f *create.Forecast) {
	p.line("%s %s/%s, from %s", f.Kind, f.Namespace, f.Name, f.Source)
	if f.Unknown != "" {
		p.line("  It cannot be checked beforehand: %s.\n", f.Unknown)
		return
	}
	if f.Refused != nil {
		for i, line := range strings.Split(f.Refused.Error(), "\n") {
			if i == 0 {
				line = "It cannot be planned: " + strings.TrimPrefix(line, "error: ")
			}
			p.line("  %s", line)
		}
		p.line("")
		return
	}
	if f.Trace != nil {
		p.line("%s", f.Trace.Sentence.At(p.now))
		p.numbers(f.Trace.Loop, f.Trace.Numbers)
		p.findings(f.Trace.Diagnosis)
		if len(f.Trace.Rounds) > 0 {
			verdict := f.Trace.Rounds[len(f.Trace.Rounds)-1].Verdict
			p.held(verdict.Held)
			p.foreseen(verdict.Actions)
		}
	}
	p.clashes(f)
	if f.Plan == nil {
		p.line("\nPLAN  none: %s", f.Unplanned)
	} else {
		p.plan(f.Plan, app.Loops().Of(app.Loops().Named(f.Kind)).Sizes != "")
	}
	p.line("")
}

// foreseen are the first writes, those of pods by their number.
func (p *printer) foreseen(actions []decision.Action) {
	if len(actions) == 0 {
		p.line("\nWOULD WRITE  nothing")
		return
	}
	p.line("\nWOULD WRITE")
	for _, a := range actions {
		what := describe(a.Kind, a.Target, a.Size)
		if a.Count > 0 { // Of pods that have no names yet.
			verb, _, _ := strings.Cut(string(a.Kind), "-")
			what = verb + " " + prose.Count(a.Count, "pod")
		}
		p.line("  %s  (%s)", what, a.Question)
		for _, c := range a.Changes {
			p.line("    %s %s -> %s", c.Field, prose.OrNone(c.From), c.To)
		}
	}
}

func (p *printer) clashes(f *create.Forecast) {
	if len(f.Clashes)+len(f.Unread) > 0 {
		p.line("\nIN THE WAY")
	}
	for _, text := range f.Clashes {
		p.line("  %s", text)
	}
	for _, text := range f.Unread {
		p.line("  not known, as these could not be read: %s", text)
	}
}

// plan is the sequence, in which every pod becomes ready that is created. Where it is sized new
// and old pods are counted apart.
func (p *printer) plan(f *views.Plan, sized bool) {
	p.line("\nPLAN  if every new pod becomes ready")
	if sized {
		p.line("  after\tnew\told\ttotal\tavailable\t")
	} else {
		p.line("  after\tpods\tavailable\t")
	}
	for _, r := range f.Shown() {
		mark := r.Then
		if r.Mark != nil {
			mark = strings.TrimPrefix(mark+", "+r.Mark.Word, ", ")
		}
		if sized {
			p.line("  %s\t%d\t%d\t%d\t%d\t%s", r.When, r.New.N, r.Old.N, r.Total.N, r.Available.N, mark)
		} else {
			p.line("  %s\t%d\t%d\t%s", r.When, r.Total.N, r.Available.N, strings.TrimPrefix(mark, "new "))
		}
	}
	if f.Hidden > 0 {
		p.line("  and %d more steps", f.Hidden)
	}
	if f.Sentence != "" {
		p.line("  In the end: %s", f.Sentence)
	}
	if f.Cut != "" {
		p.line("  %s", f.Cut)
	}
}
