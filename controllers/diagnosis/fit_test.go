package diagnosis_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestLength(t *testing.T) {
	w := decision.Words{}.Say("größer ").Name("web").Count("n", 12).Quote("no").Told("yes").Since(noon.Add(-time.Second)).Until(noon.Add(50 * time.Hour))
	if got := diagnosis.Length(w); got != 7+3+2+2+3+7+7 {
		t.Errorf("%d characters", got)
	}
	if got := diagnosis.Length(nil); got != 0 {
		t.Errorf("nothing has %d", got)
	}
}

// The longest words of others give way first, down to what has to be left of each.
func TestFit(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	quotes := decision.Words{}.Quote(x(30)).Say(x(50)).Told(x(40)).Name(x(60))
	for _, c := range []struct {
		name  string
		words decision.Words
		limit int
		want  []int
	}{
		{"fits", quotes, 180, []int{30, 50, 40, 60}},
		{"one too many", quotes, 179, []int{30, 50, 39, 60}},
		{"the longest alone", quotes, 170, []int{30, 50, 30, 60}},
		{"then the other", quotes, 160, []int{26, 50, 24, 60}},
		{"all that can go", quotes, 158, []int{24, 50, 24, 60}},
		{"more than can go", quotes, 10, []int{24, 50, 24, 60}},
		{"the first of two", decision.Words{}.Quote(x(40)).Quote(x(40)), 70, []int{30, 40}},
		{"nothing of others", decision.Words{}.Say(x(30)).Name(x(40)), 10, []int{30, 40}},
		{"as little as has to be left", decision.Words{}.Quote(x(24)), 10, []int{24}},
		{"as much as has to be left in brackets", decision.Words{}.Say(x(30)).Say(" (").Quote(x(40)).Say(")"), 57, []int{30, 2, 24, 1}},
		{"brackets that can go", decision.Words{}.Say(x(30)).Say(" (").Quote(x(40)).Say(")").Say(x(10)), 66, []int{30, 10}},
		{"brackets that are ours", decision.Words{}.Say(x(30)).Say(" (").Name(x(40)).Say(")"), 10, []int{30, 2, 40, 1}},
		{"the last brackets alone", decision.Words{}.Say(" (").Quote(x(24)).Say(")").Say(" (").Quote(x(24)).Say(")"), 30, []int{2, 24, 1}},
		{"all brackets", decision.Words{}.Say(" (").Quote(x(24)).Say(")").Say(" (").Quote(x(24)).Say(")"), 10, nil},
		{"brackets with more in them", decision.Words{}.Say(" (").Quote(x(24)).Say(", and ours)"), 10, []int{2, 24, 11}},
		{"brackets that begin otherwise", decision.Words{}.Say(" (ours: ").Quote(x(24)).Say(")"), 10, []int{8, 24, 1}},
		{"a bracket that never ends", decision.Words{}.Say(" (").Quote(x(24)), 10, []int{2, 24}},
		{"nothing", nil, 0, nil},
	} {
		before := diagnosis.Length(c.words)
		fitted := diagnosis.Fit(c.words, c.limit)
		for i, p := range fitted {
			if got := utf8.RuneCountInString(p.Text); got != c.want[i] {
				t.Errorf("%s: part %d has %d characters, want %d", c.name, i, got, c.want[i])
			}
		}
		if len(fitted) != len(c.want) || diagnosis.Length(c.words) != before {
			t.Errorf("%s: %d parts, and the words given have %d characters of %d", c.name, len(fitted), diagnosis.Length(c.words), before)
		}
	}
}

// The words of others are shortened, and nothing is left out.
func TestShort(t *testing.T) {
	w := decision.Words{}.Say("ours").Say(" (").Quote(strings.Repeat("x", 60)).Say(")")
	for limit, want := range map[int]bool{67: true, 66: true, 31: true, 30: false} {
		fitted, ok := diagnosis.Short(w, limit)
		if got := diagnosis.Length(fitted); ok != want || got != max(limit, 31) {
			t.Errorf("into %d: %v with %d characters, want %v", limit, ok, got, want)
		}
	}
}

// As much is left of the words of others as people need, or it does not fit.
func TestFair(t *testing.T) {
	w := decision.Words{}.Quote(strings.Repeat("x", 60)).Say("ours")
	for limit, want := range map[int]bool{64: true, 63: true, 44: true, 43: false} {
		fitted, ok := diagnosis.Fair(w, limit)
		if got := diagnosis.Length(fitted); ok != want || got != max(limit, 44) {
			t.Errorf("limit %d: %d characters, %v", limit, got, ok)
		}
	}
}
