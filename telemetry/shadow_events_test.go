package telemetry

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// says has the other controller publish an event about web.
func (w *watching) says(kind, reason, message string) {
	w.shadow.Heard(&Published{Object: object("web"), Named: "web.1", Component: "deployment-controller", At: w.now, Event: decision.Event{Type: kind, Reason: reason, Message: message}})
}

// later is what was compared when no event is open any more.
func (w *watching) later() ShadowState { return w.shadow.State(w.now.Add(eventWithin + time.Second)) }

// TestShadowOfEvents plays a decision, what was written, and the event about it, in every way.
func TestShadowOfEvents(t *testing.T) {
	right := wrote("web-2", "10", "11", 3, 5, ControllerManager)
	for name, c := range map[string]struct {
		kind, reason, message string
		verdict               ShadowVerdict
		predicted             string
	}{
		"the same":             {"Normal", "Scaled", "web-2 to 5", ShadowAgrees, ""},
		"a refusal":            {"Warning", "Failed", "Error: exceeded quota", ShadowAgrees, ""},
		"another text":         {"Normal", "Scaled", "web-2 to 4", ShadowUnexplained, "Normal Scaled: web-2 to 5"},
		"another type":         {"Warning", "Scaled", "web-2 to 5", ShadowUnexplained, "Normal Scaled: web-2 to 5"},
		"another reason":       {"Normal", "Resized", "web-2 to 5", ShadowUnexplained, "none"},
		"a refusal of nothing": {"Warning", "Failed", "Error: ", ShadowUnexplained, "Warning Failed: Error: …"},
	} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		w.on(set("10", 3, 5))
		w.says(c.kind, c.reason, c.message)
		w.on(set("11", 5, 5), right)
		if early := w.settled(); len(early.Questions) != 1 {
			t.Errorf("%s: compared before all is known: %+v", name, early.Questions)
		}
		st := w.later()
		if st.Count(c.verdict) == 0 || c.verdict != ShadowAgrees && st.Count(ShadowUnexplained) != 1 {
			t.Errorf("%s: %+v", name, st)
		}
		if d := st.Differences; c.verdict != ShadowAgrees && (len(d) != 1 || d[0].Predicted != c.predicted || d[0].Manager != "deployment-controller" || d[0].Question != "RR-2") {
			t.Errorf("%s: kept %+v", name, d)
		}
	}
}

// TestShadowOfEventsOfAnotherRelease: the name of what is created has another hash there, and nothing else is another.
func TestShadowOfEventsOfAnotherRelease(t *testing.T) {
	for message, want := range map[string]ShadowVerdict{"web-5d4 created": ShadowAgrees, "web-3 created": ShadowAgrees, "shop-5d4 created": ShadowUnexplained, "web-5d4 gone": ShadowUnexplained} {
		for _, rehashed := range []bool{true, false} {
			w := newWatching(t)
			w.shadow.Follows(true, "")
			w.shadow.Rehashes = func() bool { return rehashed }
			w.on(sized{New: "web-3"})
			w.says("Normal", "Made", message)
			w.on(sized{New: "web-3"})
			if !rehashed && message != "web-3 created" {
				want = ShadowUnexplained
			}
			if st := w.later(); st.Count(want) != 1 {
				t.Errorf("%s, rehashed %t: %+v", message, rehashed, st)
			}
		}
	}
}

// TestShadowOfNoEvent: one that is missing is counted and no difference, and one of a write that is a
// difference is not another one.
func TestShadowOfNoEvent(t *testing.T) {
	w := newWatching(t)
	w.shadow.Follows(true, "")
	w.on(set("10", 3, 5))
	w.on(set("11", 5, 5), wrote("web-2", "10", "11", 3, 5, ControllerManager))
	if st := w.later(); st.Events != (ShadowEvents{Followed: true, Told: 1, Untold: 1}) || st.Count(ShadowUnexplained) != 0 {
		t.Errorf("without an event: %+v", st)
	}
	w.now = w.now.Add(5 * time.Minute)
	w.on(set("11", 5, 6))
	w.says("Normal", "Scaled", "web-2 to 9")
	w.on(set("12", 9, 6), wrote("web-2", "11", "12", 5, 9, ControllerManager))
	if st := w.later(); st.Count(ShadowUnexplained) != 1 || st.Events.Told != 1 {
		t.Errorf("of a write that is a difference: %+v", st)
	}
	w.says("Normal", "Scaled", "web-3 to 9")
	if st := w.later(); st.Together != 1 || st.Count(ShadowUnexplained) != 1 {
		t.Errorf("of a write that nobody has seen: %+v", st)
	}
	w = newWatching(t)
	w.says("Normal", "Scaled", "web-2 to 9")
	if st := w.later(); st.Together != 1 || st.Count(ShadowUnexplained) != 0 {
		t.Errorf("of an object that no sync knows: %+v", st)
	}
}

// TestShadowOfALateEvent: what it tells of may have been given up, so that no difference follows from it; that
// another sort of write had the same name does not make it one.
func TestShadowOfALateEvent(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		want uint64
	}{"at once": {time.Second, 1}, "late": {3 * time.Minute, 0}, "with a clock that is wrong": {time.Hour, 1}} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		w.on(set("10", 3, 3))
		w.shadow.Heard(&Published{Object: object("web"), Component: "deployment-controller", At: w.now, Stamped: w.now.Add(-c.ago), Event: decision.Event{Type: "Warning", Reason: "Failed", Message: "Error: quota"}})
		if st := w.later(); st.Count(ShadowUnexplained) != c.want || st.Together != 1-c.want {
			t.Errorf("%s: %+v", name, st)
		}
	}
	w := newWatching(t)
	w.shadow.Follows(true, "")
	w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-2", RV: "10", Want: -1}}})
	w.on(sized{RV: "1"}, Cause{Kind: CauseDeleted, Object: "ReplicaSet web-2", OldRV: "12"})
	w.says("Normal", "Scaled", "web-2 to 5")
	if st := w.later(); st.Count(ShadowUnexplained) != 0 || st.Together != 1 {
		t.Errorf("of a size, where only the deletion is known: %+v", st)
	}
}

// TestShadowSignsByEvents: a deletion that is not called for is the other controller's where an event of
// it says so, and unsigned else.
func TestShadowSignsByEvents(t *testing.T) {
	for told, want := range map[string]ShadowVerdict{"": ShadowUnsigned, "web-1 is gone": ShadowUnexplained, "web-10 is gone": ShadowUnsigned} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "10"}}})
		if told != "" {
			w.says("Normal", "Deleted", told)
		}
		w.on(sized{RV: "1"}, Cause{Kind: CauseDeleted, Object: "ReplicaSet web-1", OldRV: "12"})
		if early := w.settled(); want == ShadowUnsigned && early.Count(want) != 0 {
			t.Errorf("%q: unsigned before an event can have come", told)
		}
		st := w.later()
		if st.Count(want) != 1 || want == ShadowUnexplained != (st.Differences[0].Manager == "deployment-controller") {
			t.Errorf("%q: %+v", told, st)
		}
	}
}

// TestEventsAreBounded: none is taken of a loop that predicts none, or more than are kept.
func TestEventsAreBounded(t *testing.T) {
	w := newWatching(t)
	w.shadow.Heard(&Published{Object: Object{Loop: "replicaset", Name: "web-1"}})
	if len(w.shadow.heard) != 0 {
		t.Error("one of a loop that predicts none is kept")
	}
	for range maxEvents + 1 {
		w.says("Normal", "Scaled", "web-2 to 5")
	}
	if st := w.shadow.State(w.now); len(w.shadow.heard) != maxEvents || st.LeftOut != 1 {
		t.Errorf("%d are kept, %d left out", len(w.shadow.heard), st.LeftOut)
	}
	w.shadow.State(w.now.Add(eventSettles + time.Second))
	if w.says("Normal", "Scaled", "web-2 to 5"); len(w.shadow.heard) != maxEvents || w.shadow.heard[maxEvents-1].judged {
		t.Error("a new one does not take the place of one that was compared")
	}
	w.later()
	if w.shadow.State(w.now.Add(time.Hour)); len(w.shadow.heard) != 0 {
		t.Errorf("%d are kept after an hour", len(w.shadow.heard))
	}
}
