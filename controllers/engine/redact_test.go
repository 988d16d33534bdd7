package engine

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// What is published has the very words, behind words of ours, too; what was never told
// stays as it is.
func TestUnredact(t *testing.T) {
	var h Redactor
	if told := h.Redact("no room"); told != "no room" || len(h.originals) != 0 {
		t.Errorf("of a text without a secret it tells %q and keeps %v", told, h.originals)
	}
	for text, want := range map[string]string{"password=hunter2": "password=…", "wrong password=hunter3": "wrong password=…", "a wrong password=hunter4": "a wrong password=…"} {
		if told := h.Redact(text); told != want {
			t.Errorf("%q is told as %q, want %q", text, told, want)
		}
	}
	for told, want := range map[string]string{
		"password=…":                          "password=hunter2",
		"Error creating: password=…":          "Error creating: password=hunter2",
		"Error creating: wrong password=…":    "Error creating: wrong password=hunter3",
		"Error creating: a wrong password=…":  "Error creating: a wrong password=hunter4",
		"Error creating: password=… is wrong": "Error creating: password=… is wrong",
		"":                                    "",
	} {
		for range 20 { // The longest counts, in whatever order they are looked at.
			if got := h.Unredact(told); got != want {
				t.Fatalf("for %q is published %q, want %q", told, got, want)
			}
		}
	}
}

// The event of a refused deletion has the API server's words alone, those of the record stand
// behind ours.
func TestRedactFailure(t *testing.T) {
	var h Redactor
	h.RedactFailure(nil)
	for message, want := range map[string]string{
		"denied: password=hunter2":               "denied: password=…",
		NotDeleted + "refused: password=hunter3": NotDeleted + "refused: password=…",
		"no room":                                "no room",
	} {
		f := &decision.Failure{Message: message}
		if h.RedactFailure(f); f.Message != want {
			t.Errorf("%q is recorded as %q, want %q", message, f.Message, want)
		}
		if got := h.Unredact(f.Message); got != message {
			t.Errorf("%q is published as %q", message, got)
		}
	}
	if got := h.Unredact("refused: password=…"); got != "refused: password=hunter3" {
		t.Errorf("the event says %q", got)
	}
}

// Both failures of pods that were created at once are recorded without credentials.
func TestFailuresAreRedacted(t *testing.T) {
	s := &script{}
	s.decideFunc = func(int) decision.Verdict {
		return decision.Verdict{Actions: []decision.Action{action("pods", decision.SlowStart)}}
	}
	s.doFunc = func(decision.Action) (decision.Outcome, decision.Learnt) {
		return decision.Outcome{State: decision.Unknown, Failure: &decision.Failure{Message: "denied: password=hunter2"}, Lost: &decision.Failure{Message: "lost: password=hunter3"}}, decision.Learnt{}
	}
	o := play(t, s, 1, Act, time.Millisecond)[0].Rounds[0].Outcomes[0]
	if o.Failure.Message != "denied: password=…" || o.Lost.Message != "lost: password=…" {
		t.Errorf("recorded are %q and %q", o.Failure.Message, o.Lost.Message)
	}
}

// Each text that should be a number and is none has words of its own.
func TestRedactNumber(t *testing.T) {
	var h Redactor
	if got := h.UnredactNumber("…"); got != "…" {
		t.Errorf("of what was never told is published %q", got)
	}
	for _, c := range []struct{ text, told string }{{"3", "3"}, {"", ""}, {"x", "…"}, {"y", "……"}, {"x", "…"}, {"y", "……"}, {"-7", "-7"}} {
		told := h.RedactNumber(c.text)
		if told != c.told {
			t.Errorf("%q is told as %q, want %q", c.text, told, c.told)
		}
		if got := h.UnredactNumber(told); got != c.text {
			t.Errorf("for %q is published %q, want %q", told, got, c.text)
		}
	}
	for _, told := range []string{"………", "5…", "…5"} {
		if got := h.UnredactNumber(told); got != told {
			t.Errorf("of %q, which was never told, is published %q", told, got)
		}
	}
}

// Conditions that the record cannot tell apart by their message have the very words of each;
// one of ours has those that it repeats.
func TestRedactedConditions(t *testing.T) {
	var h Redactor
	said := []Words{
		{"Progressing", "False", "FailedCreate", "password=hunter2"},
		{"ReplicaFailure", "True", "FailedCreate", "password=hunter3"},
		{"Available", "True", "Minimum", "has minimum availability"},
		{"token=abcdefgh", "password=hunter4", "secret_key=ijklmnop", ""},
	}
	var told []decision.Condition
	for _, w := range said {
		told = append(told, h.Condition(w.Kind, w.Status, w.Reason, w.Message))
	}
	want := []decision.Condition{
		{Type: "Progressing", Status: "False", Reason: "FailedCreate", Message: "password=…"},
		{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "password=…"},
		{Type: "Available", Status: "True", Reason: "Minimum", Message: "has minimum availability"},
		{Type: "token=…", Status: "password=…", Reason: "secret_key=…"},
	}
	for i, c := range told {
		if c != want[i] {
			t.Errorf("%+v is told as %+v", said[i], c)
		}
		if got := h.UnredactCondition(c); got != said[i] {
			t.Errorf("for %+v is published %+v", c, got)
		}
	}
	h.Redact("exceeded: password=hunter5")
	ours := decision.Condition{Type: "Progressing", Status: "True", Reason: "Created", Message: "web: exceeded: password=…"}
	if got := h.UnredactCondition(ours); got != (Words{"Progressing", "True", "Created", "web: exceeded: password=hunter5"}) {
		t.Errorf("for one of ours is published %+v", got)
	}
}
