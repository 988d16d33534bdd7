package telemetry

import (
	"slices"
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
	for _, reason := range []string{"Scaled", "Failed"} { // One tells of a write, and one does not.
		w = newWatching(t)
		w.says("Normal", reason, "web-2 to 9")
		if st := w.later(); st.Together != 1 || st.Count(ShadowUnexplained) != 0 {
			t.Errorf("%s, of an object that no sync knows: %+v", reason, st)
		}
	}
}

// TestShadowOfEventsThatMissTheirSyncs: an event is held against what was decided, wherever that is known from, and
// counted by the question that led there.
func TestShadowOfEventsThatMissTheirSyncs(t *testing.T) {
	before, after := sized{RV: "1", New: "web-3"}, sized{RV: "1", New: "web-3", ReplicaSets: []sizedSet{{Name: "web-3", RV: "20"}}}
	made := Cause{Kind: CauseAdded, Object: "ReplicaSet web-3", NewRV: "20", Manager: ControllerManager}
	for name, c := range map[string]struct {
		syncs    func(*watching)
		question string
	}{
		"a sync decided":              {func(w *watching) { w.on(before); w.on(after, made) }, "RR-1"},
		"between two syncs":           {func(w *watching) { w.on(after, made) }, "RR-1"},
		"long ago":                    {func(w *watching) { w.on(before); w.on(after, made); w.on(after); w.now = w.now.Add(time.Minute) }, "RR-1"},
		"of which nobody saw a write": {func(w *watching) { w.on(before) }, "RR-2"},
		"by the latest that says so":  {func(w *watching) { w.on(before).Rounds[0].Verdict.Path[0].Question = "RR-1"; w.on(before); w.on(after) }, "RR-2"},
	} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		c.syncs(w)
		w.says("Normal", "Made", "web-3 created")
		st := w.later()
		i := slices.IndexFunc(st.Questions, func(q ShadowQuestion) bool { return q.Aspect == decision.AspectEvent })
		if i < 0 || st.Questions[i].Question != c.question || st.Questions[i].Counts[ShadowAgrees] != 1 || st.Count(ShadowUnexplained) != 0 || st.Together != 0 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestShadowOfAnEventBeforeItsWrite: an event agrees though nobody saw the write that it tells of.
func TestShadowOfAnEventBeforeItsWrite(t *testing.T) {
	w := newWatching(t)
	w.shadow.Follows(true, "")
	w.on(set("10", 3, 5))
	w.says("Normal", "Scaled", "web-2 to 5")
	if st := w.later(); st.Count(ShadowAgrees) != 1 || st.Together != 0 {
		t.Errorf("%+v", st)
	}
}

// TestShadowOfAnEventBesideADifference: of two writes one is a difference. An event of it is no other one, and an event of
// the other write is.
func TestShadowOfAnEventBesideADifference(t *testing.T) {
	for message, want := range map[string]struct{ unexplained, together uint64 }{
		"web-1 to 9": {1, 0}, "web-2 to 5": {1, 0}, "web-2 to 9": {2, 0}, "web-3 to 9": {1, 1},
	} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "5", Size: 1, Want: 1}, {Name: "web-2", RV: "10", Size: 3, Want: 5}}})
		w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "6", Size: 2, Want: 2}, {Name: "web-2", RV: "11", Size: 5, Want: 5}}},
			wrote("web-1", "5", "6", 1, 2, ControllerManager), wrote("web-2", "10", "11", 3, 5, ControllerManager))
		w.says("Normal", "Scaled", message)
		if st := w.later(); st.Count(ShadowUnexplained) != want.unexplained || st.Together != want.together {
			t.Errorf("%s: %+v", message, st)
		}
	}
}

// TestShadowRecordsEvents: an event that is a difference is recorded with its own name, the newest sync around it, and
// how many of them could be read.
func TestShadowRecordsEvents(t *testing.T) {
	unread := func(w *watching) {
		w.seq++
		w.now = w.now.Add(time.Second)
		w.shadow.Add([]*Trace{{Epoch: "e", Seq: w.seq, Object: object("web"), Ended: w.now, Snapshot: SnapshotText([]byte(`{"replicaSets":`))}}, 0)
	}
	for name, c := range map[string]struct {
		around []func(*watching)
		states int64 // 0 where it is not compared
	}{
		"one of two":  {[]func(*watching){func(w *watching) { w.on(set("10", 3, 3)) }, unread}, 1},
		"none of two": {[]func(*watching){unread, unread}, 0},
	} {
		w := newWatching(t)
		var kept []*Trace
		w.shadow.Record = func(x *Trace) { kept = append(kept, x) }
		w.shadow.Follows(true, "")
		c.around[0](w)
		w.says("Warning", "Failed", "Error: quota")
		c.around[1](w)
		st := w.later()
		if c.states == 0 {
			if len(kept) != 0 || st.Together != 1 {
				t.Errorf("%s: %+v", name, st)
			}
			continue
		}
		if len(kept) != 1 || st.Together != 0 {
			t.Fatalf("%s: %d are recorded, %+v", name, len(kept), st)
		}
		x := kept[0]
		if x.Causes[0].Object != "Event web.1" || x.Path()[0].Facts[5] != decision.Count("states", c.states) || x.Path()[0].Facts[6] != decision.Count("seen in sync", 2) {
			t.Errorf("%s: %+v, %+v", name, x.Causes, x.Path())
		}
	}
}

// TestShadowCountsEvents: those of writes that agree and are told of, while events are watched.
func TestShadowCountsEvents(t *testing.T) {
	size := func(w *watching) {
		w.on(set("10", 3, 5))
		w.on(set("11", 5, 5), wrote("web-2", "10", "11", 3, 5, ControllerManager))
	}
	creation := func(w *watching) {
		w.on(sized{RV: "1", New: "web-3"})
		w.on(set("20", 0, 0), Cause{Kind: CauseAdded, Object: "ReplicaSet web-3", NewRV: "20", Manager: ControllerManager})
	}
	for name, c := range map[string]struct {
		write  func(*watching)
		lost   bool // they are no longer watched by the time that it is counted
		untold uint64
	}{
		"a size": {size, false, 1}, "a size, and then not watched": {size, true, 0}, "a creation, of which no event tells": {creation, false, 0},
	} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		c.write(w)
		w.shadow.Follows(!c.lost, "")
		if st := w.later(); st.Events.Told != c.untold || st.Events.Untold != c.untold || st.Count(ShadowAgrees) != 1 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestShadowCountsEventsBeforeTheirSyncs: an event that came before the sync that saw its write is given up first, and
// is none the less seen. One that came long before the write tells of another one.
func TestShadowCountsEventsBeforeTheirSyncs(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		after   time.Duration // from the event to the write
		untold  uint64
	}{
		"of the write":       {"web-2 to 5", 0, 0},
		"seen before it":     {"web-2 to 5", ShadowSettles, 0},
		"of an earlier one":  {"web-2 to 3", ShadowSettles + 1, 1},
		"of another one now": {"web-3 to 5", 0, 1},
	} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		w.on(set("10", 3, 5))
		w.says("Normal", "Scaled", c.message)
		heard := w.now
		write := wrote("web-2", "10", "11", 3, 5, ControllerManager)
		write.At = heard.Add(c.after)
		w.now = write.At
		w.on(set("11", 5, 5), write)
		if st := w.shadow.State(heard.Add(eventWithin + time.Millisecond)); len(w.shadow.heard) != 0 || st.Events.Told != 0 {
			t.Errorf("%s: %d are kept, %+v", name, len(w.shadow.heard), st.Events)
		}
		if st := w.later(); st.Events.Told != 1 || st.Events.Untold != c.untold {
			t.Errorf("%s: %+v", name, st.Events)
		}
	}
}

// TestShadowWaitsForEvents: each is compared once, when all is known of its write, and signs for as long as it may come.
func TestShadowWaitsForEvents(t *testing.T) {
	w := newWatching(t)
	w.on(set("10", 3, 3))
	w.says("Warning", "Failed", "Error: quota")
	for _, c := range []struct {
		after    time.Duration
		compared uint64
		kept     int
	}{{eventSettles, 0, 1}, {eventSettles + 1, 1, 1}, {eventSettles + 2, 1, 1}, {eventWithin, 1, 1}, {eventWithin + 1, 1, 0}} {
		if st := w.shadow.State(w.now.Add(c.after)); st.Count(ShadowUnexplained) != c.compared || len(w.shadow.heard) != c.kept {
			t.Errorf("after %s: %d are kept, %+v", c.after, len(w.shadow.heard), st)
		}
	}
}

// TestWritesForEventsAreBounded: what came of a write is kept for as long as an event may tell of it, and of no more writes
// than events are kept. Then it is counted.
func TestWritesForEventsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		writes int
		after  time.Duration
		gone   int
	}{
		"as many as are kept": {maxEvents, eventWithin, 0}, "one more": {maxEvents + 1, 0, 1}, "too old": {2, eventWithin + 1, 2},
	} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		for range c.writes {
			w.shadow.judged = append(w.shadow.judged, judged{Object: object("web"), Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, name: "web-2", at: w.now, verdict: ShadowAgrees})
		}
		if st := w.shadow.State(w.now.Add(c.after)); len(w.shadow.judged) != c.writes-c.gone || st.Events.Untold != uint64(c.gone) {
			t.Errorf("%s: %d are kept, %+v", name, len(w.shadow.judged), st.Events)
		}
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
		} else if want != ShadowUnsigned && early.Count(want) != 1 {
			t.Errorf("%q: open, though an event has signed it: %+v", told, early)
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

// TestShadowSigner: an event signs what it names, of its own object, where its reason is that of such a write.
func TestShadowSigner(t *testing.T) {
	deletion := decision.Predictable{Aspect: decision.AspectDeletion, Of: "ReplicaSet"}
	for name, c := range map[string]struct {
		object, reason, message string
		want                    string
	}{
		"it":               {"web", "Deleted", "web-1 is gone", "deployment-controller"},
		"another name":     {"web", "Deleted", "web-2 is gone", ""},
		"another reason":   {"web", "Scaled", "web-1 to 0", ""},
		"another object":   {"shop", "Deleted", "web-1 is gone", ""},
		"no reason at all": {"web", "", "web-1 is gone", ""},
	} {
		w := newWatching(t)
		w.shadow.Heard(&Published{Object: object(c.object), Component: "deployment-controller", At: w.now, Event: decision.Event{Reason: c.reason, Message: c.message}})
		if got := w.shadow.signer(object("web"), deletion, "web-1"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWhenAnEventHappened: as it says, where that can be so.
func TestWhenAnEventHappened(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		stamp    time.Time
		happened time.Time
		late     bool
	}{
		"it does not say":  {time.Time{}, at, false},
		"before":           {at.Add(-time.Minute), at.Add(-time.Minute), false},
		"just not late":    {at.Add(-eventWithin), at.Add(-eventWithin), false},
		"late":             {at.Add(-eventWithin - 1), at.Add(-eventWithin - 1), true},
		"by another clock": {at.Add(time.Minute), at, false},
		"long ago":         {at.Add(-oldestStamp), at, false},
		"almost long ago":  {at.Add(-oldestStamp + 1), at.Add(-oldestStamp + 1), true},
	} {
		e := published{Published: Published{At: at, Stamped: c.stamp}}
		if got := e.happened(); !got.Equal(c.happened) || e.late() != c.late {
			t.Errorf("%s: %s, late %t", name, got, e.late())
		}
	}
}

// TestSyncsAroundAnEvent are those of the object that it tells of, the newest before it first.
func TestSyncsAroundAnEvent(t *testing.T) {
	w := newWatching(t)
	began := w.now
	w.shadow.last = newLookBack()
	for i, uid := range []string{"old", "new", "", "new", "new", "new"} { // at 0 s, 20 s, 40 s …
		x := &Trace{Epoch: "e", Seq: uint64(i + 1), Object: object("web"), UID: uid, Ended: began.Add(time.Duration(i) * 20 * time.Second)}
		w.shadow.last.remember(x)
	}
	for name, c := range map[string]struct {
		at   time.Duration
		uid  string
		want []uint64
	}{
		"in between":           {65 * time.Second, "new", []uint64{4, 3, 2}},
		"just before the next": {75 * time.Second, "new", []uint64{4, 3, 5}},
		"of any object":        {25 * time.Second, "", []uint64{2, 1}},
		"of the old one":       {25 * time.Second, "old", []uint64{1}},
		"before all":           {-5 * time.Second, "", []uint64{1}},
		"long before all":      {-time.Minute, "", nil},
		"after all":            {10 * time.Minute, "new", []uint64{6}},
	} {
		var got []uint64
		for _, x := range w.shadow.around(&published{Published: Published{Object: object("web"), UID: c.uid, At: began.Add(c.at)}}) {
			got = append(got, x.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestShadowOfEventsOfOthers: the writes of one object say nothing of the events of another.
func TestShadowOfEventsOfOthers(t *testing.T) {
	w := newWatching(t)
	w.shadow.Follows(true, "")
	w.shadow.judged = []judged{{Object: object("shop"), Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, name: "web-2", at: w.now, verdict: ShadowAgrees, told: []decision.Event{{Type: "Normal", Reason: "Scaled", Message: "web-2 to 5"}}}}
	w.on(set("10", 3, 3))
	w.says("Normal", "Scaled", "web-2 to 5")
	if st := w.later(); st.Together != 1 || st.Count(ShadowAgrees) != 0 {
		t.Errorf("%+v", st)
	}
}

// TestShadowQuotesTheFirstOfAReason: of several events that were to come the first of the same reason is told.
func TestShadowQuotesTheFirstOfAReason(t *testing.T) {
	told := []decision.Event{{Type: "Normal", Reason: "Other", Message: "x"}, {Type: "Normal", Reason: "Scaled", Message: "a"}, {Type: "Normal", Reason: "Scaled", Message: "b"}}
	d := Difference{Verdict: ShadowUnexplained, Predicted: notCalledFor}
	if d.publishes(&decision.Event{Type: "Normal", Reason: "Scaled", Message: "c"}, told) || d.Predicted != "Normal Scaled: a" || d.Verdict != ShadowUnexplained {
		t.Errorf("one that is not among them: %+v", d)
	}
	if !d.publishes(&decision.Event{Type: "Normal", Reason: "Scaled", Message: "b"}, told) || d.Verdict != ShadowAgrees {
		t.Errorf("the last of them: %+v", d)
	}
}

// TestShadowKeepsWhatEventsTellOf: no event tells of a status or a condition, and none does where they are not watched.
func TestShadowKeepsWhatEventsTellOf(t *testing.T) {
	for aspect, want := range map[decision.Aspect]int{decision.AspectStatus: 0, decision.AspectConditions: 0, decision.AspectSize: 1} {
		for _, followed := range []bool{true, false} {
			w := newWatching(t)
			w.shadow.Follows(followed, "")
			x := &suspect{observed{cause: &Cause{}, parts: []decision.Prediction{{Predictable: decision.Predictable{Aspect: aspect, Of: "Deployment"}}}}, &Trace{Object: object("web")}, answer{parts: make([]said, 1)}}
			w.shadow.keepJudged(x, 0, ShadowAgrees)
			if got := len(w.shadow.judged); followed && got != want || !followed && got != 0 {
				t.Errorf("%s, watched %t: %d are kept", aspect, followed, got)
			}
		}
	}
}

// TestShadowKeepsTheEventsOfWhatAgrees: of a write that a sync says a part of, that part alone has the events of the sync.
func TestShadowKeepsTheEventsOfWhatAgrees(t *testing.T) {
	w := newWatching(t)
	w.shadow.Follows(true, "")
	on := w.on(set("10", 3, 5))
	size := decision.Prediction{Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, Name: "web-2"}
	owner := decision.Prediction{Predictable: decision.Predictable{Aspect: decision.AspectOwner, Of: "ReplicaSet"}, Name: "web-2"}
	x := &suspect{observed{cause: &Cause{}, parts: []decision.Prediction{size, owner}}, &Trace{Object: object("web")}, answer{on: on, parts: []said{{}, {agrees: true}}}}
	w.shadow.keepJudged(x, 0, ShadowUnexplained)
	w.shadow.keepJudged(x, 1, ShadowAgrees)
	if size, owner := w.shadow.judged[0].told, w.shadow.judged[1].told; len(size) != 0 || len(owner) != 2 || owner[0].Message != "web-2 to 5" {
		t.Errorf("of the size %+v, of the owner %+v", size, owner)
	}
}
