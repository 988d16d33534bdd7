package decision_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestPathRecordsWhatItAnswers(t *testing.T) {
	var p decision.Path
	if p.Last() != nil {
		t.Error("an empty path has a last step")
	}
	if !p.Ask("Q-1", true, decision.Count("n", 1)) || p.Ask("Q-2", false) {
		t.Error("Ask does not return the answer it was given")
	}
	p.Name("Q-3", "web-1")
	if got := p.Count("Q-4", 7); got != 7 {
		t.Errorf("Count returns %d, want 7", got)
	}
	p.Last().Holds = true
	want := decision.Path{
		{Question: "Q-1", Answer: "yes", Facts: []decision.Fact{decision.Count("n", 1)}},
		{Question: "Q-2", Answer: "no"},
		{Question: "Q-3", Answer: "web-1"},
		{Question: "Q-4", Answer: "7", Holds: true},
	}
	if diff := cmp.Diff(want, p, cmp.Comparer(decision.Value.Equal)); diff != "" {
		t.Errorf("path differs (-want +got):\n%s", diff)
	}
	if got := (decision.Verdict{Path: p}).Leaf(); got != "Q-4" {
		t.Errorf("leaf is %q, want Q-4", got)
	}
	if got := (decision.Verdict{}).Leaf(); got != "" {
		t.Errorf("leaf of an empty path is %q", got)
	}
}

func TestSubtract(t *testing.T) {
	term := func(label string, n int64) decision.Term { return decision.Term{Label: label, Value: n} }
	for _, tt := range []struct {
		terms []decision.Term
		want  int64
	}{
		{nil, 0},
		{[]decision.Term{term("total", 10)}, 10},
		{[]decision.Term{term("total", 11), term("floor", 8), term("unavailable", 3)}, 0},
		{[]decision.Term{term("total", 3), term("floor", 8)}, -5},
	} {
		e := decision.Subtract("room", tt.terms...)
		if e.Result.Label != "room" || e.Result.Value != tt.want || len(e.Terms) != len(tt.terms) {
			t.Errorf("Subtract(%v) = %+v, want %d", tt.terms, e, tt.want)
		}
	}
}

// TestSubtractAddsUp proves that adding the terms to the result gives the first.
func TestSubtractAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(-1e15, 1e15), 1, 9).Draw(t, "values")
		terms := make([]decision.Term, len(values))
		for i, v := range values {
			terms[i].Value = v
		}
		sum := decision.Subtract("", terms...).Result.Value
		for _, v := range values[1:] {
			sum += v
		}
		if sum != values[0] {
			t.Fatalf("terms and result of %v add up to %d", values, sum)
		}
	})
}

func TestCatalogueFinds(t *testing.T) {
	c := decision.Catalogue{Questions: []decision.Question{
		{ID: "Q-1", Answers: []decision.Answer{{Is: "yes", Then: "go"}, {Is: "no", Then: "stop"}}},
		{ID: "Q-2", Answers: []decision.Answer{{Is: "none", Then: "create"}, {Is: decision.Any, Then: "use it"}}},
	}}
	for _, tt := range []struct {
		id, is, then string
		found        bool
	}{
		{"Q-1", "yes", "go", true},
		{"Q-1", "no", "stop", true},
		{"Q-1", "web", "", false},
		{"Q-2", "none", "create", true},
		{"Q-2", "web", "use it", true},
		{"Q-3", "yes", "", false},
	} {
		q, _ := c.Find(tt.id)
		a, found := q.Answer(tt.is)
		if a.Then != tt.then || found != tt.found {
			t.Errorf("%s answered %q leads to %q (%v), want %q (%v)", tt.id, tt.is, a.Then, found, tt.then, tt.found)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		state decision.State
		ok    bool
	}{
		{decision.Written, true}, {decision.Tolerated, true},
		{decision.Partly, false}, {decision.Refused, false}, {decision.Conflicted, false},
		{decision.Superseded, false}, {decision.Unknown, false}, {decision.NotTried, false}, {"", false},
	} {
		if got := (decision.Outcome{State: tt.state}).OK(); got != tt.ok {
			t.Errorf("an outcome that is %q is OK = %v", tt.state, got)
		}
	}
	r := decision.Round{Outcomes: []decision.Outcome{{State: decision.Written}, {State: decision.Refused}, {State: decision.Unknown}}}
	if got := r.Failed(); got != &r.Outcomes[1] {
		t.Errorf("Failed = %+v, want the second outcome", got)
	}
	if got := (decision.Round{Outcomes: r.Outcomes[:1]}).Failed(); got != nil {
		t.Errorf("Failed = %+v, want none", got)
	}
}

func TestLearntEmpty(t *testing.T) {
	for _, tt := range []struct {
		learnt decision.Learnt
		empty  bool
	}{
		{decision.Learnt{}, true},
		{decision.Learnt{ChildrenGone: []string{}}, true},
		{decision.Learnt{NameTaken: &decision.NameTaken{}}, false},
		{decision.Learnt{Parent: "gone"}, false},
		{decision.Learnt{ChildrenGone: []string{"uid"}}, false},
		{decision.Learnt{NamespaceTerminating: true}, false},
	} {
		if got := tt.learnt.IsZero(); got != tt.empty {
			t.Errorf("%+v is empty = %v", tt.learnt, got)
		}
	}
}

// TestEquationSaid: a result that is less than nothing says that nothing may go.
func TestEquationSaid(t *testing.T) {
	for want, e := range map[string]*decision.Equation{
		"3 may go":        decision.Subtract("may go", decision.Term{Value: 11}, decision.Term{Value: 8}),
		"0 may go":        decision.Subtract("may go", decision.Term{Value: 8}, decision.Term{Value: 8}),
		"-6: none may go": decision.Subtract("may go", decision.Term{Value: 23}, decision.Term{Value: 15}, decision.Term{Value: 14}),
		"-2: no room":     decision.Subtract("room", decision.Term{Value: 4}, decision.Term{Value: 6}),
	} {
		if got := e.Said(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
