package decision_test

import (
	"slices"
	"testing"

	"github.com/loopscope/loopscope/controllers/decision"
)

// TestFactsOfASync proves that every place where a sync keeps a number is found.
func TestFactsOfASync(t *testing.T) {
	count := func(name string, n int64) decision.Term { return decision.Term{Label: name, Value: n} }
	rounds := []decision.Round{
		{Verdict: decision.Verdict{Path: decision.Path{{Question: "Q-1", Answer: "yes", Facts: []decision.Fact{decision.Count("first", 1)}}}}},
		{Verdict: decision.Verdict{
			Path: decision.Path{{Question: "Q-2", Answer: "no", Equation: decision.Subtract("room", count("total", 5), count("floor", 3))}},
			Held: []decision.Held{{Equation: decision.Subtract("left", count("have", 9), count("need", 4))}, {Code: "no equation"}},
		}},
	}
	report := &decision.Report{Path: decision.Path{{Question: "Q-3", Facts: []decision.Fact{decision.Count("settled", 7)}}}}
	var got []string
	for _, f := range decision.Facts(rounds, report, decision.Count("besides", 8)) {
		got = append(got, f.Name+"="+f.Value.String())
	}
	slices.Sort(got)
	want := []string{"besides=8", "first=1", "floor=3", "have=9", "left=5", "need=4", "room=2", "settled=7", "total=5"}
	if !slices.Equal(got, want) {
		t.Errorf("facts are %v, want %v", got, want)
	}
	if got := decision.Facts(nil, nil); len(got) != 0 {
		t.Errorf("facts of nothing are %v", got)
	}
}

func TestTryFacts(t *testing.T) {
	if got := (decision.Try{}).Facts(); got != nil {
		t.Errorf("a worker that stands nowhere has the facts %v", got)
	}
	got := decision.Try{Number: 3, Limit: 15}.Facts()
	if len(got) != 2 || got[0] != decision.Count("try", 3) || got[1] != decision.Count("tries", 15) {
		t.Errorf("facts are %v, want try 3 and tries 15", got)
	}
}

func TestPathAnswer(t *testing.T) {
	p := decision.Path{{Question: "Q-1", Answer: "yes"}, {Question: "Q-2", Answer: "web-1"}}
	for _, tt := range []struct {
		id, answer string
		asked      bool
	}{{"Q-1", "yes", true}, {"Q-2", "web-1", true}, {"Q-3", "", false}} {
		if answer, asked := p.Answer(tt.id); answer != tt.answer || asked != tt.asked {
			t.Errorf("%s was answered %q (%v), want %q (%v)", tt.id, answer, asked, tt.answer, tt.asked)
		}
	}
}

func TestStrays(t *testing.T) {
	facts := []decision.Fact{decision.Count("pods", 3), decision.Text("old", "4")}
	w := decision.Words{}
	for _, tt := range []struct {
		name  string
		words decision.Words
		want  []string
	}{
		{"a fact", w.Count("pods", 3).Say(" pods"), nil},
		{"another value", w.Count("pods", 4), []string{"pods 4"}},
		{"another name", w.Count("old", 3), []string{"old 3"}},
		{"a text is no number", w.Count("old", 4), []string{"old 4"}},
		{"a digit in plain words", w.Say("3 pods"), []string{"3 pods"}},
		{"digits of others", w.Name("web-1").Quote("nginx:404").Until(noon), nil},
	} {
		if got := tt.words.Strays(facts); !slices.Equal(got, tt.want) {
			t.Errorf("%s: strays are %q, want %q", tt.name, got, tt.want)
		}
	}
}
