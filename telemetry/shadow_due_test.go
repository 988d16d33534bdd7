package telemetry

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestStall: what has been due for half a minute is a stall, until somebody writes it, and says when the other
// controller was last seen to write.
func TestStall(t *testing.T) {
	w := newWatching(t)
	w.on(set("10", 3, 5))
	due := w.now
	if st := w.shadow.Stall(due.Add(ShadowStalls)); st != (Stall{}) {
		t.Errorf("a stall at the limit: %+v", st)
	}
	late := due.Add(ShadowStalls + time.Millisecond)
	want := Stall{Decisions: 1, Since: due, Manager: ControllerManager}
	if st := w.shadow.Stall(late); st != want || !st.Idle(late) {
		t.Errorf("%+v, want %+v", st, want)
	}
	w.on(set("10", 3, 5)) // Another sync says the same: it has been due since the first.
	if st := w.shadow.Stall(late); st != want {
		t.Errorf("after another sync %+v, want %+v", st, want)
	}
	byHelm := wrote("web-2", "10", "11", 3, 4, "helm")
	byHelm.At = w.now
	w.on(set("11", 4, 5), byHelm)
	w.now = late
	if st := w.shadow.Stall(late.Add(time.Minute)); !st.Wrote.IsZero() || st.Decisions != 1 {
		t.Errorf("what somebody else wrote: %+v", st)
	}
	seen := wrote("web-2", "11", "12", 4, 5, ControllerManager)
	seen.At = w.now
	w.on(set("12", 5, 6), seen)
	due = w.now
	want = Stall{Decisions: 1, Since: due, Manager: ControllerManager, Wrote: seen.At}
	if st := w.shadow.Stall(due.Add(time.Minute)); st != want || !st.Idle(due.Add(time.Minute)) || st.Idle(seen.At.Add(ShadowStalls)) {
		t.Errorf("after a write %+v, want %+v", st, want)
	}
	w.shadow.Add(nil, 1)
	if st := w.shadow.Stall(due.Add(time.Minute)); st.Decisions != 0 || len(w.shadow.Due(object("web"))) != 0 || len(w.shadow.due.below) != 0 {
		t.Errorf("after a gap: %+v", st)
	}
}

// TestStallAfterAnOutage: what became due just before the API server was away, or meanwhile, counts as due from when it
// served again, as nobody could write; what had been due for long before that still is.
func TestStallAfterAnOutage(t *testing.T) {
	w := newWatching(t)
	w.on(set("10", 3, 5))
	due := w.now
	outage := func(began, ended time.Duration) Outage { return Outage{Began: due.Add(began), Ended: due.Add(ended)} }
	for name, c := range map[string]struct {
		over []Outage
		from time.Duration
	}{
		"due before it":        {[]Outage{outage(time.Second, time.Minute)}, time.Minute},
		"due in it":            {[]Outage{outage(-time.Second, time.Minute)}, time.Minute},
		"due after it":         {[]Outage{outage(-time.Minute, -time.Second)}, 0},
		"overdue before it":    {[]Outage{outage(31*time.Second, time.Hour)}, 0},
		"one soon after":       {[]Outage{outage(time.Second, time.Minute), outage(65*time.Second, 2*time.Minute)}, 2 * time.Minute},
		"one when it was over": {[]Outage{outage(time.Second, time.Minute), outage(2*time.Minute, time.Hour)}, time.Minute},
	} {
		w.shadow.Outages = func() []Outage { return c.over }
		from := due.Add(c.from)
		if st := w.shadow.Stall(from.Add(ShadowStalls)); st != (Stall{}) {
			t.Errorf("%s: a stall within half a minute: %+v", name, st)
		}
		late := from.Add(ShadowStalls + time.Millisecond)
		if st := w.shadow.Stall(late); st.Decisions != 1 || !st.Since.Equal(from) || !st.Idle(late) {
			t.Errorf("%s: %+v, want one since %v", name, st, from)
		}
		if list := w.shadow.Due(object("web")); len(list) != 1 || !list[0].At.Equal(from) {
			t.Errorf("%s: due is %+v, want it from %v", name, list, from)
		}
	}
	w.shadow.Outages = func() []Outage { return []Outage{outage(time.Second, time.Minute)} }
	from := due.Add(time.Minute)
	if st := w.shadow.State(from.Add(ShadowWithin)); st.Count(ShadowOverdue) != 0 {
		t.Errorf("overdue as soon as it serves: %+v", st)
	}
	if st := w.shadow.State(from.Add(ShadowWithin + time.Millisecond)); st.Count(ShadowOverdue) != 1 || !st.Differences[0].At.Equal(due) {
		t.Errorf("overdue later: %+v, want one decided at %v", st, due)
	}
}

// TestDueOfAnObject: its own comes first, sizes before statuses, and then what is due of those that it controls.
func TestDueOfAnObject(t *testing.T) {
	s := NewShadow(TestLoops)
	web, child, other := object("web"), Object{"replicaset", "shop", "web-1"}, Object{"replicaset", "shop", "api-1"}
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	of := func(o Object, a decision.Aspect, target string, after time.Duration) Difference {
		return Difference{Object: o, Predictable: decision.Predictable{Aspect: a, Of: "x"}, Target: target, At: at.Add(after)}
	}
	list := func(ds ...Difference) map[string]Difference {
		m := map[string]Difference{}
		for _, d := range ds {
			m[string(d.Aspect)+d.Target] = d
		}
		return m
	}
	s.due.put(child, web, list(of(child, decision.AspectStatus, "a", 0), of(child, decision.AspectCreation, "b", time.Minute)))
	s.due.put(other, object("api"), list(of(other, decision.AspectSize, "c", 0)))
	s.due.put(web, Object{Namespace: "shop"}, list(of(web, decision.AspectConditions, "d", 0), of(web, decision.AspectSize, "e", time.Second), of(web, decision.AspectSize, "f", 0), of(web, decision.AspectSize, "g", 0)))
	s.due.seen(&Cause{At: at, Manager: "loopscope"})
	due := func(o Object) (targets string) {
		for _, d := range s.Due(o) {
			targets += d.Target
			if d.Manager != "loopscope" {
				t.Errorf("%s waits for %q", d.Target, d.Manager)
			}
		}
		return targets
	}
	for o, want := range map[Object]string{web: "fgedba", child: "ba", other: "c", object("api"): "c", object("none"): ""} {
		if got := due(o); got != want {
			t.Errorf("%s: %q, want %q", o.Key(), got, want)
		}
	}
	s.due.put(child, object("api"), list(of(child, decision.AspectSize, "a", 0)))
	if got := due(web) + " " + due(object("api")); got != "fged ca" {
		t.Errorf("adopted by another one: %q", got)
	}
	s.due.put(child, object("api"), nil)
	s.due.put(other, object("api"), nil)
	if got := due(object("api")); got != "" || len(s.due.below) != 0 || len(s.due.of) != 1 {
		t.Errorf("written: %q, %d below", got, len(s.due.below))
	}
}
