package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// count is a row of the table.
type count struct{ planted, killed, timedOut, listed, survived int }

func (c *count) add(other count) {
	c.planted += other.planted
	c.killed += other.killed
	c.timedOut += other.timedOut
	c.listed += other.listed
	c.survived += other.survived
}

// report tells what survived and what to do about it, and fails if there is anything.
func report(out io.Writer, results []result, listed survivors, stale []survivor) error {
	rows := map[string]*count{}
	problems := len(stale)
	slices.SortFunc(results, func(a, b result) int {
		return cmp.Or(strings.Compare(a.plant.file, b.plant.file), cmp.Compare(a.plant.start, b.plant.start))
	})
	for _, r := range results {
		one := count{planted: 1}
		why := listed.why(r.plant)
		switch {
		case r.status == survived && why == "":
			one.survived = 1
			problems++
			tellSurvivor(out, r.plant)
		case r.status == survived:
			one.listed = 1
		case r.status == timedOut:
			one.killed, one.timedOut = 1, 1
		default:
			one.killed = 1
		}
		if why != "" && r.status != survived {
			fmt.Fprintf(out, "\n%s\n  is listed as changing nothing (%s), and a test notices it: is it the entry that is wrong?\n", r.plant, why)
		}
		if rows[r.plant.pkg] == nil {
			rows[r.plant.pkg] = &count{}
		}
		rows[r.plant.pkg].add(one)
	}
	for _, s := range stale {
		fmt.Fprintf(out, "\nThe list has an entry that no plant has any more, as the code changed: %s in %s of %s, %s → %s\n  Delete it, or give it the text that the code has now.\n", s.Kind, s.Func, s.File, s.Before, s.After)
	}
	table(out, rows)
	if problems > 0 {
		return fmt.Errorf("%w, or are listed wrongly: %d", errSurvived, problems)
	}
	return nil
}

func tellSurvivor(out io.Writer, p plant) {
	fmt.Fprintf(out, "\n%s:%d: %s in %s\n  - %s\n  + %s\n", p.file, p.line, p.kind, p.fn, p.before, p.after)
	fmt.Fprintf(out, "  No test of %s or of a package above it fails with this mistake. Write one that does, and see that it kills the mutant:\n", p.pkg)
	fmt.Fprintf(out, "    go run ./cmd/internal/mutants -id %s ./%s\n", p.id(), p.pkg)
	fmt.Fprintf(out, "  Only where it changes nothing that anybody could see, list it in survivors.yaml with the reason:\n")
	for line := range strings.Lines(entry(p)) {
		fmt.Fprint(out, "    ", line)
	}
}

func table(out io.Writer, rows map[string]*count) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nplanted\tkilled\tby timeout\tlisted\tsurvived\tpercent\t  package\n")
	sums := map[string]*count{}
	var all count
	row := func(name string, c count) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%.1f\t  %s\n", c.planted, c.killed, c.timedOut, c.listed, c.survived, 100*float64(c.killed)/float64(max(1, c.planted)), name)
	}
	for _, pkg := range slices.Sorted(maps.Keys(rows)) {
		row(pkg, *rows[pkg])
		top, _, _ := strings.Cut(pkg, "/")
		if sums[top] == nil {
			sums[top] = &count{}
		}
		sums[top].add(*rows[pkg])
		all.add(*rows[pkg])
	}
	for _, top := range slices.Sorted(maps.Keys(sums)) {
		row("all of "+top, *sums[top])
	}
	row("everything", all)
	_ = w.Flush()
}
