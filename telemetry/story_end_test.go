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
