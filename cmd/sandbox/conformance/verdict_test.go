package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// verdict is what the suite says of one spec.
type verdict struct {
	passed bool
	took   time.Duration
	reason string // of a failure
	output string // the spec's own
}

func (v verdict) String() string {
	word := "FAILED"
	if v.passed {
		word = "passed"
	}
	return fmt.Sprintf("%s %.0f s", word, v.took.Seconds())
}

// verdicts are those of one side's run, by the specs' whole names.
type verdicts map[string]verdict

func (v verdicts) passed() int {
	n := 0
	for _, one := range v {
		if one.passed {
			n++
		}
	}
	return n
}

// round is one run of the specs on every side.
type round map[side]verdicts

// names are the specs that ran on any side, in order.
func (r round) names() []string {
	all := map[string]bool{}
	for _, v := range r {
		for name := range v {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// table has a line for each spec and a column for each side.
func (r round) table(sides []side) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	row := func(first string, cell func(verdicts, side) string) {
		fmt.Fprint(w, first)
		for _, who := range sides {
			fmt.Fprint(w, "\t", cell(r[who], who))
		}
		fmt.Fprintln(w)
	}
	row("spec", func(_ verdicts, who side) string { return string(who) })
	for _, name := range r.names() {
		row(name, func(v verdicts, _ side) string {
			if one, ran := v[name]; ran {
				return one.String()
			}
			return "did not run"
		})
	}
	row("passed", func(v verdicts, _ side) string { return fmt.Sprintf("%d of %d", v.passed(), len(v)) })
	_ = w.Flush() // into memory
	return text.String()
}

// reasons are the first lines of what failed, for each side.
func (r round) reasons(sides []side) string {
	var text strings.Builder
	for _, name := range r.names() {
		for _, who := range sides {
			if v, ran := r[who][name]; ran && !v.passed {
				lines := strings.SplitN(v.reason, "\n", 4)
				fmt.Fprintf(&text, "%s: %s:\n\t%s\n", who, name, strings.Join(lines[:min(3, len(lines))], "\n\t"))
			}
		}
	}
	return text.String()
}

// judge says what is wrong with a round: a side on which not every spec ran,
// too few that pass with our loops, and specs that pass with upstream's only.
func (r round) judge(s selection, sides []side) []string {
	var wrong []string
	for _, who := range sides {
		if ran := len(r[who]); ran != s.specs {
			wrong = append(wrong, fmt.Sprintf("%s: %d specs ran, want %d", who, ran, s.specs))
		}
	}
	if slices.Contains(sides, ours) && r[ours].passed() < s.enough {
		wrong = append(wrong, fmt.Sprintf("ours: %d specs passed, want at least %d", r[ours].passed(), s.enough))
	}
	for _, name := range r.names() {
		if mine := r[ours][name]; slices.Contains(sides, ours) && r[upstream][name].passed && !mine.passed {
			wrong = append(wrong, fmt.Sprintf("%s: passes with upstream's loops, not with ours\n%s", name, mine.output))
		}
	}
	return wrong
}
