package decision_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Which answers say that no API server could serve, and so nothing about the object.
func TestFailureDown(t *testing.T) {
	for _, tc := range []struct {
		failure *decision.Failure
		down    bool
	}{
		{nil, false},
		{&decision.Failure{Reason: decision.Unreachable}, true},
		{&decision.Failure{Reason: "Conflict"}, false},
		{&decision.Failure{Code: 502}, true},
		{&decision.Failure{Code: 503}, true},
		{&decision.Failure{Code: 504, Reason: "Timeout"}, true},
		{&decision.Failure{Code: 501}, false},
		{&decision.Failure{Code: 505}, false},
		{&decision.Failure{Code: 499}, false},
		{&decision.Failure{Code: 500}, true},
		{&decision.Failure{Code: 500, Reason: "ServerTimeout"}, true},
		{&decision.Failure{Code: 500, Reason: "InternalError"}, false}, // A webhook that fails.
		{&decision.Failure{Code: 429, Reason: "TooManyRequests"}, false},
	} {
		if got := tc.failure.Down(); got != tc.down {
			t.Errorf("%+v: down is %v", tc.failure, got)
		}
	}
}

// What every pod goes through is no finding that is worth recording.
func TestDiagnosisWorth(t *testing.T) {
	usual, image := decision.Finding{Code: "starting", Usual: true, Count: 2}, decision.Finding{Code: "image-pull", Count: 1}
	for name, tc := range map[string]struct {
		findings   []decision.Finding
		first      string
		has, empty bool
		worth      int
	}{
		"nothing":           {nil, "", false, true, 0},
		"usual":             {[]decision.Finding{usual}, "starting", false, false, 0},
		"an image":          {[]decision.Finding{image}, "image-pull", true, false, 1},
		"usual and another": {[]decision.Finding{usual, image}, "starting", true, false, 2},
	} {
		d := decision.Diagnosis{Findings: tc.findings}
		first := ""
		if f := d.First(); f != nil {
			first = f.Code
		}
		if first != tc.first || d.Has() != tc.has || d.IsZero() != tc.empty || len(d.Worth().Findings) != tc.worth {
			t.Errorf("%s: first %q, has %v, zero %v, worth %d", name, first, d.Has(), d.IsZero(), len(d.Worth().Findings))
		}
	}
}

// The numbers that words may count with: of a range that is known, and of news.
func TestFactsOfEstimatesAndNews(t *testing.T) {
	var none *decision.Estimate
	known := &decision.Estimate{Code: decision.EstimateKnown, Pods: 3, Steps: 2}
	unknown := &decision.Estimate{Code: "paused", Pods: 3, Steps: 2}
	if n := len(none.Facts()) + len(unknown.Facts()); n != 0 {
		t.Errorf("without a range there are %d facts", n)
	}
	if diff := cmp.Diff([]decision.Fact{decision.Count("becameReady", 3), decision.Count("steps", 2)}, known.Facts()); diff != "" {
		t.Errorf("a range (-want +got):\n%s", diff)
	}
	var nothing *decision.RecentChange
	if facts := nothing.Facts(); facts != nil {
		t.Errorf("no news has facts: %v", facts)
	}
	for count, others := range map[int64]int64{0: 0, 1: 0, 2: 1, 5: 4} {
		n := &decision.RecentChange{From: 7, To: 8, Became: 9, Count: count}
		want := []decision.Fact{decision.Count(decision.FactRecentFrom, 7), decision.Count(decision.FactRecentTo, 8),
			decision.Count(decision.FactRecentBecame, 9), decision.Count(decision.FactRecentOthers, others)}
		if diff := cmp.Diff(want, n.Facts()); diff != "" {
			t.Errorf("news of %d (-want +got):\n%s", count, diff)
		}
	}
}

// A value says what it is, and two are equal to the nanosecond.
func TestValuesSayWhatTheyAre(t *testing.T) {
	for _, tc := range []struct {
		fact      decision.Fact
		truth, is bool
	}{
		{decision.Bool("a", true), true, true}, {decision.Bool("a", false), false, true}, {decision.Count("a", 2), false, false},
	} {
		if truth, is := tc.fact.Value.Bool(); truth != tc.truth || is != tc.is {
			t.Errorf("%v is %v (%v)", tc.fact, truth, is)
		}
	}
	if decision.Instant("a", noon).Value.Equal(decision.Instant("a", noon.Add(1)).Value) {
		t.Error("two instants are equal that are a nanosecond apart")
	}
}

// Text is escaped as encoding/json does, each character that needs it for itself.
func TestFactTextIsEscaped(t *testing.T) {
	for text, want := range map[string]string{"a\nb": `a\nb`, `a"b`: `a\"b`, `a\b`: `a\\b`, "a<b": `a\u003cb`, "a>b": `a\u003eb`, "a&b": `a\u0026b`, "ä": "ä", "a\u2028b": `a\u2028b`, " ~": " ~"} {
		if data, err := decision.Text("n", text).MarshalJSON(); err != nil || string(data) != `{"name":"n","value":"`+want+`"}` {
			t.Errorf("%q is written as %s (%v)", text, data, err)
		}
	}
}
