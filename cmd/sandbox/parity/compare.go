package parity

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Difference is a field that upstream left the same way twice and ours did not.
// An empty value stands for a field that is not there.
type Difference struct {
	Scenario, Object, Field string
	Upstream, Ours          string
}

// Compare lists what differs, in the order of objects and fields. Of an object
// that is missing on one side only that is said. Events of an object about which
// a recorder had too much to say are not compared, as it has dropped some.
func Compare(scenario string, first, second, ours Record) []Difference {
	var differences []Difference
	for _, object := range union(first, second, ours) {
		a, b, c := first[object], second[object], ours[object]
		names := union(a, b, c)
		if a[existence] != b[existence] || a[limited]+b[limited]+c[limited] != "" {
			continue
		}
		if a[existence] != c[existence] {
			names = []string{existence}
		}
		for _, field := range names {
			if a[field] == b[field] && a[field] != c[field] {
				differences = append(differences, Difference{scenario, object, field, a[field], c[field]})
			}
		}
	}
	return differences
}

func union[V any](records ...map[string]V) []string {
	all := map[string]bool{}
	for _, record := range records {
		for key := range record {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Report prints differences for a reader, each object once.
func Report(differences []Difference) string {
	var text strings.Builder
	var last Difference
	for _, d := range differences {
		if d.Scenario != last.Scenario || d.Object != last.Object {
			fmt.Fprintf(&text, "%s: %s\n", d.Scenario, d.Object)
		}
		last = d
		fmt.Fprintf(&text, "  %s\n    upstream: %s\n    ours:     %s\n", d.Field, cmp.Or(d.Upstream, "(nothing)"), cmp.Or(d.Ours, "(nothing)"))
	}
	return text.String()
}

// departure ties a difference to an entry of the register in
// controllers/DESIGN.md. Each expression has to match the whole name.
type departure struct {
	entry                   int
	shows                   showing
	scenario, object, field string
	why                     string
}

// showing says whether a departure makes a difference in every one of its
// scenarios, or where Kubernetes' own loops race with themselves and lose.
type showing bool

const (
	always    showing = true
	sometimes showing = false
)

// concerns reports whether the departure is about the scenario.
func (d departure) concerns(s Scenario) bool {
	return regexp.MustCompile("^(?:" + d.scenario + ")$").MatchString(s.Name)
}

// allows reports whether the difference follows from the departure.
func (d departure) allows(x Difference) bool {
	for _, part := range [][2]string{{d.scenario, x.Scenario}, {d.object, x.Object}, {d.field, x.Field}} {
		if !regexp.MustCompile("^(?:" + part[0] + ")$").MatchString(part[1]) {
			return false
		}
	}
	return true
}

// unregistered leaves out what the register allows, and counts how often each
// entry of the table was needed.
func unregistered(differences []Difference, table []departure, needed map[int]int) []Difference {
	return slices.DeleteFunc(differences, func(x Difference) bool {
		for i, d := range table {
			if d.allows(x) {
				needed[i]++
				return true
			}
		}
		return false
	})
}
