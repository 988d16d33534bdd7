package telemetry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// scales is what a sync of a process that watches would have written.
func scales(t *telemetry.Trace, to string) *telemetry.Trace {
	t.Rounds[0].Verdict.Actions = []decision.Action{{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"},
		Changes: []decision.Change{{Field: "spec.replicas", From: "0", To: to}}}}
	return t
}

// TestStoryOfPlans: what nobody writes is news when it is first decided, and when something else is.
func TestStoryOfPlans(t *testing.T) {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	scales(s.sync(web, decision.ToneMoving, "new"), "1")
	scales(s.sync(web, decision.ToneMoving, "new"), "1")
	scales(s.sync(web, decision.ToneMoving, "new"), "2")
	s.sync(web, decision.ToneMoving, "new")
	s.sync(web, decision.ToneOK, "settled")
	scales(s.sync(webSet, decision.ToneOK, "settled"), "3")
	s.sync(webSet, decision.ToneOK, "settled")
	story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).Story(s.traces[1])
	if !ok {
		t.Fatal("there is no story")
	}
	const one, two, three = "Deployment web: would have written ReplicaSet web-1: spec.replicas 0 → 1", "Deployment web: would have written ReplicaSet web-1: spec.replicas 0 → 2",
		"ReplicaSet web-1: would have written ReplicaSet web-1: spec.replicas 0 → 3"
	const nothing = "Deployment web: nothing to write"
	for all, want := range map[bool][]string{true: {one, one, two, nothing, nothing, three}, false: {one, two, nothing, three}} {
		var got []string
		for _, b := range story.Told(all) {
			got = append(got, b.Tell().At(time.Time{}))
		}
		if !slices.Equal(got, want) {
			t.Errorf("all %v: %q, want %q", all, got, want)
		}
	}
}
