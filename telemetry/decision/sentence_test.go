package decision_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestSentenceAt(t *testing.T) {
	deadline := noon.Add(312 * time.Second)
	waiting := decision.Sentence{
		Namespace: "shop", Object: "web", Tone: decision.ToneWaiting, Verb: "is", State: "waiting",
		Lead: decision.Words{}.Count("unready", 3).Say(" new pods cannot pull ").Quote("nginx:404").Say(", so ").Name("web-1").Say(" stays"),
		Then: decision.Words{}.Say("Deadline in ").Until(deadline).Say(", waiting for ").Since(noon.Add(-90 * time.Second)).Say(", since ").Clock(noon),
	}
	for _, tt := range []struct {
		name     string
		sentence decision.Sentence
		now      time.Time
		want     string
	}{
		{"now", waiting, noon, "shop/web is waiting: 3 new pods cannot pull nginx:404, so web-1 stays. Deadline in 5m 12s, waiting for 1m 30s, since 12:00:00."},
		{"later", waiting, noon.Add(time.Minute), "shop/web is waiting: 3 new pods cannot pull nginx:404, so web-1 stays. Deadline in 4m 12s, waiting for 2m 30s, since 12:00:00."},
		{"over", waiting, deadline, "shop/web is waiting: 3 new pods cannot pull nginx:404, so web-1 stays. Deadline in 0s, waiting for 6m 42s, since 12:00:00."},
		{"before its time", waiting, noon.Add(-time.Hour), "shop/web is waiting: 3 new pods cannot pull nginx:404, so web-1 stays. Deadline in 1h 5m, waiting for 0s, since 12:00:00."},
		{"one clause", decision.Sentence{Object: "node-1", Verb: "is", State: "gone"}, noon, "node-1 is gone."},
		{"no second sentence", decision.Sentence{Namespace: "a", Object: "b", Verb: "has", State: "failed", Lead: decision.Words{}.Say("no room")}, noon, "a/b has failed: no room."},
	} {
		if got := tt.sentence.At(tt.now); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// TestWordsKeepInstants proves that time parts are the same whatever zone and
// monotonic reading they were made from, so that equal sentences compare equal.
func TestWordsKeepInstants(t *testing.T) {
	elsewhere := time.Now()
	here := elsewhere.UTC().Round(0)
	a := decision.Words{}.Until(elsewhere).Since(elsewhere).Clock(elsewhere.In(time.FixedZone("", 7200)))
	b := decision.Words{}.Until(here).Since(here).Clock(here)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v differs from %+v", a, b)
	}
}

func TestSentenceJSON(t *testing.T) {
	s := decision.Sentence{
		Namespace: "shop", Object: "web", Tone: decision.ToneOK, Verb: "is", State: "settled", Code: "settled",
		Lead: decision.Words{}.Count("available", 8).Say(" are available"), ChangesAt: noon,
	}
	const want = `{"namespace":"shop","object":"web","tone":"ok","verb":"is","state":"settled",` +
		`"lead":[{"kind":"number","fact":"available","n":8},{"text":" are available"}],` +
		`"turns":"2026-03-14T12:00:00Z","code":"settled"}`
	data, err := json.Marshal(s)
	if err != nil || string(data) != want {
		t.Fatalf("Marshal = %s, %v\nwant %s", data, err, want)
	}
	var back decision.Sentence
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("came back as %+v, %v", back, err)
	}
}

// TestNoteChange: the earliest instant that is still to come, as JSON can keep it.
func TestNoteChange(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var s decision.Sentence
	for _, step := range []struct{ note, want time.Time }{
		{time.Time{}, time.Time{}},
		{now, time.Time{}},
		{now.Add(2 * time.Minute), now.Add(2 * time.Minute)},
		{now.Add(3 * time.Minute), now.Add(2 * time.Minute)},
		{now.Add(time.Minute).In(time.FixedZone("", 3600)), now.Add(time.Minute)},
		{now.Add(-time.Second), now.Add(time.Minute)},
	} {
		if s.NoteChange(step.note, now); s.ChangesAt != step.want {
			t.Errorf("after %s: %s, want %s", step.note, s.ChangesAt, step.want)
		}
	}
}
