package decision

import (
	"strings"
	"testing"
)

// A code is looked for in its list first, and then in the one that may stand in its place.
func TestReasonsFind(t *testing.T) {
	outer := Reasons{Scope: "worker", Kind: "result", List: []Reason{{Code: "ok"}, {Code: "late"}}}
	inner := Reasons{Scope: "demo", Kind: "held", List: []Reason{{Code: "floor", Means: "There."}, {Code: "late", Means: "Here."}}, Or: &outer}
	for code, want := range map[string]Reason{"floor": {Code: "floor", Means: "There."}, "late": {Code: "late", Means: "Here."}, "ok": {Code: "ok"}, "none": {}} {
		got, ok := inner.Find(code)
		if got.Code != want.Code || got.Means != want.Means || ok != (want.Code != "") {
			t.Errorf("%s is found as %+v (%v)", code, got, ok)
		}
	}
	for code, want := range map[string]string{"floor": inner.Anchor(Reason{Code: "floor"}), "ok": outer.Anchor(Reason{Code: "ok"}), "none": ""} {
		if got := inner.AnchorOf(code); got != want {
			t.Errorf("%s is at %q, want %q", code, got, want)
		}
	}
}

// A code links the questions of its own loop; one of the worker those of every loop.
func TestReasonsLinkQuestions(t *testing.T) {
	demo := Catalogue{Loop: "demo", Questions: []Question{{ID: "Q-1", Tag: "Q-1"}}}
	other := Catalogue{Loop: "other", Questions: []Question{{ID: "Q-1", Tag: "Q-1"}, {ID: "Q-2", Tag: "Q-2"}}}
	for _, tc := range []struct {
		scope     string
		questions []string
		want      string
	}{
		{"demo", []string{"Q-1", "Q-2"}, "- Questions: [`Q-1`](DECISIONS.md#demo-q-1)\n- Rules: [Q-1](RULES.md#q-1)\n"},
		{"worker", []string{"Q-1"}, "- Questions: [`Q-1`](DECISIONS.md#demo-q-1), [`Q-1`](DECISIONS.md#other-q-1)\n- Rules: [Q-1](RULES.md#q-1)\n"},
		{"demo", []string{"Q-9"}, ""},
		{"demo", nil, ""},
	} {
		text := ReasonsMarkdown([]Catalogue{demo, other}, Reasons{Scope: tc.scope, Kind: "held", List: []Reason{{Code: "floor", Questions: tc.questions}}})
		_, got, _ := strings.Cut(text, "- What to do: \n")
		if got != tc.want {
			t.Errorf("%v of %s are linked as %q, want %q", tc.questions, tc.scope, got, tc.want)
		}
	}
}
