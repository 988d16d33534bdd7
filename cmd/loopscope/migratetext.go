package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopscope/loopscope/cmd/internal/migrate"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

// say tells of a step while it is taken, beside what is printed for programs.
func (o *migrateOptions) say(name string, s migrate.Step) {
	out := o.s.out
	if o.output.forPrograms() {
		out = o.s.err
	}
	text := prose.Upper(s.Text)
	if s.Kind == migrate.Wait {
		text = "Waits " + s.Text
	}
	fmt.Fprintf(out, "%s  rc/%s  %s\n", time.Now().UTC().Format("15:04:05"), name, safetext.Line(text))
}

// planText prints what is in the way, what is not known and, unless it is carried out at once, the
// steps.
func (o *migrateOptions) planText(plan *migrate.Plan) error {
	p := printer{w: tabwriter.NewWriter(o.s.out, 0, 0, 2, ' ', 0), now: time.Now()}
	if !o.write || len(plan.Problems) > 0 {
		from, to := "ReplicationController "+plan.Namespace+"/"+plan.Controller, "Deployment "+plan.Deployment
		if plan.Undo {
			from, to = "Deployment "+plan.Namespace+"/"+plan.Deployment, "ReplicationController "+plan.Controller
		}
		p.line("The pods of %s go to %s.", from, to)
		p.list("IN THE WAY", plan.Problems)
	}
	p.list("NOT KNOWN, as it could not be read", plan.Unread)
	if !o.write {
		p.steps(plan)
		p.list("TO KNOW", append(slices.Clone(plan.Notes), migrate.Untouched))
		p.line("")
	}
	switch {
	case len(plan.Problems) > 0:
		p.line("Nothing was written.")
	case !o.write && len(plan.Steps) > 0:
		p.line("Nothing was written: --write takes these steps.")
	}
	return p.end()
}

// list has one line for each text, and further ones indented.
func (p *printer) list(title string, texts []string) {
	for i, text := range texts {
		if i == 0 {
			p.line("\n%s", title)
		}
		for j, line := range strings.Split(text, "\n") {
			p.line("  %s%s", strings.Repeat("  ", min(j, 1)), line)
		}
	}
}

func (p *printer) steps(plan *migrate.Plan) {
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if i == 0 {
			p.line("\nSTEPS")
		}
		p.line("  %d. %s", i+1, prose.Upper(s.Text))
		for j, w := range s.Writes {
			if j == mostWrites && len(s.Writes) > mostWrites+1 {
				p.line("     and %d more", len(s.Writes)-mostWrites)
				break
			}
			p.line("     %s %s %s", w.Verb, w.Kind, w.Name)
			for _, c := range w.Changes {
				p.line("       %s %s -> %s", c.Field, prose.OrNone(c.From), prose.OrNone(c.To))
			}
		}
		p.line("     then %s", s.Then)
	}
	if plan.End != "" {
		p.line("\n%s.", "In the end: "+plan.End)
	}
	if t := plan.Trace; t != nil {
		p.line("\nTHE DEPLOYMENT'S LOOP THEN SAYS\n  %s", t.Sentence.At(p.now))
		if len(t.Rounds) > 0 {
			p.foreseen(t.Rounds[len(t.Rounds)-1].Verdict.Actions)
		}
	}
}

// mostWrites is how many writes of a step are printed.
const mostWrites = 3

func (o *migrateOptions) doneText(plan *migrate.Plan, r *migrate.Report) error {
	p := printer{w: tabwriter.NewWriter(o.s.out, 0, 0, 2, ' ', 0), now: time.Now()}
	p.line("%s", r)
	if len(plan.Steps) > 0 {
		p.list("TO KNOW", plan.Notes)
	}
	return p.end()
}
