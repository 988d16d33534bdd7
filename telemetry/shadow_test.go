package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// watching is a stream of syncs of one Deployment in a process that only watches.
type watching struct {
	t      *testing.T
	shadow *Shadow
	now    time.Time
	seq    uint64
}

func newWatching(t *testing.T) *watching {
	w := &watching{t: t, shadow: NewShadow(TestLoops), now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)}
	w.shadow.budget = newBudget(func() time.Time { return w.now }) // Comparing takes no time, on a busy machine either.
	return w
}

// on is a sync that decides on these ReplicaSets for some causes.
func (w *watching) on(s sized, causes ...Cause) *Trace {
	w.t.Helper()
	w.seq++
	w.now = w.now.Add(time.Second)
	snapshot, err := SnapshotOf(&s)
	if err != nil {
		w.t.Fatal(err)
	}
	x := &Trace{Epoch: "e", Seq: w.seq, Object: object("web"), Causes: causes, Ended: w.now, Snapshot: snapshot}
	sync := decision.Sync{Core: s.Begin()}
	sync.Run(decision.Nobody)
	x.Rounds, x.Report = sync.Rounds, sync.Report
	w.shadow.Add([]*Trace{x}, 0)
	return x
}

// settled is what was compared when nothing is open any more.
func (w *watching) settled() ShadowState { return w.shadow.State(w.now.Add(ShadowSettles + 1)) }

// has checks how often there is a verdict, and that there is no other one but those that agree.
func (w *watching) has(name string, v ShadowVerdict, n uint64) {
	w.t.Helper()
	st := w.settled()
	for _, other := range ShadowVerdicts {
		if got := st.Count(other); other == v && got != n || other != v && !other.Agrees() && other != ShadowOverdue && got != 0 {
			w.t.Errorf("%s: %d times %s; %+v", name, got, other, st)
		}
	}
}

func set(rv string, size, want int64) sized {
	return sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-2", RV: rv, Size: size, Want: want}}}
}

func wrote(name, was, is string, from, to int, manager string) Cause {
	return modified("ReplicaSet "+name, was, is, manager, decision.Change{Field: "spec.replicas", From: fmt.Sprint(from), To: fmt.Sprint(to)})
}

func modified(object, was, is, manager string, fields ...decision.Change) Cause {
	return Cause{Kind: CauseModified, Object: object, OldRV: was, NewRV: is, Manager: manager, Fields: fields}
}

// TestShadowVerdicts plays one decision and what came of it, in every way.
func TestShadowVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		cause   Cause
		size    int64
		departs int
		verdict ShadowVerdict
	}{
		"the same":          {wrote("web-2", "10", "11", 3, 5, ControllerManager), 5, 0, ShadowAgrees},
		"the same, by whom": {wrote("web-2", "10", "11", 3, 5, ""), 5, 0, ShadowAgrees},
		"another size":      {wrote("web-2", "10", "11", 3, 4, ControllerManager), 4, 0, ShadowUnexplained},
		"somebody else":     {wrote("web-2", "10", "11", 3, 9, "kubectl"), 9, 0, ShadowOther},
		"a departure":       {wrote("web-2", "10", "11", 3, 2, ControllerManager), 2, 3, ShadowDeparture},
		"not that one":      {wrote("web-2", "10", "11", 3, 4, ControllerManager), 4, 3, ShadowUnexplained},
	} {
		w := newWatching(t)
		before, then := set("10", 3, 5), set("11", c.size, 5)
		before.Departs, then.Departs = c.departs, c.departs
		w.on(before)
		x := w.on(then, c.cause)
		if early := w.shadow.State(w.now); early.Count(ShadowUnexplained) != 0 {
			t.Errorf("%s: unexplained at once", name)
		}
		w.has(name, c.verdict, 1)
		st := w.settled()
		if st.Syncs != 2 || len(st.Questions) != 1 || st.Questions[0].Question != "RR-2" || st.Questions[0].Predictable != testPredicts[0] {
			t.Errorf("%s: %+v", name, st)
		}
		if n := len(w.shadow.agreed); c.verdict != ShadowAgrees && n != 0 {
			t.Errorf("%s: %d managers are known by what was not predicted", name, n)
		}
		if d := st.Differences; c.verdict.Agrees() != (len(d) == 0) || len(d) > 0 && (d[0].SeenIn != x.Seq || d[0].Predicted != "3 → 5" || d[0].Departure != 0 != (c.verdict == ShadowDeparture)) {
			t.Errorf("%s: kept %+v", name, d)
		}
	}
}

// TestShadowGoesBack: a write that comes together with what it follows from, or that was decided
// on before it, is held against the versions that there were.
func TestShadowGoesBack(t *testing.T) {
	ready := func(was, is string, from, to int) Cause {
		return modified("ReplicaSet web-1", was, is, ControllerManager, decision.Change{Field: "status.readyReplicas", From: fmt.Sprint(from), To: fmt.Sprint(to)})
	}
	status := func(was, is string, from, to int) Cause {
		return modified("Deployment web", was, is, ControllerManager, decision.Change{Field: "status.readyReplicas", From: fmt.Sprint(from), To: fmt.Sprint(to)})
	}
	at := func(rv string, status int64, set string, ready int64) sized {
		return sized{RV: rv, Status: status, ReplicaSets: []sizedSet{{Name: "web-1", RV: set, Ready: ready}}}
	}
	for name, c := range map[string]struct {
		syncs   func(*watching)
		verdict ShadowVerdict
	}{
		"as of now": {func(w *watching) { w.on(at("4", 1, "6", 3)); w.on(at("7", 3, "6", 3), status("4", "7", 1, 3)) }, ShadowAgrees},
		"at once":   {func(w *watching) { w.on(at("7", 3, "6", 3), ready("5", "6", 1, 3), status("4", "7", 1, 3)) }, ShadowAgrees},
		"in between": {func(w *watching) {
			w.on(at("8", 2, "7", 3), ready("5", "6", 1, 2), ready("6", "7", 2, 3), status("4", "8", 1, 2))
		}, ShadowAgrees},
		"written later": {func(w *watching) {
			w.on(at("8", 3, "9", 4), ready("5", "6", 1, 3), status("4", "8", 1, 3), ready("6", "9", 3, 4))
		}, ShadowAgrees},
		"as of before": {func(w *watching) {
			w.on(at("4", 1, "6", 2))
			w.on(at("4", 1, "7", 3), ready("6", "7", 2, 3))
			w.on(at("8", 2, "7", 3), status("4", "8", 1, 2))
		}, ShadowBehind},
		"seen here later": {func(w *watching) {
			w.on(at("8", 3, "5", 1), status("4", "8", 1, 3))
			w.on(at("8", 3, "6", 3), ready("5", "6", 1, 3))
		}, ShadowAgrees},
		"before both": {func(w *watching) {
			w.on(at("8", 1, "7", 3), ready("5", "6", 1, 2), ready("6", "7", 2, 3), status("4", "8", 0, 1))
		}, ShadowAgrees},
		"between two that were seen in another order": {func(w *watching) {
			of := func(name, was, is string, to int) Cause {
				return modified("ReplicaSet "+name, was, is, ControllerManager, decision.Change{Field: "status.readyReplicas", From: "1", To: fmt.Sprint(to)})
			}
			w.on(sized{RV: "10", Status: 3, ReplicaSets: []sizedSet{{Name: "web-1", RV: "7", Ready: 2}, {Name: "web-2", RV: "9", Ready: 5}}}, of("web-2", "8", "9", 5), of("web-1", "6", "7", 2), status("4", "10", 2, 3))
		}, ShadowAgrees},
		"of no version": {func(w *watching) {
			w.on(at("8", 9, "7", 3), ready("5", "6", 1, 2), ready("6", "7", 2, 3), status("4", "8", 1, 9))
		}, ShadowUnexplained},
		"of a later one": {func(w *watching) {
			w.on(at("8", 3, "5", 1), status("4", "8", 1, 3))
			w.on(at("8", 3, "9", 3), ready("5", "9", 1, 3))
		}, ShadowUnexplained},
		"of both at a time": {func(w *watching) {
			w.on(at("4", 1, "6", 2))
			w.on(at("4", 1, "7", 3), ready("6", "7", 2, 3))
			w.on(at("8", 5, "7", 3), status("4", "8", 1, 5))
		}, ShadowUnexplained},
	} {
		w := newWatching(t)
		c.syncs(w)
		w.has(name, c.verdict, 1)
	}
}

// TestShadowGoesBackToAnEnd: what changed and went between two syncs was there in each of its versions until then.
func TestShadowGoesBackToAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		from, to int // ready, by the status that was written
		agrees   uint64
	}{
		"as it was seen": {0, 1, 1}, "as it became": {1, 2, 1}, "as it ended": {2, 0, 1}, "as it never was": {1, 3, 0},
	} {
		w := newWatching(t)
		ready := func(from, to int) decision.Change {
			return decision.Change{Field: "status.readyReplicas", From: fmt.Sprint(from), To: fmt.Sprint(to)}
		}
		w.on(sized{RV: "4", Status: int64(c.from), ReplicaSets: []sizedSet{{Name: "web-1", RV: "6", Ready: 1}}})
		w.on(sized{RV: "10", Status: int64(c.to)}, modified("ReplicaSet web-1", "6", "7", ControllerManager, ready(1, 2)), modified("ReplicaSet web-9", "5", "8", ControllerManager, ready(9, 5)), modified("ReplicaSet web-1", "7", "9", "", decision.Change{Field: fieldDeletion}),
			modified("Deployment web", "4", "10", ControllerManager, ready(c.from, c.to)), Cause{Kind: CauseDeleted, Object: "ReplicaSet web-1", OldRV: "11"})
		st := w.settled()
		if agree, open := st.Count(ShadowAgrees)+st.Count(ShadowBehind), st.Count(ShadowUnexplained); agree != c.agrees || open != 1-c.agrees {
			t.Errorf("%s: %d agree, and %d are unexplained: %+v", name, agree, open, st)
		}
	}
}

// TestShadowKnowsWhatWasKnown: who has written a status on a version of its object decides on no older one
// afterwards.
func TestShadowKnowsWhatWasKnown(t *testing.T) {
	for what, c := range map[string]struct {
		by     string
		fields []string
		want   ShadowVerdict
	}{
		"a status":                   {ControllerManager, []string{"status.observedGeneration"}, ShadowUnexplained},
		"a status of somebody else":  {"kubectl", []string{"status.observedGeneration"}, ShadowBehind},
		"an annotation":              {ControllerManager, []string{"metadata.annotations[x]"}, ShadowBehind},
		"a status and an annotation": {ControllerManager, []string{"status.observedGeneration", "metadata.annotations[x]"}, ShadowBehind},
		"nothing":                    {"", nil, ShadowBehind},
	} {
		w := newWatching(t)
		w.shadow.agree([]string{ControllerManager})
		w.on(sized{RV: "1", New: "web-3"})
		changes := []Cause{modified("Deployment web", "1", "2", "kubectl", decision.Change{Field: "spec.template"})}
		if c.by != "" {
			written := modified("Deployment web", "2", "3", c.by)
			for _, field := range c.fields {
				written.Fields = append(written.Fields, decision.Change{Field: field})
			}
			changes = append(changes, written)
		}
		w.on(sized{RV: changes[len(changes)-1].NewRV}, changes...)
		w.now = w.now.Add(maxLag + time.Second)
		w.on(sized{RV: changes[len(changes)-1].NewRV})
		w.on(sized{RV: changes[len(changes)-1].NewRV}, Cause{Kind: CauseAdded, Object: "ReplicaSet web-3", NewRV: "4", Manager: ControllerManager})
		if st := w.settled(); st.Count(c.want) != 1 {
			t.Errorf("%s: %+v", what, st)
		}
	}
}

// TestShadowCreationsAndDeletions: those that are due agree, those of others are not compared, what nobody
// signed is listed as that, and the end of what is being deleted is no deletion.
func TestShadowCreationsAndDeletions(t *testing.T) {
	w := newWatching(t)
	w.on(sized{New: "web-3"})
	w.on(set("20", 0, 0), Cause{Kind: CauseAdded, Object: "ReplicaSet web-3", NewRV: "20", Manager: ControllerManager})
	w.has("due", ShadowAgrees, 1)
	w.on(set("20", 0, 0), Cause{Kind: CauseAdded, Object: "ReplicaSet web-4", NewRV: "21", Manager: "kubectl"})
	w.on(set("20", 0, 0), modified("ReplicaSet web-4", "21", "22", "", decision.Change{Field: fieldDeletion}))
	w.on(set("20", 0, 0), Cause{Kind: CauseDeleted, Object: "ReplicaSet web-4"})
	w.has("somebody else's", ShadowUnsigned, 1)
	if list := w.shadow.observe(&Trace{Object: object("web"), Causes: []Cause{{Kind: CauseDeleted, Object: "ReplicaSet web-4"}}}); len(list) != 0 {
		t.Errorf("the end of a deletion is taken for another one: %+v", list)
	}
	both := []Cause{modified("ReplicaSet web-4", "21", "22", "", decision.Change{Field: fieldDeletion}), {Kind: CauseDeleted, Object: "ReplicaSet web-5"}}
	if list := newWatching(t).shadow.observe(&Trace{Object: object("web"), Causes: both}); len(list) != 2 {
		t.Errorf("the deletion of another one is taken for that of the first: %+v", list)
	}
}

// TestShadowOfAnotherRelease: what is created agrees whatever its hash is, if nothing else is another.
func TestShadowOfAnotherRelease(t *testing.T) {
	for name, want := range map[string]ShadowVerdict{"web-5d4": ShadowAgrees, "web-x-3": ShadowUnexplained, "web": ShadowUnexplained} {
		w := newWatching(t)
		w.shadow.Rehashes = func() bool { return true }
		w.on(sized{New: "web-3"})
		w.on(set("20", 0, 0), Cause{Kind: CauseAdded, Object: "ReplicaSet " + name, NewRV: "20", Manager: ControllerManager})
		w.has(name, want, 1)
	}
}

// TestShadowRanks: of those that rank alike any may go, but no more than are due.
func TestShadowRanks(t *testing.T) {
	alike := func(names string) sized {
		s := sized{RV: "1"}
		for i, name := range strings.Fields(names) {
			s.ReplicaSets = append(s.ReplicaSets, sizedSet{Name: name, RV: fmt.Sprint(10 + i), Size: 2, Want: 2})
		}
		s.ReplicaSets[0].Want = -1 // It is the one that goes here.
		return s
	}
	asked := func(name, was, is string) Cause {
		return modified("ReplicaSet "+name, was, is, "", decision.Change{Field: fieldDeletion})
	}
	w := newWatching(t)
	w.on(alike("web-1 web-2 web-3"))
	after := alike("web-1 web-2 web-3")
	after.ReplicaSets[0].Want = 2
	w.on(after, asked("web-2", "11", "20"))
	w.has("another of its rank", ShadowAgrees, 1)
	w.on(after, asked("web-3", "12", "21"))
	w.has("one too many", ShadowUnexplained, 1)

	w = newWatching(t)
	w.on(alike("web-1 web-2 web-3"))
	w.on(after, asked("web-2", "11", "20"), asked("web-1", "10", "21"))
	w.has("the very one, as one too many", ShadowUnexplained, 1)
	if d := w.settled().Differences; len(d) == 0 || d[0].Target != "web-1" || d[0].Predicted != "no more than 1 of its rank" {
		t.Errorf("kept %+v", d)
	}
}

// TestShadowTime: what nobody writes is overdue from the first sync that said so,
// until somebody does or no sync says so any more.
func TestShadowTime(t *testing.T) {
	w := newWatching(t)
	w.on(set("10", 3, 5))
	first := w.now
	for range 4 {
		w.on(set("10", 3, 5))
	}
	if st := w.shadow.State(first.Add(ShadowWithin)); st.Count(ShadowOverdue) != 0 {
		t.Errorf("overdue at the limit: %+v", st)
	}
	st := w.shadow.State(first.Add(ShadowWithin + time.Millisecond))
	if st.Count(ShadowOverdue) != 1 || !st.Differences[0].At.Equal(first) || st.Differences[0].Sync != w.seq {
		t.Errorf("overdue: %+v", st)
	}
	w.on(set("11", 5, 5), wrote("web-2", "10", "11", 3, 5, ControllerManager))
	if st := w.shadow.State(w.now.Add(time.Hour)); st.Count(ShadowOverdue) != 0 || st.Count(ShadowAgrees) != 1 || len(st.Differences) != 0 || st.Silent != 1 {
		t.Errorf("written late: %+v", st)
	}
	refused := set("11", 5, 6)
	refused.Refuses = true
	if w.on(refused); len(w.shadow.due.of) != 0 {
		t.Errorf("refused, and due: %+v", w.shadow.due.of)
	}
	gone := *w.on(set("11", 5, 6))
	gone.Gone = true
	if w.shadow.Add([]*Trace{&gone}, 0); len(w.shadow.due.of) != 0 {
		t.Error("something is due of a Deployment that is gone")
	}
}

// TestShadowOfWhatIsNotCompared: our own writes, loops that predict nothing, and syncs on what
// cannot be read.
func TestShadowOfWhatIsNotCompared(t *testing.T) {
	w := newWatching(t)
	own := wrote("web-2", "10", "11", 3, 4, "")
	own.Sync = 7
	w.on(set("11", 4, 4), own)
	w.shadow.Add([]*Trace{{Object: Object{"replicaset", "shop", "web-1"}, Causes: []Cause{own}}}, 0)
	if st := w.settled(); st.Syncs != 1 || len(st.Questions) != 0 {
		t.Errorf("%+v", st)
	}
	w = newWatching(t)
	w.shadow.Add([]*Trace{{Epoch: "e", Object: object("web"), Ended: w.now, Snapshot: SnapshotText([]byte(`{"rv":"1","replicaSets":[{"name":"web-2","rv":"9"}]}`))}}, 0)
	w.on(sized{ReplicaSets: []sizedSet{{Name: "web-2", RV: "11", Size: 5, Want: 5}}}, wrote("web-2", "10", "11", 3, 4, ControllerManager)) // Its Deployment is not there.
	if st := w.settled(); st.Together != 1 || len(st.Differences) != 0 {
		t.Errorf("of an object that was not found: %+v", st)
	}
	for name, text := range map[string]string{"none": "", "partly": `{"replicaSets":[{"name":"web-2","rv":"10"},7]}`, "not at all": `{"replicaSets":`} {
		w := newWatching(t)
		x := &Trace{Epoch: "e", Seq: 1, Object: object("web"), Causes: []Cause{wrote("web-2", "10", "11", 3, 5, ControllerManager)}, Snapshot: SnapshotText([]byte(text))}
		w.shadow.Add([]*Trace{x}, 0)
		if st := w.shadow.State(w.now.Add(ShadowSettles + 1)); st.Together != 1 || len(st.Differences) != 0 {
			t.Errorf("read %s: %+v", name, st)
		}
	}
}

// TestShadowThatHasJustListed: the other controller may have decided on what was there before the first list
// here. So for half a minute only what agrees is compared.
func TestShadowThatHasJustListed(t *testing.T) {
	for name, c := range map[string]struct {
		first                         CauseKind
		after                         time.Duration
		size                          int
		agrees, unexplained, together uint64
	}{
		"at once":                {CauseStart, time.Second, 4, 0, 0, 1},
		"after half a minute":    {CauseStart, maxLag, 4, 0, 0, 1},
		"later":                  {CauseStart, maxLag + 1, 4, 0, 1, 0},
		"at once, and it agrees": {CauseStart, time.Second, 5, 1, 0, 0},
		"seen from its creation": {CauseAdded, time.Second, 4, 0, 1, 0},
	} {
		w := newWatching(t)
		listed := Cause{Kind: c.first, Object: "ReplicaSet web-2", NewRV: "10", At: w.now}
		if c.first == CauseAdded {
			listed.Sync = 1 // By this program, so that nothing is compared of it.
		}
		w.on(set("10", 3, 5), listed)
		write := wrote("web-2", "10", "11", 3, c.size, ControllerManager)
		write.At = listed.At.Add(c.after)
		w.on(set("11", int64(c.size), 5), write)
		if st := w.settled(); st.Count(ShadowAgrees) != c.agrees || st.Count(ShadowUnexplained) != c.unexplained || st.Together != c.together {
			t.Errorf("%s: %+v", name, st)
		}
	}
	for after, want := range map[time.Duration]uint64{time.Second: 0, maxLag: 0, maxLag + time.Second: 1} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		w.on(set("10", 5, 5), Cause{Kind: CauseStart, Object: "ReplicaSet web-2", NewRV: "10", At: w.now})
		w.now = w.now.Add(after - time.Second) // The sync took the one that is missing.
		w.says("Normal", "Failed", "web-2 to 9")
		if st := w.later(); st.Count(ShadowUnexplained) != want || st.Together != 1-want {
			t.Errorf("an event after %s: %+v", after, st)
		}
	}
}

// TestShadowKnowsWhoWrites: whoever writes what is predicted, again and again, is the other
// controller; one that is known by its name is nobody else, and signs every size.
func TestShadowKnowsWhoWrites(t *testing.T) {
	w := newWatching(t)
	rv := 10
	step := func(to int, manager string) {
		w.on(set(fmt.Sprint(rv), 3, 5))
		w.on(set(fmt.Sprint(rv+1), int64(to), 5), wrote("web-2", fmt.Sprint(rv), fmt.Sprint(rv+1), 3, to, manager))
		rv += 2
		w.now = w.now.Add(ShadowSettles)
		w.settled()
	}
	for range knownBy {
		step(4, "cloud-controllers")
		step(5, "cloud-controllers")
	}
	w.has("unknown", ShadowOther, knownBy)
	step(4, "cloud-controllers")
	if st := w.settled(); st.Count(ShadowUnexplained) != 1 {
		t.Errorf("known: %+v", st)
	}
	step(5, ControllerManager)
	step(4, "")
	step(4, "cloud-controllers")
	if st := w.settled(); st.Count(ShadowOther) != knownBy+2 || st.Count(ShadowUnexplained) != 1 {
		t.Errorf("known by its name: %+v", st)
	}
}

// TestShadowKnowsAFewManagers, and those better and better.
func TestShadowKnowsAFewManagers(t *testing.T) {
	s := NewShadow(TestLoops)
	for i := range maxManagers + 1 {
		s.agree([]string{fmt.Sprint(i)})
	}
	if _, known := s.agreed[fmt.Sprint(maxManagers)]; len(s.agreed) != maxManagers || known {
		t.Errorf("%d managers are known, want %d", len(s.agreed), maxManagers)
	}
	for range knownBy + 1 {
		s.agree([]string{"0"})
	}
	if s.agree([]string{"1", "2"}); s.agreed["0"] != knownBy || s.agreed["1"] != 1 {
		t.Errorf("%v", s.agreed)
	}
}

// TestShadowIsBounded: neither differences nor the past nor a gap make it grow.
func TestShadowIsBounded(t *testing.T) {
	w := newWatching(t)
	for i := range maxDifferences + 9 {
		rv := 2 * i
		w.on(set(fmt.Sprint(rv), 3, 5))
		w.on(set(fmt.Sprint(rv+1), 4, 5), wrote("web-2", fmt.Sprint(rv), fmt.Sprint(rv+1), 3, 4, ControllerManager))
	}
	if st := w.settled(); st.Count(ShadowUnexplained) != maxDifferences+9 || len(st.Differences) > maxDifferences+1 || st.Differences[0].SeenIn != w.seq {
		t.Errorf("%d differences kept, %d counted, the newest of sync %d", len(st.Differences), st.Count(ShadowUnexplained), st.Differences[0].SeenIn)
	}
	w.on(set("1", 3, 5))
	w.shadow.Add(nil, 7)
	if st := w.shadow.State(w.now.Add(time.Hour)); st.Missed != 7 || st.Count(ShadowOverdue) != 0 || len(w.shadow.last.past) != 0 {
		t.Errorf("after a gap: %+v", st)
	}
	for i := range maxPredictions {
		w.shadow.due.of[object(fmt.Sprint(i))] = dueOf{}
	}
	if w.on(set("1", 3, 5)); len(w.shadow.due.of) != maxPredictions {
		t.Errorf("%d predictions, want %d", len(w.shadow.due.of), maxPredictions)
	}
}

// TestShadowLooksAtAFewSuspects at a time, so that nobody waits long for its state.
func TestShadowLooksAtAFewSuspects(t *testing.T) {
	w := newWatching(t)
	later := w.now.Add(time.Hour)
	for i := range maxLooks + 1 {
		rv := 2 * i
		w.now = w.now.Add(-time.Second)
		w.on(set(fmt.Sprint(rv+1), 4, 5), wrote("web-2", fmt.Sprint(rv), fmt.Sprint(rv+1), 3, 4, ControllerManager))
	}
	for _, want := range []uint64{maxLooks, maxLooks + 1} {
		if st := w.shadow.State(later); st.Count(ShadowUnexplained) != want {
			t.Errorf("%d of them are counted, want %d", st.Count(ShadowUnexplained), want)
		}
	}
}

// TestLaterVersions: the later of two numbers; what is none is not known to be later.
func TestLaterVersions(t *testing.T) {
	const large = "99999999999999999999" // More than a version can be.
	for _, c := range []struct {
		rv, than string
		want     bool
	}{{"10", "9", true}, {"9", "10", false}, {"9", "9", false}, {"x", "9", false}, {"9", "x", false}, {large, "9", false}, {"9", large, false}, {"9", "", false}} {
		if got := after(c.rv, c.than); got != c.want {
			t.Errorf("%q after %q: %t, want %t", c.rv, c.than, got, c.want)
		}
	}
}

// TestShadowOfARefusal: what the rules say where the API server refuses a write agrees, as its answer is not seen here,
// and only where there is something to write.
func TestShadowOfARefusal(t *testing.T) {
	failure := func(is string) Cause {
		return modified("Deployment web", "1", "2", ControllerManager, decision.Change{Field: "status.conditions[Failure]", To: is})
	}
	for name, c := range map[string]struct {
		want    int64
		is      string
		verdict ShadowVerdict
	}{
		"of a size":      {5, "True Refused", ShadowAgrees},
		"of nothing":     {3, "True Refused", ShadowUnexplained},
		"something else": {5, "True Other", ShadowUnexplained},
	} {
		w := newWatching(t)
		w.on(set("10", 3, c.want))
		after := set("10", 3, c.want)
		after.RV = "2"
		w.on(after, failure(c.is))
		w.has(name, c.verdict, 1)
	}
}

// TestShadowOfWhatGoesUnsigned: managedFields do not say who took a number, a condition or an annotation away.
func TestShadowOfWhatGoesUnsigned(t *testing.T) {
	for manager, want := range map[string]ShadowVerdict{"": ShadowUnsigned, ControllerManager: ShadowUnexplained, "kubectl": ShadowOther} {
		w := newWatching(t)
		ready := sized{RV: "1", Status: 3, ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Ready: 3}}}
		w.on(ready)
		ready.RV, ready.Status = "2", 0
		w.on(ready, modified("Deployment web", "1", "2", manager, decision.Change{Field: "status.readyReplicas", From: "3", To: "0"}))
		w.has("by "+manager, want, 1)
	}
	w := newWatching(t)
	w.on(sized{RV: "1", Status: 3})
	w.on(sized{RV: "2"}, modified("Deployment web", "1", "2", "", decision.Change{Field: "status.readyReplicas", From: "3", To: "0"}))
	w.has("what is called for", ShadowAgrees, 1)
}
