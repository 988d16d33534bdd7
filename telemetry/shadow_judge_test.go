package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestWhatVerdictsSay: which agree, which follow Kubernetes' rules, and which tell of the other controller.
func TestWhatVerdictsSay(t *testing.T) {
	for v, want := range map[ShadowVerdict][3]bool{
		ShadowAgrees: {true, true, true}, ShadowBehind: {true, true, true}, ShadowDeparture: {false, true, true}, ShadowOverdue: {false, false, true},
		ShadowUnexplained: {false, false, true}, ShadowOther: {false, false, false}, ShadowUnsigned: {false, false, false},
	} {
		if got := [3]bool{v.Agrees(), v.Follows(), v.Tells()}; got != want {
			t.Errorf("%s: %v, want %v", v, got, want)
		}
	}
}

// TestShadowQuestionsAreSorted: by loop, aspect, kind and question, each with the verdicts that there are.
func TestShadowQuestionsAreSorted(t *testing.T) {
	s := NewShadow(TestLoops)
	of := func(loop string, aspect decision.Aspect, kind, question string) counted {
		return counted{loop, decision.Predictable{Aspect: aspect, Of: kind}, question}
	}
	want := []counted{
		of("a", decision.AspectSize, "Pod", "3"), of("b", decision.AspectCreation, "Pod", "3"), of("b", decision.AspectSize, "Job", "3"),
		of("b", decision.AspectSize, "Pod", "1"), of("b", decision.AspectSize, "Pod", "2"),
	}
	for _, x := range want {
		s.counts[x] = map[ShadowVerdict]uint64{ShadowAgrees: 1}
	}
	var got []counted
	for _, q := range s.questions(nil) {
		got = append(got, counted{q.Loop, q.Predictable, q.Question})
		if len(q.Counts) != 1 {
			t.Errorf("%+v", q)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestShadowLooksOnceMore: a write that nothing explains is looked at once more from the last sync that knows its object.
func TestShadowLooksOnceMore(t *testing.T) {
	explained := func(w *watching) { // by a change that another cache has shown first
		w.on(sized{RV: "8", Status: 3, ReplicaSets: []sizedSet{{Name: "web-1", RV: "5", Ready: 1}}}, modified("Deployment web", "4", "8", ControllerManager, decision.Change{Field: "status.readyReplicas", From: "1", To: "3"}))
		w.on(sized{RV: "8", Status: 3, ReplicaSets: []sizedSet{{Name: "web-1", RV: "6", Ready: 3}}}, modified("ReplicaSet web-1", "5", "6", ControllerManager, decision.Change{Field: "status.readyReplicas", From: "1", To: "3"}))
	}
	for name, c := range map[string]struct {
		syncs func(*watching)
		want  ShadowVerdict
	}{
		"explained":                {explained, ShadowAgrees},
		"explained, and then gone": {func(w *watching) { explained(w); w.on(sized{}) }, ShadowAgrees},
		"a departure that comes out": {func(w *watching) {
			w.on(set("11", 2, 5), wrote("web-2", "10", "11", 3, 2, ControllerManager))
			departs := set("11", 2, 5)
			departs.Departs = 3
			w.on(departs)
		}, ShadowDeparture},
	} {
		w := newWatching(t)
		c.syncs(w)
		w.has(name, c.want, 1)
	}
}

// TestShadowSettlesInTime: a difference is suspected for ShadowSettles.
func TestShadowSettlesInTime(t *testing.T) {
	for after, want := range map[time.Duration]uint64{ShadowSettles: 0, ShadowSettles + 1: 1} {
		w := newWatching(t)
		w.on(set("10", 3, 5))
		w.on(set("11", 4, 5), wrote("web-2", "10", "11", 3, 4, ControllerManager))
		if st := w.shadow.State(w.now.Add(after)); st.Count(ShadowUnexplained) != want {
			t.Errorf("after %s: %+v", after, st)
		}
	}
}

// TestShadowOfWhatNobodySigned: a deletion waits for an event that signs it, and a size does not.
func TestShadowOfWhatNobodySigned(t *testing.T) {
	deleted := func(w *watching) {
		w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Size: 1, Want: -1}, {Name: "web-9", RV: "11", Size: 9, Want: 9}}})
		w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Size: 1, Want: -1}}}, Cause{Kind: CauseDeleted, Object: "ReplicaSet web-9", OldRV: "12"})
	}
	resized := func(w *watching) {
		w.on(set("10", 3, 5))
		w.on(set("11", 4, 5), wrote("web-2", "10", "11", 3, 4, ""))
	}
	created := func(w *watching) {
		w.on(sized{RV: "1", New: "web-3"})
		w.on(set("20", 0, 0), Cause{Kind: CauseAdded, Object: "ReplicaSet web-3", NewRV: "20", Manager: "kubectl"})
	}
	for name, c := range map[string]struct {
		write    func(*watching)
		followed bool
		after    time.Duration
		want     ShadowVerdict
		n        uint64
	}{
		"a deletion, too early":             {deleted, true, signedWithin, ShadowUnsigned, 0},
		"a deletion":                        {deleted, true, signedWithin + 1, ShadowUnsigned, 1},
		"a deletion, where none is watched": {deleted, false, ShadowSettles + 1, ShadowUnexplained, 1},
		"a size":                            {resized, true, ShadowSettles + 1, ShadowUnexplained, 1},
		"a creation that is due":            {created, true, ShadowSettles + 1, ShadowAgrees, 1},
	} {
		w := newWatching(t)
		w.shadow.Follows(c.followed, "")
		c.write(w)
		if st := w.shadow.State(w.now.Add(c.after)); st.Count(c.want) != c.n {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestShadowHearsWhoSigned: a deletion that nobody has signed is counted as soon as an event says who did it.
func TestShadowHearsWhoSigned(t *testing.T) {
	w := newWatching(t)
	w.shadow.Follows(true, "")
	w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "10"}}})
	w.on(sized{RV: "1"}, Cause{Kind: CauseDeleted, Object: "ReplicaSet web-1", OldRV: "12"})
	if st := w.settled(); len(st.Questions) != 0 {
		t.Errorf("before: %+v", st)
	}
	w.says("Normal", "Deleted", "web-1 is gone")
	if st := w.settled(); st.Count(ShadowUnexplained) != 1 {
		t.Errorf("after: %+v", st)
	}
}

// TestSuspectsAreBounded: where too many are suspected, or wait for a signature, the next one is counted at once.
func TestSuspectsAreBounded(t *testing.T) {
	for n, want := range map[int]uint64{maxDifferences - 1: 0, maxDifferences: 1} {
		w := newWatching(t)
		for range n {
			w.shadow.suspects = append(w.shadow.suspects, suspect{trace: &Trace{Ended: w.now.Add(time.Hour)}})
		}
		w.on(set("10", 3, 5))
		w.on(set("11", 4, 5), wrote("web-2", "10", "11", 3, 4, ControllerManager))
		if st := w.shadow.State(w.now); st.Count(ShadowUnexplained) != want {
			t.Errorf("beside %d suspects: %+v", n, st)
		}
	}
	for n, want := range map[int]uint64{maxEvents - 1: 0, maxEvents: 1} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		cause := Cause{Kind: CauseDeleted, Object: "ReplicaSet web-9"}
		waits := suspect{observed{&cause, aspectsOf(&cause, "ReplicaSet", "web-9")}, &Trace{Object: object("web"), Ended: w.now.Add(time.Hour)}, answer{parts: make([]said, 1)}}
		w.shadow.nobodys = slices.Repeat([]suspect{waits}, n)
		w.on(sized{RV: "1", ReplicaSets: []sizedSet{{Name: "web-1", RV: "10"}}})
		w.on(sized{RV: "1"}, Cause{Kind: CauseDeleted, Object: "ReplicaSet web-1", OldRV: "12"})
		if st := w.settled(); st.Count(ShadowUnsigned) != want {
			t.Errorf("beside %d that nobody signed: %+v", n, st)
		}
	}
}

// TestShadowAgreesAtOnce: what agrees with a sync has nothing to wait for.
func TestShadowAgreesAtOnce(t *testing.T) {
	w := newWatching(t)
	w.on(set("10", 3, 5))
	w.on(set("11", 5, 5), wrote("web-2", "10", "11", 3, 5, ControllerManager))
	if st := w.shadow.State(w.now); st.Count(ShadowAgrees) != 1 {
		t.Errorf("%+v", st)
	}
}

// TestShadowOfFieldsThatGo: nobody signs a number, a condition or an annotation that goes, and the garbage collector
// releases under the name of the other controller.
func TestShadowOfFieldsThatGo(t *testing.T) {
	for name, c := range map[string]struct {
		aspect        decision.Aspect
		what, manager string
		want          ShadowVerdict
	}{
		"a number":                     {decision.AspectStatus, "", "", ShadowUnsigned},
		"a condition":                  {decision.AspectConditions, "", "", ShadowUnsigned},
		"an annotation":                {decision.AspectAnnotations, "", "", ShadowUnsigned},
		"an annotation that is signed": {decision.AspectAnnotations, "", ControllerManager, ShadowUnexplained},
		"a size":                       {decision.AspectSize, "", "", ShadowUnexplained},
		"a release":                    {decision.AspectOwner, "web → none", ControllerManager, ShadowUnsigned},
		"an adoption":                  {decision.AspectOwner, "none → web", ControllerManager, ShadowUnexplained},
	} {
		cause := modified("ReplicaSet web-1", "1", "2", c.manager)
		x := &suspect{observed{&cause, []decision.Prediction{{Predictable: decision.Predictable{Aspect: c.aspect, Of: "ReplicaSet"}, Name: "web-1", What: c.what}}}, &Trace{Object: object("web")}, answer{parts: make([]said, 1), tried: 1}}
		if got := NewShadow(TestLoops).verdict(x, 0, false); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestShadowAgreesBehindWithAPart: where an older sync agrees with one part of a write, the other one is none the less a difference.
func TestShadowAgreesBehindWithAPart(t *testing.T) {
	w := newWatching(t)
	w.on(sized{RV: "1", Status: 1, ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Ready: 3}}})
	w.on(sized{RV: "1", Status: 1, ReplicaSets: []sizedSet{{Name: "web-1", RV: "11", Ready: 4}}})
	w.on(sized{RV: "2", Status: 3, ReplicaSets: []sizedSet{{Name: "web-1", RV: "11", Ready: 4}}}, modified("Deployment web", "1", "2", ControllerManager,
		decision.Change{Field: "status.readyReplicas", From: "1", To: "3"}, decision.Change{Field: "status.conditions[Failure]", To: "True Refused"}))
	if st := w.settled(); st.Count(ShadowBehind) != 1 || st.Count(ShadowUnexplained) != 1 {
		t.Errorf("%+v", st)
	}
}

// TestShadowKeepsDifferences: for a new one goes the oldest that says nothing of the other controller, or else the oldest of all.
func TestShadowKeepsDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		others []int // what says nothing of it
		gone   string
	}{"of others": {[]int{1, 3}, "1"}, "of the other controller": {nil, "0"}} {
		s := NewShadow(TestLoops)
		for i := range maxDifferences {
			d := Difference{Verdict: ShadowUnexplained, Target: string(rune('0' + i))}
			if slices.Contains(c.others, i) {
				d.Verdict = ShadowOther
			}
			s.note(&suspect{}, d)
		}
		s.note(&suspect{}, Difference{Verdict: ShadowUnexplained, Target: "new"})
		list := s.state.Differences
		has := func(target string) bool {
			return slices.ContainsFunc(list, func(d Difference) bool { return d.Target == target })
		}
		if len(list) != maxDifferences || has(c.gone) || !has("2") || !has("3") || list[len(list)-1].Target != "new" {
			t.Errorf("%s: %d are kept, without %s: %t", name, len(list), c.gone, !has(c.gone))
		}
	}
}

// TestShadowObservesWhatIsPredicted, and nobody is known by anything else.
func TestShadowObservesWhatIsPredicted(t *testing.T) {
	for name, c := range map[string]Cause{
		"another field":        modified("ReplicaSet web-1", "1", "2", "kubectl", decision.Change{Field: "spec.template"}),
		"of another kind":      {Kind: CauseAdded, Object: "Pod web-1-a", Manager: "kubectl"},
		"the end of that kind": {Kind: CauseDeleted, Object: "Pod web-1-a"},
		"our own":              {Kind: CauseModified, Object: "ReplicaSet web-1", Sync: 7, Fields: []decision.Change{{Field: "spec.replicas", From: "1", To: "2"}}},
		"of nobody":            {Kind: CauseAdded, Object: "ReplicaSet"},
	} {
		if list := newWatching(t).shadow.observe(&Trace{Object: object("web"), Causes: []Cause{c}}); len(list) != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// TestShadowForeignWrites: who is not the other controller, where that one is known and where it is not.
func TestShadowForeignWrites(t *testing.T) {
	for name, c := range map[string]struct {
		cause          Cause
		unknown, known bool
	}{
		"its own":                    {wrote("web-2", "1", "2", 3, 5, ControllerManager), false, false},
		"somebody else's":            {wrote("web-2", "1", "2", 3, 5, "kubectl"), true, true},
		"a size that nobody signed":  {wrote("web-2", "1", "2", 3, 5, ""), false, true},
		"a field that nobody signed": {modified("ReplicaSet web-2", "1", "2", "", decision.Change{Field: "status.replicas"}), false, false},
		"an end":                     {Cause{Kind: CauseDeleted, Object: "ReplicaSet web-2"}, false, false},
	} {
		s := NewShadow(TestLoops)
		unknown := s.foreignWrite(&c.cause)
		s.agree([]string{ControllerManager})
		if known := s.foreignWrite(&c.cause); unknown != c.unknown || known != c.known {
			t.Errorf("%s: %t, and %t where it is known", name, unknown, known)
		}
	}
}

// TestShadowOfOneAfterAnother: while the other controller makes or deletes some, what is left of them is not overdue.
func TestShadowOfOneAfterAnother(t *testing.T) {
	pods := func(aspect decision.Aspect) decision.Predictable {
		return decision.Predictable{Aspect: aspect, Of: "Pod"}
	}
	loops := decision.Loops{{Name: "replicaset", Kind: "ReplicaSet", Predicts: []decision.Predictable{pods(decision.AspectCreation), pods(decision.AspectDeletion)}}}
	created := func(manager string) func(int) []Cause {
		return func(i int) []Cause {
			return []Cause{{Kind: CauseAdded, Object: fmt.Sprintf("Pod web-%d", i), NewRV: fmt.Sprint(i + 1), Manager: manager}}
		}
	}
	deleted := func(i int) []Cause {
		return []Cause{modified(fmt.Sprintf("Pod web-%d", i), fmt.Sprint(i+1), fmt.Sprint(i+2), "", decision.Change{Field: fieldDeletion})}
	}
	creates := func(n int) decision.Action { return decision.Action{Kind: decision.CreatePods, Count: int64(n)} }
	deletes := func(n int) decision.Action {
		a := decision.Action{Kind: decision.DeletePods}
		for i := range n {
			a.Victims = append(a.Victims, decision.Victim{Name: fmt.Sprintf("web-%d", 9-i)})
		}
		return a
	}
	for name, c := range map[string]struct {
		due    func(int) decision.Action // as many
		falls  int                       // from one sync to the next
		writes func(int) []Cause
		want   uint64 // overdue after the last one
	}{
		"it creates them":             {creates, 1, created(ControllerManager), 0},
		"as fast as they go":          {creates, 0, created(ControllerManager), 0},
		"somebody else creates":       {creates, 1, created("kubectl"), 1},
		"it creates none":             {creates, 0, nil, 1},
		"it creates none of fewer":    {creates, 1, nil, 1},
		"it deletes, and has to make": {creates, 0, deleted, 1},
		"it deletes them":             {deletes, 1, deleted, 0},
		"it deletes none":             {deletes, 0, nil, 10},
	} {
		s, now := NewShadow(loops), time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
		s.agree([]string{ControllerManager})
		for i := range 10 {
			now = now.Add(time.Second)
			x := &Trace{Epoch: "e", Seq: uint64(i + 1), Object: Object{"replicaset", "shop", "web"}, Ended: now, Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{c.due(10 - i*c.falls)}}}}}
			if i > 0 && c.writes != nil {
				x.Causes = c.writes(i - 1)
			}
			s.Add([]*Trace{x}, 0)
			if st := s.State(now); c.want == 0 && st.Count(ShadowOverdue) != 0 {
				t.Errorf("%s: overdue after %d s: %+v", name, i, st)
			}
		}
		if st := s.State(now); st.Count(ShadowOverdue) != c.want {
			t.Errorf("%s: %d are overdue, want %d", name, st.Count(ShadowOverdue), c.want)
		}
		if st := s.State(now.Add(ShadowWithin + 1)); st.Count(ShadowOverdue) == 0 {
			t.Errorf("%s: not overdue after it has stopped", name)
		}
	}
}

// TestShadowAfterAGap: the other controller may have decided on what only missed syncs have seen. So for half a
// minute only what agrees is compared.
func TestShadowAfterAGap(t *testing.T) {
	missed := func(w *watching) { // and the next sync is of a loop that is not compared
		w.shadow.Add([]*Trace{{Object: Object{"replicaset", "shop", "web-1"}, Ended: w.now}}, 7)
	}
	for name, c := range map[string]struct {
		after                         time.Duration
		size                          int
		agrees, unexplained, together uint64
	}{
		"at once":                {time.Second, 4, 0, 0, 1},
		"after half a minute":    {maxLag, 4, 0, 0, 1},
		"later":                  {maxLag + 1, 4, 0, 1, 0},
		"at once, and it agrees": {time.Second, 5, 1, 0, 0},
	} {
		w := newWatching(t)
		missed(w)
		write := wrote("web-2", "10", "11", 3, c.size, ControllerManager)
		write.At = w.now.Add(c.after)
		w.on(set("10", 3, 5))
		w.on(set("11", int64(c.size), 5), write)
		if st := w.settled(); st.Count(ShadowAgrees) != c.agrees || st.Count(ShadowUnexplained) != c.unexplained || st.Together != c.together {
			t.Errorf("%s: %+v", name, st)
		}
	}
	for after, want := range map[time.Duration]uint64{time.Second: 0, maxLag: 0, maxLag + time.Second: 1} {
		w := newWatching(t)
		w.shadow.Follows(true, "")
		missed(w)
		w.on(set("10", 5, 5))
		w.now = w.now.Add(after - time.Second) // The sync took the one that is missing.
		w.says("Normal", "Failed", "web-2 to 9")
		if st := w.later(); st.Count(ShadowUnexplained) != want || st.Together != 1-want {
			t.Errorf("an event after %s: %+v", after, st)
		}
	}
}

// TestShadowMissesWithinABatch: what was missed may lie between the syncs that come with it.
func TestShadowMissesWithinABatch(t *testing.T) {
	w := newWatching(t)
	first := w.now
	w.shadow.Add([]*Trace{{Seq: 1, Ended: first}, {Seq: 9, Ended: first.Add(time.Second)}}, 7)
	if !w.shadow.gap.Equal(first.Add(time.Second)) {
		t.Errorf("over at %s", w.shadow.gap)
	}
}
