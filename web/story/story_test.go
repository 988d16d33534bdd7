package story

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// TestLastChange: what a rollout was settled with is its last template, and not the first of several.
func TestLastChange(t *testing.T) {
	beat := func(kind telemetry.BeatKind, object, manager string) telemetry.Beat {
		return telemetry.Beat{Kind: kind, Object: object, Cause: &telemetry.Cause{Manager: manager}}
	}
	set, first, undo := beat(telemetry.BeatChange, "ReplicaSet web-1", "kubectl"), beat(telemetry.BeatChange, "Deployment web", "alice"), beat(telemetry.BeatChange, "Deployment web", "bob")
	pod := beat(telemetry.BeatPod, "Pod web-1-a", "kubelet")
	for _, c := range []struct {
		beats []telemetry.Beat
		last  string
		n     int
	}{
		{[]telemetry.Beat{pod}, "", 0},
		{[]telemetry.Beat{pod, set}, "kubectl", 1},
		{[]telemetry.Beat{first, set, pod}, "alice", 1},
		{[]telemetry.Beat{set, first, undo, pod}, "bob", 2},
	} {
		last, n := lastChange(&telemetry.Story{Beats: c.beats}, "Deployment web")
		if n != c.n || (last == nil) != (c.last == "") || last != nil && last.Cause.Manager != c.last {
			t.Errorf("%d changes, the last is %+v, want %d by %q", n, last, c.n, c.last)
		}
	}
}
