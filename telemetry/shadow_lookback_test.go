package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestLookBackIsFair: one object with many syncs takes none of the newest few of another one.
func TestLookBackIsFair(t *testing.T) {
	b := newLookBack()
	for i := range 9 {
		b.remember(&Trace{Seq: uint64(i), Object: object("quiet"), Owner: "shop"})
	}
	const others = 1000
	for i := range maxRecent + others {
		b.remember(&Trace{Object: object(fmt.Sprint(i % others))})
	}
	quiet := b.of(object("quiet"))
	if len(quiet) != fewest || quiet[0].Seq != 9-fewest || quiet[fewest-1].Seq != 8 {
		t.Errorf("%d syncs of the quiet one are left", len(quiet))
	}
	if n := len(b.order); n != maxRecent {
		t.Errorf("%d syncs are remembered beyond the few", n)
	}
	if kin := b.kin(&Trace{Object: object("other"), Owner: "shop"}); len(kin) != 1 || kin[0] != object("quiet") {
		t.Errorf("siblings: %v", kin)
	}
	for i := range others {
		if n := len(b.of(object(fmt.Sprint(i)))); n < fewest {
			t.Fatalf("%d syncs of %d are left", n, i)
		}
	}
}

// TestLookBackForgets: what is gone goes with its last sync, and of large syncs fewer are kept.
func TestLookBackForgets(t *testing.T) {
	b := newLookBack()
	for i := range 9 {
		b.remember(&Trace{Object: object("gone"), Owner: "shop", Gone: i == 8})
		b.remember(&Trace{Object: object("large"), Snapshot: SnapshotText(make([]byte, largeSync))})
	}
	for range maxRecent {
		b.remember(&Trace{Object: object("web")})
	}
	if n := len(b.of(object("gone"))); n != 0 || len(b.past) != 2 || len(b.owned) != 0 {
		t.Errorf("%d syncs are left of what is gone, %d objects, %d owners", n, len(b.past), len(b.owned))
	}
	if n := len(b.of(object("large"))); n != fewestLarge {
		t.Errorf("%d large syncs are left", n)
	}
	for range 9 {
		b.remember(&Trace{Object: object("huge"), Snapshot: SnapshotText(make([]byte, maxRecentBytes/4))})
	}
	if n := len(b.of(object("huge"))); n != 3 || b.bytes > maxRecentBytes {
		t.Errorf("%d huge syncs are remembered, of %d bytes", n, b.bytes)
	}
}

// TestLookBackKnowsSiblings: those of one owner by their names, as long as a sync of them is kept that says so.
func TestLookBackKnowsSiblings(t *testing.T) {
	b := newLookBack()
	for _, name := range []string{"c", "a", "b", "a"} {
		b.remember(&Trace{Object: object(name), Owner: "shop"})
	}
	siblings := func() (names []string) {
		for _, o := range b.kin(&Trace{Object: object("b"), Owner: "shop"}) {
			names = append(names, o.Name)
		}
		return names
	}
	if got := siblings(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("%q", got)
	}
	b.disown(b.of(object("a"))[0])
	if got := siblings(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("after one of two syncs: %q", got)
	}
	b.disown(b.of(object("a"))[1])
	if got := siblings(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("after both: %q", got)
	}
}

// TestLookBackAfterTheEnd: an object that was gone and has come again is kept as any other.
func TestLookBackAfterTheEnd(t *testing.T) {
	b := newLookBack()
	for i := range fewest + 1 {
		b.remember(&Trace{Seq: uint64(i), Object: object("again"), Gone: i == 0})
	}
	for range maxRecent {
		b.remember(&Trace{Object: object("web")})
	}
	if list := b.of(object("again")); len(list) != fewest || list[0].Seq != 1 {
		t.Errorf("%d syncs are left", len(list))
	}
	if b.remember(&Trace{Object: object("huge"), Snapshot: SnapshotText(make([]byte, maxRecentBytes))}); len(b.order) != 1 {
		t.Errorf("%d syncs are remembered beside one that is too large alone", len(b.order))
	}
}

// TestShadowHasABudget: a write that agrees with no sync is looked at while there is time, and counted
// as left out while there is none.
func TestShadowHasABudget(t *testing.T) {
	w := newWatching(t)
	clock := w.now
	w.shadow.budget = newBudget(func() time.Time { return clock })
	wrong := func(i int) {
		rv := 2 * i
		w.on(set(fmt.Sprint(rv), 3, 5))
		w.on(set(fmt.Sprint(rv+1), 4, 5), wrote("web-2", fmt.Sprint(rv), fmt.Sprint(rv+1), 3, 4, ControllerManager))
	}
	w.shadow.budget.spend(func() { clock = clock.Add(saved + time.Second) })
	wrong(1)
	if st := w.settled(); st.LeftOut != 1 || st.Count(ShadowUnexplained) != 0 {
		t.Errorf("without time: %d left out, %d unexplained", st.LeftOut, st.Count(ShadowUnexplained))
	}
	clock = clock.Add(share * time.Second)
	wrong(2)
	if st := w.settled(); st.LeftOut != 1 || st.Count(ShadowUnexplained) != 1 {
		t.Errorf("with time again: %d left out, %d unexplained", st.LeftOut, st.Count(ShadowUnexplained))
	}
	w.shadow.budget.spend(func() { clock = clock.Add(saved + time.Second) })
	wrong(3)
	clock = clock.Add(share * saved)
	if st := w.settled(); st.LeftOut != 1 || st.Count(ShadowUnexplained) != 2 {
		t.Errorf("with time for another look: %d left out, %d unexplained", st.LeftOut, st.Count(ShadowUnexplained))
	}
}

// TestLookBackHoldsItsEvents: the events of a sync keep it no longer than it is looked back on.
func TestLookBackHoldsItsEvents(t *testing.T) {
	w := newWatching(t)
	w.shadow.Follows(true, "")
	kept := func() (n int) {
		for x := range w.shadow.last.events {
			if n++; !slices.Contains(w.shadow.last.past[x.Object], x) {
				t.Fatalf("sync %d was given up, and its events are kept", x.Seq)
			}
		}
		return n
	}
	w.shadow.begin()
	first := &Trace{Object: object("large"), Snapshot: SnapshotText(make([]byte, maxRecentBytes/4))}
	for x := first; x.Seq < 9; {
		w.shadow.last.remember(x)
		w.shadow.eventsOn(x)
		kept()
		x = &Trace{Seq: x.Seq + 1, Object: first.Object, Snapshot: first.Snapshot}
	}
	if w.shadow.eventsOn(first); kept() != 3 {
		t.Errorf("of %d large syncs the events are kept, want 3", kept())
	}
	if w.shadow.Add(nil, 7); kept() != 0 {
		t.Errorf("of %d syncs the events are kept after a gap", kept())
	}
}
