package telemetry_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestWaitsOfQuietSyncs: a wait is told as a whole, also where syncs that are no news came in between.
func TestWaitsOfQuietSyncs(t *testing.T) {
	s := &saga{at: sagaBegan}
	wait := func(o telemetry.Object, tone decision.Tone, code string, seconds time.Duration) {
		s.sync(o, tone, code)
		s.at = s.at.Add((seconds - 1) * time.Second)
	}
	s.sync(web, decision.ToneOK, "settled")
	writes(s.sync(web, decision.ToneWaiting, "starting"), decision.UpdateReplicaSet, "web-1", "11")
	wait(web, decision.ToneWaiting, "image-pull", 18)
	wait(webSet, decision.ToneMoving, "creating", 2)
	wait(web, decision.ToneFailed, "image-pull", 8)
	publishes(s.sync(web, decision.ToneOK, "settled"), "12")
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[1])
	if !ok {
		t.Fatal("there is no story")
	}
	beats := story.Told(false)
	if len(beats) != 2 || len(story.Told(true)) != 5 {
		t.Fatalf("%d and %d beats:\n%s", len(beats), len(story.Told(true)), told(story))
	}
	w := beats[1].Waited
	if w == nil || w.For.Round(time.Second) != 29*time.Second || len(w.Codes) != 2 || w.Text != s.traces[4].Sentence.At(s.traces[4].Ended) {
		t.Errorf("it waited %+v", w)
	}
	if all := story.Told(true)[4].Waited; all.For.Round(time.Second) != 8*time.Second {
		t.Errorf("with all syncs it waited %s before the last one", all.For)
	}
}

// TestToldLeavesOutQuietSyncsAlone: a change that a sync of another object made is told, and so is the wait before a
// quiet sync after which nothing was waited for.
func TestToldLeavesOutQuietSyncsAlone(t *testing.T) {
	of := func(seconds time.Duration) *telemetry.Waited {
		return &telemetry.Waited{For: seconds * time.Second, Codes: []string{"starting"}}
	}
	hit := &telemetry.Hit{Object: web}
	s := telemetry.Story{Beats: []telemetry.Beat{
		{Kind: telemetry.BeatSync, Sync: hit, Waited: of(3), Quiet: true},
		{Kind: telemetry.BeatChange, Sync: hit},
		{Kind: telemetry.BeatSync, Sync: hit, Quiet: true},
		{Kind: telemetry.BeatSync, Sync: hit},
		{Kind: telemetry.BeatSync, Sync: hit, Waited: of(2)},
		{Kind: telemetry.BeatSync},
	}}
	beats := s.Told(false)
	if len(beats) != 4 || beats[0].Waited != nil || beats[1].Waited == nil || beats[1].Waited.For != 3*time.Second || beats[2].Waited.For != 2*time.Second {
		t.Errorf("%+v", beats)
	}
}
