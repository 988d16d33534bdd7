package bench

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// String lists the kinds in order, with their numbers.
func (r requests) String() string {
	return layout(func(line func(...any)) {
		line("resource", "verb", "code", "requests")
		for _, k := range kinds(r) {
			line(k.resource, k.verb, k.code, r[k])
		}
	})
}

// kinds are all kinds that were seen: writes first, by resource.
func kinds(all ...requests) []kind {
	seen := map[kind]bool{}
	for _, r := range all {
		for k := range r {
			seen[k] = true
		}
	}
	var ordered []kind
	for k := range seen {
		ordered = append(ordered, k)
	}
	slices.SortFunc(ordered, func(a, b kind) int {
		if a.write() != b.write() {
			if a.write() {
				return -1
			}
			return 1
		}
		return strings.Compare(fmt.Sprint(a.resource, " ", a.verb, a.code), fmt.Sprint(b.resource, " ", b.verb, b.code))
	})
	return ordered
}

// table has a pair of columns for each phase, ours and upstream's, and a row
// for each kind of request: how many of them for each Deployment.
func table(runs []run, s settings) string {
	columns := columnsOf(runs, s)
	return layout(func(line func(...any)) {
		line(heads(columns, column.title, "")...)
		line(heads(columns, func(c column) string { return string(c.side) }, "for each Deployment")...)
		var all []requests
		for _, c := range columns {
			all = append(all, c.requests)
		}
		for _, k := range kinds(all...) {
			line(cells(columns, fmt.Sprintf("%s %s %d", k.resource, k.verb, k.code), 1, func(c column) float64 {
				return float64(c.requests[k]) / float64(c.runs*s.deployments)
			})...)
		}
		line(cells(columns, "writes besides pods, events", 1, func(c column) float64 {
			return float64(c.requests.count(kind.bookkeeping)) / float64(c.runs*s.deployments)
		})...)
		line(cells(columns, "CPU of the loops, ms", 1, func(c column) float64 {
			return c.cpu.Seconds() * 1000 / float64(c.runs*s.deployments)
		})...)
		line(cells(columns, "wall of the phase, s", 1, func(c column) float64 { return c.wall.Seconds() / float64(c.runs) })...)
	})
}

// column sums up one phase of one side over all its runs.
type column struct {
	phase string
	first bool // of the columns of this phase
	side  side
	runs  int
	passed
}

func columnsOf(runs []run, s settings) []column {
	var columns []column
	for i := range len(phases) + 1 {
		for j, who := range s.sides {
			c := column{phase: "total", first: j == 0, side: who, passed: passed{requests: requests{}}}
			if i < len(phases) {
				c.phase = phases[i].name
			}
			for _, r := range runs {
				if r.side == who {
					c.add(r, i)
				}
			}
			columns = append(columns, c)
		}
	}
	return columns
}

func (c *column) add(r run, i int) {
	p := r.total()
	if i < len(r.phases) {
		p = r.phases[i]
	}
	c.runs++
	c.wall, c.cpu = c.wall+p.wall, c.cpu+p.cpu
	c.requests.add(p.requests)
}

func (c column) title() string {
	if c.first {
		return c.phase
	}
	return ""
}

func heads(columns []column, head func(column) string, first string) []any {
	row := []any{first}
	for _, c := range columns {
		row = append(row, head(c))
	}
	return row
}

func cells(columns []column, first string, digits int, value func(column) float64) []any {
	row := []any{first}
	for _, c := range columns {
		cell := "·"
		if v := value(c); v > 0 {
			cell = fmt.Sprintf("%.*f", digits, v)
		}
		row = append(row, cell)
	}
	return row
}

// measured is one number of a run that the two sides are compared by.
type measured struct {
	name  string
	value func(run) float64
	bar   float64 // what the ratio should be at most; 0 for none
}

// comparisons are of ours with upstream, or of what record or readers cost.
func (s settings) comparisons() []measured {
	measures := allMeasured()
	bars, known := map[side]map[string]float64{bare: {measuredCPU: 1.1}, unread: {measuredWall: 1.05}}[s.sides[1]]
	if !known {
		return measures
	}
	for i := range measures {
		measures[i].bar = bars[measures[i].name]
	}
	return measures
}

const measuredCPU, measuredWall = "CPU of the loops, s", "wall, all phases, s"

func allMeasured() []measured {
	measures := []measured{
		{"writes besides pods, events", func(r run) float64 { return float64(r.total().requests.count(kind.bookkeeping)) }, 0.5},
		{"conflicts", func(r run) float64 { return float64(r.total().requests.count(kind.conflict)) }, 0},
		{measuredWall, func(r run) float64 { return r.total().wall.Seconds() }, 0.85},
		{measuredCPU, func(r run) float64 { return r.total().cpu.Seconds() }, 0.6},
		{"peak memory, MB", func(r run) float64 { return float64(r.memory) / (1 << 20) }, 0},
	}
	for i, p := range phases {
		bar := 0.0
		if p.name == "image update" {
			bar = 0.85
		}
		measures = append(measures, measured{"wall, " + p.name + ", s", func(r run) float64 { return r.phases[i].wall.Seconds() }, bar})
	}
	return measures
}

// summary has medians, and of the ratios of neighbouring runs the spread, too.
func summary(runs []run, s settings) string {
	return layout(func(line func(...any)) {
		line("median of", string(s.sides[0]), string(s.sides[1]), "ratio", "(min .. max)", "bar")
		for _, m := range s.comparisons() {
			var mine, theirs, ratios []float64
			for i := 0; i+1 < len(runs); i += 2 {
				first, second := runs[i], runs[i+1]
				if first.side != s.sides[0] {
					first, second = second, first
				}
				a, b := m.value(first), m.value(second)
				mine, theirs = append(mine, a), append(theirs, b)
				if b > 0 {
					ratios = append(ratios, a/b)
				}
			}
			ratio, spread, bar := "·", "", ""
			if len(ratios) > 0 {
				ratio = fmt.Sprintf("%.2f", median(ratios))
				spread = fmt.Sprintf("(%.2f .. %.2f)", slices.Min(ratios), slices.Max(ratios))
			}
			if m.bar > 0 && len(ratios) > 0 {
				bar = verdict(median(ratios), m.bar)
			}
			line(m.name, fmt.Sprintf("%.1f", median(mine)), fmt.Sprintf("%.1f", median(theirs)), ratio, spread, bar)
		}
	})
}

func verdict(ratio, bar float64) string {
	if ratio <= bar {
		return fmt.Sprintf("≤ %.2f: met", bar)
	}
	return fmt.Sprintf("≤ %.2f: NOT met", bar)
}

func median(values []float64) float64 {
	ordered := slices.Sorted(slices.Values(values))
	middle := len(ordered) / 2
	if len(ordered)%2 == 1 {
		return ordered[middle]
	}
	return (ordered[middle-1] + ordered[middle]) / 2
}

// layout aligns lines of cells.
func layout(write func(line func(cells ...any))) string {
	var text strings.Builder
	aligned := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	write(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(aligned, "\t")
			}
			fmt.Fprint(aligned, cell)
		}
		fmt.Fprintln(aligned)
	})
	_ = aligned.Flush() // into memory
	return text.String()
}
