package telemetry

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

var (
	podCreation = decision.Predictable{Aspect: decision.AspectCreation, Of: "Pod"}
	podDeletion = decision.Predictable{Aspect: decision.AspectDeletion, Of: "Pod"}
)

// podShadow compares what happens to pods.
func podShadow() *Shadow {
	return NewShadow(decision.Loops{{Name: "deployment", Kind: "Deployment", Predicts: []decision.Predictable{podCreation, podDeletion}}})
}

// lacking are the changes that others wrote before.
func lacking(causes ...Cause) (list []*Cause) {
	for i := range causes {
		list = append(list, &causes[i])
	}
	return list
}

// TestShadowCountsCreations: of objects without a name as many agree as are due, those that the decision did not
// know of included.
func TestShadowCountsCreations(t *testing.T) {
	added := func(object string) Cause { return Cause{Kind: CauseAdded, Object: object} }
	for name, c := range map[string]struct {
		before []Cause
		agrees bool
	}{
		"the first":                        {nil, true},
		"the second":                       {[]Cause{added("Pod a")}, true},
		"the third":                        {[]Cause{added("Pod a"), added("Pod b")}, false},
		"after another kind":               {[]Cause{added("Pod a"), added("ReplicaSet b")}, true},
		"after a change":                   {[]Cause{added("Pod a"), {Kind: CauseModified, Object: "Pod b"}}, true},
		"after something that has no name": {[]Cause{added("Pod a"), added("Pod")}, true},
		"after what is called like a kind": {[]Cause{added("Pod a"), added("web Pod")}, true},
	} {
		v := &decision.Verdict{Actions: []decision.Action{{Kind: decision.CreatePods, Question: "RS-5", Count: 2}}}
		seen := &observed{cause: &Cause{Kind: CauseAdded, Object: "Pod c"}, parts: []decision.Prediction{{Predictable: podCreation, Name: "c"}}}
		for _, rehashed := range []bool{true, false} { // A pod's name has no hash of its template.
			shadow := podShadow()
			shadow.Rehashes = func() bool { return rehashed }
			a := shadow.compared(&Trace{Object: object("web")}, seen, decided{verdict: v, lacks: lacking(c.before...)})
			if part := a.parts[0]; part.agrees != c.agrees || part.question != "RS-5" {
				t.Errorf("%s, rehashed %t: %+v", name, rehashed, part)
			}
		}
	}
}

// TestShadowSaysWhatInstead: of what is called otherwise the one that was due is told, of what is not called for nothing.
func TestShadowSaysWhatInstead(t *testing.T) {
	deletes := func(names ...string) *decision.Verdict {
		a := decision.Action{Kind: decision.DeletePods, Question: "RS-6"}
		for _, name := range names {
			a.Victims = append(a.Victims, decision.Victim{Name: name})
		}
		return &decision.Verdict{Actions: []decision.Action{a}}
	}
	for name, c := range map[string]struct {
		due  []string
		want said
	}{
		"the same":           {[]string{"a"}, said{agrees: true, question: "RS-6"}},
		"the same of two":    {[]string{"b", "a"}, said{agrees: true, question: "RS-6"}},
		"the same, then one": {[]string{"a", "b"}, said{agrees: true, question: "RS-6"}},
		"another one":        {[]string{"b"}, said{instead: "b", question: "RS-6"}},
		"two others":         {[]string{"b", "c"}, said{instead: "b", question: "RS-6"}},
		"none":               {nil, said{}},
	} {
		seen := &observed{cause: &Cause{Kind: CauseDeleted, Object: "Pod a"}, parts: []decision.Prediction{{Predictable: podDeletion, Name: "a"}}}
		none := func() decision.Snapshot { return nil }
		a := podShadow().compared(&Trace{Object: object("web")}, seen, decided{on: none, verdict: deletes(c.due...)})
		if a.parts[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, a.parts[0], c.want)
		}
	}
	v := &decision.Verdict{Actions: []decision.Action{{Kind: decision.CreatePods, Question: "RS-5", Count: 2}}}
	seen := &observed{cause: &Cause{Kind: CauseDeleted, Object: "Pod a"}, parts: []decision.Prediction{{Predictable: podDeletion, Name: "a"}}}
	if a := podShadow().compared(&Trace{Object: object("web")}, seen, decided{verdict: v}); a.parts[0] != (said{}) {
		t.Errorf("a creation is held against a deletion: %+v", a.parts[0])
	}
}

// TestShadowRanksWhatWent: as many of one rank may go as are due, whichever went before.
func TestShadowRanksWhatWent(t *testing.T) {
	sets := decision.Predictable{Aspect: decision.AspectDeletion, Of: "ReplicaSet"}
	snapshot := func() decision.Snapshot {
		return &sized{ReplicaSets: []sizedSet{{Name: "a", Size: 1}, {Name: "b", Size: 1}, {Name: "c", Size: 1}, {Name: "d", Size: 9}}}
	}
	none := func() decision.Snapshot { return nil }
	gone := func(name string) Cause { return Cause{Kind: CauseDeleted, Object: "ReplicaSet " + name} }
	asked := func(object string) Cause {
		return modified(object, "1", "2", "", decision.Change{Field: fieldDeletion})
	}
	for name, c := range map[string]struct {
		seen   string
		due    []string
		before []Cause
		on     func() decision.Snapshot
		agrees bool
	}{
		"the one":                               {"a", []string{"a"}, nil, snapshot, true},
		"one of its rank":                       {"b", []string{"a"}, nil, snapshot, true},
		"of another rank":                       {"d", []string{"a"}, nil, snapshot, false},
		"the second of one":                     {"b", []string{"a"}, []Cause{gone("c")}, snapshot, false},
		"the second of two":                     {"b", []string{"a", "c"}, []Cause{gone("c")}, snapshot, true},
		"the third of two":                      {"b", []string{"a", "c"}, []Cause{gone("c"), asked("ReplicaSet a")}, snapshot, false},
		"the one, after another":                {"a", []string{"a"}, []Cause{asked("ReplicaSet b")}, snapshot, false},
		"the one, after one of another rank":    {"a", []string{"a"}, []Cause{gone("d")}, snapshot, true},
		"the one, after one that was due":       {"a", []string{"a", "d"}, []Cause{gone("d")}, snapshot, true},
		"after itself was asked to go":          {"a", []string{"a"}, []Cause{asked("ReplicaSet a")}, snapshot, true},
		"after another kind has gone":           {"b", []string{"a"}, []Cause{{Kind: CauseDeleted, Object: "Pod c"}}, snapshot, true},
		"after another one has changed":         {"b", []string{"a"}, []Cause{modified("ReplicaSet c", "1", "2", "")}, snapshot, true},
		"after another one has come":            {"b", []string{"a"}, []Cause{{Kind: CauseAdded, Object: "ReplicaSet c"}}, snapshot, true},
		"where nothing can be read":             {"b", []string{"a"}, nil, none, false},
		"the one, where nothing can be read":    {"a", []string{"a"}, []Cause{gone("b")}, none, true},
		"due of another rank":                   {"d", []string{"a", "b"}, nil, snapshot, false},
		"what is due has another one's name":    {"d", []string{"d"}, nil, snapshot, true},
		"the one, after the other that was due": {"a", []string{"a", "b"}, []Cause{gone("b")}, snapshot, true},
		"asked to go once more":                 {"b", []string{"a"}, []Cause{asked("ReplicaSet b")}, snapshot, true},
	} {
		shadow := NewShadow(decision.Loops{{Name: "deployment", Kind: "Deployment", Predicts: []decision.Predictable{sets}}})
		v := &decision.Verdict{}
		for _, name := range c.due {
			v.Actions = append(v.Actions, decision.Action{Kind: decision.DeleteReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: name}})
		}
		seen := &observed{cause: &Cause{Kind: CauseDeleted, Object: "ReplicaSet " + c.seen}, parts: []decision.Prediction{{Predictable: sets, Name: c.seen}}}
		a := shadow.compared(&Trace{Object: object("web")}, seen, decided{on: c.on, verdict: v, lacks: lacking(c.before...)})
		if a.parts[0].agrees != c.agrees {
			t.Errorf("%s: %+v", name, a.parts[0])
		}
	}
}

// TestShadowRanksDeletionsAlone: that one of a rank is resized makes no other one of it due.
func TestShadowRanksDeletionsAlone(t *testing.T) {
	deletion := decision.Predictable{Aspect: decision.AspectDeletion, Of: "ReplicaSet"}
	snapshot := func() decision.Snapshot {
		return &sized{ReplicaSets: []sizedSet{{Name: "a", Size: 1}, {Name: "b", Size: 1}, {Name: "c", Size: 1}, {Name: "d", Size: 9}}}
	}
	set := func(name string) decision.Ref { return decision.Ref{Kind: "ReplicaSet", Name: name} }
	v := &decision.Verdict{Actions: []decision.Action{
		{Kind: decision.UpdateReplicaSet, Target: set("b"), Question: "RR-2", Size: &decision.Size{From: 1, To: 2}},
		{Kind: decision.DeleteReplicaSet, Target: set("a"), Question: "RC-6"},
	}}
	tooMany := said{instead: "no more than 1 of its rank", question: "RC-6"}
	for name, c := range map[string]struct {
		seen   string
		before []Cause
		want   said
	}{
		"the one":                        {"a", nil, said{agrees: true, question: "RC-6"}},
		"the one, after the resized":     {"a", []Cause{{Kind: CauseDeleted, Object: "ReplicaSet b"}}, tooMany},
		"another, after the resized":     {"c", []Cause{{Kind: CauseDeleted, Object: "ReplicaSet b"}}, tooMany},
		"of a rank of which none is due": {"d", nil, said{instead: "a", question: "RC-6"}},
	} {
		seen := &observed{cause: &Cause{Kind: CauseDeleted, Object: "ReplicaSet " + c.seen}, parts: []decision.Prediction{{Predictable: deletion, Name: c.seen}}}
		a := NewShadow(TestLoops).compared(&Trace{Object: object("web")}, seen, decided{on: snapshot, verdict: v, lacks: lacking(c.before...)})
		if part := a.parts[0]; part.agrees != c.want.agrees || part.question != c.want.question || !part.agrees && part.instead != c.want.instead {
			t.Errorf("%s: %+v, want %+v", name, part, c.want)
		}
	}
}

// TestShadowCompares: a size is that of its own object, whatever stands behind the last hyphen; of several conditions
// the other controller may write some first, but none that is not due.
func TestShadowCompares(t *testing.T) {
	size := decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}
	creation := decision.Predictable{Aspect: decision.AspectCreation, Of: "ReplicaSet"}
	conditions := decision.Predictable{Aspect: decision.AspectConditions, Of: "Deployment"}
	const available, failure, paused = "status.conditions[Available]  → True", "status.conditions[Failure]  → True", "status.conditions[Paused]  → True"
	v := &decision.Verdict{Path: decision.Path{{Question: "RR-5"}}, Actions: []decision.Action{
		{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-3"}, Question: "RR-2", Size: &decision.Size{From: 3, To: 5}},
		{Kind: decision.CreateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web"}, Question: "RR-1"},
	}}
	report := &decision.Report{Changes: []decision.Change{{Field: "status.conditions[Available]", To: "True"}, {Field: "status.conditions[Failure]", To: "True"}}}
	for name, c := range map[string]struct {
		seen decision.Prediction
		want said
	}{
		"the size":                       {decision.Prediction{Predictable: size, Name: "web-3", What: "3 → 5"}, said{agrees: true, question: "RR-2"}},
		"another size":                   {decision.Prediction{Predictable: size, Name: "web-3", What: "3 → 4"}, said{instead: "3 → 5", question: "RR-2"}},
		"the size of another":            {decision.Prediction{Predictable: size, Name: "web-5d4", What: "3 → 5"}, said{}},
		"the creation":                   {decision.Prediction{Predictable: creation, Name: "web"}, said{agrees: true, question: "RR-1"}},
		"a creation without a hash":      {decision.Prediction{Predictable: creation, Name: "shop"}, said{instead: "web", question: "RR-1"}},
		"all conditions":                 {decision.Prediction{Predictable: conditions, Name: "web", What: available + ", " + failure}, said{agrees: true, question: "RR-5"}},
		"one condition":                  {decision.Prediction{Predictable: conditions, Name: "web", What: failure}, said{agrees: true, question: "RR-5"}},
		"a condition that is not due":    {decision.Prediction{Predictable: conditions, Name: "web", What: paused}, said{instead: available + ", " + failure, question: "RR-5"}},
		"one condition more than is due": {decision.Prediction{Predictable: conditions, Name: "web", What: available + ", " + failure + ", " + paused}, said{instead: available + ", " + failure, question: "RR-5"}},
	} {
		shadow := NewShadow(TestLoops)
		shadow.Rehashes = func() bool { return true }
		a := shadow.compared(&Trace{Object: object("web")}, &observed{parts: []decision.Prediction{c.seen}}, decided{verdict: v, report: report})
		if a.parts[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, a.parts[0], c.want)
		}
	}
}

// TestShadowRemembersDecisions: the last decision before a write counts, however long ago, and one before it as long as
// the next one was no more than maxLag before the write.
func TestShadowRemembersDecisions(t *testing.T) {
	failed := func(w *watching) { // before it decided
		w.seq++
		w.now = w.now.Add(time.Second)
		w.shadow.Add([]*Trace{{Epoch: "e", Seq: w.seq, Object: object("web"), Ended: w.now}}, 0)
	}
	overtaken := func(w *watching) { w.on(set("9", 3, 6)) }
	for name, c := range map[string]struct {
		then func(*watching)
		ago  time.Duration
		want ShadowVerdict
	}{
		"the last":                       {func(*watching) {}, time.Hour, ShadowAgrees},
		"the last, and then no decision": {failed, time.Hour, ShadowAgrees},
		"one before":                     {overtaken, maxLag, ShadowBehind},
		"one that is too old":            {overtaken, maxLag + 1, ShadowUnexplained},
	} {
		w := newWatching(t)
		w.on(set("9", 3, 5)) // It is not version 10, which a search would find.
		c.then(w)
		w.now = w.now.Add(c.ago - time.Second)
		w.on(set("11", 5, 7), wrote("web-2", "10", "11", 3, 5, ControllerManager))
		w.has(name, c.want, 1)
	}
}

// TestShadowAgreesWithTheLast: where two syncs agree with one part of a write and neither with all of it, the later one counts.
func TestShadowAgreesWithTheLast(t *testing.T) {
	w := newWatching(t)
	w.on(sized{RV: "1", Status: 1, ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Ready: 3}}})
	w.on(sized{RV: "1", Status: 1, ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Ready: 3}}})
	w.on(sized{RV: "2", Status: 3, ReplicaSets: []sizedSet{{Name: "web-1", RV: "10", Ready: 3}}}, modified("Deployment web", "1", "2", ControllerManager,
		decision.Change{Field: "status.readyReplicas", From: "1", To: "3"}, decision.Change{Field: "status.conditions[Failure]", To: "True Refused"}))
	w.has("one part", ShadowUnexplained, 1)
	if st := w.settled(); st.Count(ShadowAgrees) != 1 {
		t.Errorf("the other part: %+v", st)
	}
}

// TestShadowAsksNoFurther: where a sync decided on a write, nothing is decided on again.
func TestShadowAsksNoFurther(t *testing.T) {
	w := newWatching(t)
	before := w.on(set("10", 3, 5))
	x := w.on(set("11", 5, 5), wrote("web-2", "10", "11", 3, 5, ControllerManager))
	a := w.shadow.ask(x, x, &w.shadow.observe(x)[0])
	if !a.whole() || a.on != before || a.tried != 0 {
		t.Errorf("%+v", a)
	}
}

// TestShadowKnowsWhatWasWrittenBefore: the writes of others, by their versions.
func TestShadowKnowsWhatWasWrittenBefore(t *testing.T) {
	causes := []Cause{
		modified("Pod before", "5", "6", ""), modified("Pod later", "6", "9", ""), modified("Pod same", "6", "8", ""),
		{Kind: CauseDeleted, Object: "Pod gone", OldRV: "7"}, {Kind: CauseResync, Object: "Pod seen", NewRV: "3"},
		{Kind: CauseModified, Object: "Pod ours", OldRV: "3", NewRV: "4", Sync: 7},
	}
	var names []string
	for _, c := range writtenBefore(&Trace{Causes: causes}, &observed{cause: &Cause{Kind: CauseAdded, NewRV: "8"}}) {
		names = append(names, c.Object)
	}
	if want := []string{"Pod before", "Pod gone"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
