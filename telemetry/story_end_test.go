package telemetry

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestLeftOverTimerOfWhatIsGone: the story of an object ends as it is found gone, whatever wakes a
// sync of it or happens to others afterwards.
func TestLeftOverTimerOfWhatIsGone(t *testing.T) {
	at := func(x *Trace, s float64) *Trace {
		x.Started, x.Ended = clock(s), clock(s+.5)
		return x
	}
	moving, first, timer := at(quiet("web"), 10), at(lost("web"), 15), at(lost("web"), 600)
	moving.Sentence.Tone, first.Sentence.Tone, timer.Sentence.Tone = decision.ToneMoving, decision.ToneNeutral, decision.ToneNeutral
	settled := at(quiet("web"), 0)
	settled.Report, settled.Sentence.Tone = &decision.Report{}, decision.ToneOK
	e := NewExcerpt(TestLoops, []*Trace{settled, moving, first, timer})
	e.WithOutages([]Outage{{Began: clock(300), Ended: clock(310)}})
	e.WithLeadership(Leadership{Changes: []LeaderChange{{At: clock(400), To: "pod-2_1"}}, Missed: []MissedSyncs{{From: clock(500)}}})
	for name, x := range map[string]*Trace{"before": moving, "its end": first, "the timer": timer} {
		s, ok := e.Story(x)
		if !ok || s.Open || !s.Began.Equal(moving.Started) || !s.Gone.Equal(first.Ended) || !s.End().Equal(s.Gone) || !s.Settled.IsZero() {
			t.Fatalf("%s: %t, %+v", name, ok, s)
		}
		if c := s.Counts; c.Syncs != 2 || c.Outages+c.Leaders+c.Missed != 0 {
			t.Errorf("%s: counts %+v", name, c)
		}
	}
	live, _ := NewExcerpt(TestLoops, []*Trace{settled, moving}).Story(moving)
	if !live.Gone.IsZero() || !live.End().IsZero() || !live.during(time.Now()) {
		t.Errorf("one that is under way ends: %+v", live)
	}
}

// TestStoryOfDifferences has all of them, whichever is asked for: nothing was deleted.
func TestStoryOfDifferences(t *testing.T) {
	loops := TestLoops.With(decision.Loops{Comparison(TestLoops)})
	shadow := NewShadow(TestLoops)
	var list []*Trace
	for i := range 3 {
		d := &Difference{Predictable: testPredicts[0], Object: object("web"), Target: "web-2", At: clock(float64(10 * i))}
		x := shadow.trace(d, &suspect{observed: observed{cause: &Cause{Kind: CauseModified, Object: "ReplicaSet web-2", At: d.At}}})
		x.Epoch, x.Seq = "e", uint64(i+1)
		list = append(list, x)
	}
	for i, x := range list {
		s, ok := NewExcerpt(loops, list).Story(x)
		if !ok || s.Counts.Syncs != 3 || !s.Gone.IsZero() || !s.End().IsZero() {
			t.Errorf("of difference %d: %t, %+v, gone %v", i+1, ok, s.Counts, s.Gone)
		}
	}
	a := &scripted{syncs: list}
	if _, read, err := Collect(t.Context(), loops, a, list[0].Object, clock(0)); err != nil || len(read) != 3 || a.walks[1] != 3 {
		t.Errorf("%d are read, in walks of %v: %v", len(read), a.walks, err)
	}
	if !lost("web").FoundGone() || !list[0].Gone || list[0].FoundGone() || quiet("web").FoundGone() {
		t.Error("a difference says that its object is gone, or one that is gone does not")
	}
}
