package telemetry

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// on is a sync that decides on these ReplicaSets by itself.
func (w *watching) on(s sized, causes ...Cause) {
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
	x.Rounds = sync.Rounds
	w.shadow.Add([]*Trace{x}, 0)
}

func set(rv string, size, want int64) sized {
	return sized{ReplicaSets: []sizedSet{{Name: "web-2", RV: rv, Size: size, Want: want}}}
}

// TestShadowOfEarlierWrites: what the other controller wrote before a sync here had decided is
// held against what that sync would have decided before the write.
func TestShadowOfEarlierWrites(t *testing.T) {
	changed := Cause{Kind: CauseModified, Object: "Deployment web", OldRV: "1", NewRV: "2"}
	for name, c := range map[string]struct {
		want    int64
		verdict ShadowVerdict // "" where it cannot be compared
	}{
		"as it would have decided": {5, ShadowAgrees}, "otherwise": {6, ""},
	} {
		w := newWatching(t)
		w.on(set("10", 3, 3))
		w.on(set("11", 5, c.want), changed, wrote("web-2", "10", "11", 3, 5, ControllerManager))
		st := w.shadow.State(w.now.Add(ShadowSettles + 1))
		if c.verdict == "" {
			if st.Together != 1 || st.Count(ShadowUnexplained) != 0 || st.Count(ShadowAgrees) != 0 {
				t.Errorf("%s: %+v", name, st)
			}
		} else if st.Count(c.verdict) != 1 || st.Together != 0 || st.Questions[0].Question != "RR-2" {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestShadowNamesDepartures: where these rules depart from upstream's on purpose, a difference
// is no defect, and the register's entry is named.
func TestShadowNamesDepartures(t *testing.T) {
	w := newWatching(t)
	departing := set("10", 3, 5)
	departing.Departs = 3
	w.on(departing)
	w.on(set("11", 4, 5), wrote("web-2", "10", "11", 3, 4, ControllerManager))
	st := w.shadow.State(w.now.Add(ShadowSettles + 1))
	if st.Count(ShadowDeparture) != 1 || st.Count(ShadowUnexplained) != 0 || st.Differences[0].Departure != 3 {
		t.Errorf("%+v", st)
	}
}

// TestShadowKnowsOtherWriters: a size that nobody has signed was set through the scale
// subresource, and not by a controller that signs its own.
func TestShadowKnowsOtherWriters(t *testing.T) {
	w := newWatching(t)
	w.on(set("10", 3, 5))
	w.on(set("11", 5, 5), wrote("web-2", "10", "11", 3, 5, ControllerManager)) // It is known by its name from here on.
	w.on(set("12", 7, 5), wrote("web-2", "11", "12", 5, 7, ""))
	st := w.shadow.State(w.now.Add(ShadowSettles + 1))
	if st.Count(ShadowAgrees) != 1 || st.Count(ShadowOther) != 1 || st.Count(ShadowUnexplained) != 0 {
		t.Errorf("%+v", st)
	}
}
