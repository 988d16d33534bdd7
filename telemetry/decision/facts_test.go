package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFactsCollectsWhatASentenceMaySay(t *testing.T) {
	var path, reported Path
	path.Ask("Q-1", true, Count("total", 11))
	path.Last().Equation = Subtract("may go", Term{Label: "total", Value: 11}, Term{Label: "floor", Value: 8})
	reported.Count("Q-2", 4, Count("ready", 4))
	held := Held{Equation: Subtract("room", Term{Label: "ceiling", Value: 13})}
	rounds := []Round{{Verdict: Verdict{Path: path, Held: []Held{held, {}}}}}
	facts := Facts(rounds, &Report{Path: reported}, append(Try{Number: 2, Limit: 15}.Facts(), Count("wanted", 10))...)
	for _, tc := range []struct {
		fact string
		n    int64
		is   bool
	}{
		{"total", 11, true}, {"floor", 8, true}, {"may go", 3, true}, {"ceiling", 13, true}, {"room", 13, true},
		{"ready", 4, true}, {"try", 2, true}, {"tries", 15, true}, {"wanted", 10, true},
		{"total", 12, false}, {"Total", 11, false}, {"Q-2", 4, false},
	} {
		if got := len(Words{}.Count(tc.fact, tc.n).Strays(facts)) == 0; got != tc.is {
			t.Errorf("%s %d is a fact: %v, want %v", tc.fact, tc.n, got, tc.is)
		}
	}
	if got := Facts(nil, nil, Try{}.Facts()...); len(got) != 0 {
		t.Errorf("nothing has facts: %v", got)
	}
}

func TestStraysFindsDigitsInPlainWords(t *testing.T) {
	w := Words{}.Say("3 pods").Name("web-7d4").Quote("http 503").Say(" wait").Count("pods", 3)
	if diff := cmp.Diff([]string{"3 pods", "pods 3"}, w.Strays(nil)); diff != "" {
		t.Errorf("strays (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"0", "9"}, Words{}.Say("0").Say("/:").Say("9").Strays(nil)); diff != "" {
		t.Errorf("strays at the ends of the digits (-want +got):\n%s", diff)
	}
}

func TestPathAnswer(t *testing.T) {
	var p Path
	p.Ask("Q-1", false)
	p.Name("Q-2", "first")
	p.Name("Q-2", "second")
	for id, want := range map[string]string{"Q-1": "no", "Q-2": "first"} {
		if got, ok := p.Answer(id); got != want || !ok {
			t.Errorf("%s is answered %q (%v), want %q", id, got, ok, want)
		}
	}
	if got, ok := p.Answer("Q-3"); ok || got != "" {
		t.Errorf("Q-3 was not asked, but answered %q", got)
	}
}
