package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestStoryAcrossARestart: between two runs of the program nobody knows what happened, nor that the object
// waited.
func TestStoryAcrossARestart(t *testing.T) {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	writes(s.sync(web, decision.ToneWaiting, "starting"), decision.UpdateReplicaSet, "web-1", "11")
	s.at = s.at.Add(6 * time.Second)
	set := publishes(s.sync(webSet, decision.ToneOK, "settled", event(telemetry.CauseStart, "ReplicaSet web-1", "12")), "13")
	head := s.sync(web, decision.ToneOK, "settled", event(telemetry.CauseStart, "Deployment web", "14"))
	set.Epoch, head.Epoch = "f", "f"
	for name, c := range map[string]struct {
		standby bool
		want    string
	}{
		"started anew": {false, `02.0 Deployment web: wrote ReplicaSet web-1 (rv 11)
02.0 The manager was restarted between 12:00:02 and 12:00:09. What happened while it was not running is not recorded
09.0 ReplicaSet web-1: published its status (rv 13)
10.0 Deployment web: nothing to write [settled]
`},
		"standing by": {true, `02.0 Deployment web: wrote ReplicaSet web-1 (rv 11)
09.0 ReplicaSet web-1: published its status (rv 13)
10.0 Deployment web: nothing to write [after 8s of starting] [settled]
`},
	} {
		set.Standby, head.Standby = c.standby, c.standby
		story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(head)
		if !ok {
			t.Fatalf("%s: there is no story", name)
		}
		if b := story.Beats[1]; !c.standby && !b.At.Equal(s.traces[1].Ended) {
			t.Errorf("the restart is told at %s, want the end of the sync before", b.At)
		}
		if diff := cmp.Diff(c.want, told(story)); diff != "" || (story.Counts.Restarts == 1) == c.standby {
			t.Errorf("%s: %d restarts (-want +got):\n%s", name, story.Counts.Restarts, diff)
		}
	}
}

// TestStoryAcrossARestartOfTheLeader: a manager that was killed leads again once its Lease has run out, and the syncs
// of the time before are not kept. One that stood by meanwhile was not restarted.
func TestStoryAcrossARestartOfTheLeader(t *testing.T) {
	for code, want := range map[string]string{
		telemetry.CodeFirstLeader: `02.0 Deployment web: wrote ReplicaSet web-1 (rv 11)
02.0 The manager was restarted between 12:00:02 and 12:00:20. What happened while it was not running is not recorded
19.9 This process became the leader
20.0 Deployment web: nothing to write [settled]
`,
		"": `02.0 Deployment web: wrote ReplicaSet web-1 (rv 11)
19.9 This process became the leader
20.0 Deployment web: nothing to write [after 18s of starting] [settled]
`,
	} {
		s := &saga{at: sagaBegan}
		s.sync(web, decision.ToneOK, "settled")
		writes(s.sync(web, decision.ToneWaiting, "starting"), decision.UpdateReplicaSet, "web-1", "11")
		s.at = s.at.Add(17 * time.Second)
		head := s.sync(web, decision.ToneOK, "settled", telemetry.Cause{Kind: telemetry.CauseLead, Code: code})
		head.Epoch = "f"
		story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(head)
		if !ok {
			t.Fatalf("%q: there is no story", code)
		}
		if diff := cmp.Diff(want, told(story)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", code, diff)
		}
	}
}

// TestStoryThatARestartBegins: what unsettled the object happened while the program did not run.
func TestStoryThatARestartBegins(t *testing.T) {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	s.at = s.at.Add(time.Hour)
	first := s.sync(web, decision.ToneMoving, "starting", event(telemetry.CauseStart, "Deployment web", "14"))
	first.Epoch = "f"
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(first)
	if !ok || !strings.HasPrefix(told(story), "01.9 The manager was restarted between 12:00:01 and 13:00:02.") {
		t.Errorf("%t:\n%s", ok, told(story))
	}
}
