package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// replaced is a rollout that never ends, as its Deployment is deleted and created again by the sync that follows for
// these causes, and the rollout of the next one.
func replaced(causes ...telemetry.Cause) *saga {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	s.sync(web, decision.ToneMoving, "new", event(telemetry.CauseModified, "Deployment web", "8"))
	s.sync(webSet, decision.ToneMoving, "creating")
	s.at = sagaBegan.Add(time.Hour)
	s.sync(web, decision.ToneMoving, "new", causes...).UID = "uid-2"
	s.sync(web, decision.ToneOK, "settled").UID = "uid-2"
	return s
}

func own(kind telemetry.CauseKind, ago time.Duration) telemetry.Cause {
	return telemetry.Cause{Kind: kind, Object: "Deployment web", At: sagaBegan.Add(time.Hour + time.Second - ago)}
}

// TestStoryEndsWithTheNextObject of its name where no sync found the first one gone: what happens later is none of it.
func TestStoryEndsWithTheNextObject(t *testing.T) {
	next := sagaBegan.Add(time.Hour + time.Second)
	for name, c := range map[string]struct {
		causes []telemetry.Cause
		gone   time.Time
	}{
		"in one sync":        {[]telemetry.Cause{own(telemetry.CauseDeleted, time.Minute), own(telemetry.CauseAdded, time.Second)}, next.Add(-time.Minute)},
		"twice in one":       {[]telemetry.Cause{own(telemetry.CauseTombstone, time.Minute), own(telemetry.CauseAdded, time.Second), own(telemetry.CauseDeleted, time.Second), own(telemetry.CauseAdded, 0)}, next.Add(-time.Minute)},
		"unseen":             {[]telemetry.Cause{own(telemetry.CauseStart, 0)}, next},
		"of another object":  {[]telemetry.Cause{{Kind: telemetry.CauseDeleted, Object: "ReplicaSet web-1", At: next.Add(-time.Minute)}, own(telemetry.CauseAdded, 0)}, next},
		"in the sync before": {[]telemetry.Cause{own(telemetry.CauseDeleted, 2*time.Hour), own(telemetry.CauseAdded, time.Second)}, sagaBegan.Add(2*time.Second + 10*time.Millisecond)},
	} {
		s := replaced(c.causes...)
		e := telemetry.NewExcerpt(telemetry.TestLoops, s.traces)
		e.WithOutages([]telemetry.Outage{{Began: next.Add(time.Hour), Ended: next.Add(2 * time.Hour)}})
		e.WithLeadership(telemetry.Leadership{Changes: []telemetry.LeaderChange{{At: next.Add(time.Hour), To: "pod-2_1"}}})
		story, ok := e.Story(s.traces[1])
		if !ok || !story.Gone.Equal(c.gone) || !story.End().Equal(c.gone) || !story.Replaced || !story.Settled.IsZero() {
			t.Fatalf("%s: %t, %+v, want an end at %s", name, ok, story, c.gone)
		}
		if n := story.Counts; n.Syncs != 1 || n.Outages+n.Leaders != 0 {
			t.Errorf("%s: counts %+v", name, n)
		}
		second, ok := e.Story(s.traces[3])
		if !ok || second.Settled.IsZero() || second.Replaced || !second.Gone.IsZero() {
			t.Errorf("%s: the next one is %t, %+v", name, ok, second)
		}
	}
}

// TestStoryBeginsAfterTheObjectBefore: its deletion, and what was seen of it until the next one was created, is none of that one.
func TestStoryBeginsAfterTheObjectBefore(t *testing.T) {
	created := sagaBegan.Add(time.Hour)
	set := telemetry.Cause{Kind: telemetry.CauseDeleted, Object: "ReplicaSet web-1", At: created.Add(-2 * time.Second)}
	s := replaced(own(telemetry.CauseModified, 2*time.Minute), own(telemetry.CauseDeleted, time.Minute), set, own(telemetry.CauseAdded, time.Second))
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[3])
	if text := told(story); !ok || story.Open || !story.Began.Equal(created) || story.Counts.Changes != 1 || strings.Contains(text, "deleted") {
		t.Errorf("it began at %s, want %s:\n%s", story.Began, created, text)
	}
	s.sync(web, decision.ToneNeutral, "gone", own(telemetry.CauseAdded, time.Minute), own(telemetry.CauseDeleted, -time.Hour)).Gone = true
	last := s.traces[len(s.traces)-1]
	if story, _ := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(last); !strings.Contains(told(story), "was deleted") || story.Replaced {
		t.Errorf("the end of one is not told:\n%s", told(story))
	}
}
