package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// handedOver is a rollout in the middle of which this process became the leader.
func handedOver() *saga {
	s := &saga{at: sagaBegan}
	s.sync(web, decision.ToneOK, "settled")
	image := event(telemetry.CauseModified, "Deployment web", "10", decision.Change{Field: "spec.template.containers[app].image", From: "a", To: "b"})
	s.sync(web, decision.ToneMoving, "new", image)
	s.at = sagaBegan.Add(20 * time.Second)
	lead := telemetry.Cause{Kind: telemetry.CauseLead, At: sagaBegan.Add(19 * time.Second)}
	writes(s.sync(web, decision.ToneMoving, "new", lead), decision.UpdateReplicaSet, "web-1", "11", decision.Change{Field: "spec.replicas", From: "0", To: "2"})
	s.sync(webSet, decision.ToneMoving, "creating", lead)
	publishes(s.sync(web, decision.ToneOK, "settled", event(telemetry.CauseModified, "ReplicaSet web-1", "14")), "15")
	return s
}

// TestStoryOfAChangeOfLeader: a story says who led when, also where only its syncs tell of it.
func TestStoryOfAChangeOfLeader(t *testing.T) {
	at := func(d time.Duration) time.Time { return sagaBegan.Add(d) }
	us := "pod-7_1"
	for _, c := range []struct {
		name    string
		changes []telemetry.LeaderChange
		want    []string
	}{
		{"not known of", nil, []string{"19.0 This process became the leader"}},
		{"killed", []telemetry.LeaderChange{{At: at(18 * time.Second), From: "pod-1_1", To: us, Last: at(2 * time.Second)}},
			[]string{"18.0 This process became the leader after pod-1_1, which last renewed the Lease 16s earlier"}},
		{"given back", []telemetry.LeaderChange{{At: at(17 * time.Second), From: "pod-1_1"}, {At: at(18 * time.Second), To: us, Last: at(17 * time.Second)}},
			[]string{"17.0 pod-1_1 gave the Lease back: nobody leads", "18.0 This process became the leader; nobody led for 1s"}},
		{"before and after", []telemetry.LeaderChange{{At: at(-time.Minute), To: us}, {At: at(10 * time.Second), From: us, To: "pod-2_1"}, {At: at(18 * time.Second), From: "pod-2_1", To: us}, {At: at(time.Hour), From: us, To: "pod-2_1"}},
			[]string{"10.0 pod-2_1 became the leader after pod-7_1", "18.0 This process became the leader after pod-2_1"}},
		{"of another time", []telemetry.LeaderChange{{At: at(-time.Minute), To: us}, {At: at(time.Hour), From: us}}, []string{"19.0 This process became the leader"}},
	} {
		s := handedOver()
		story, ok := telemetry.NewExcerpt(telemetry.TestLoops, s.traces).WithLeadership(telemetry.Leadership{Identity: us, Changes: c.changes}).Story(s.traces[1])
		if !ok {
			t.Fatalf("%s: there is no story", c.name)
		}
		var got []string
		for i := range story.Beats {
			if b := &story.Beats[i]; b.Kind == telemetry.BeatLeader {
				got = append(got, b.At.Format("05.0 ")+b.Tell().At(b.At))
			}
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") || story.Counts.Leaders != len(c.want) {
			t.Errorf("%s: it tells %q, and counts %d\n%s", c.name, got, story.Counts.Leaders, told(story))
		}
	}
}

func TestGap(t *testing.T) {
	for _, c := range []struct {
		change telemetry.LeaderChange
		want   time.Duration
	}{
		{telemetry.LeaderChange{At: sagaBegan, To: "a"}, 0},
		{telemetry.LeaderChange{At: sagaBegan, To: "a", Last: sagaBegan.Add(-time.Second)}, time.Second},
		{telemetry.LeaderChange{At: sagaBegan, To: "a", Last: sagaBegan.Add(time.Second)}, 0}, // Their clocks differ.
		{telemetry.LeaderChange{At: sagaBegan, Last: sagaBegan.Add(-time.Second)}, 0},
	} {
		if got := c.change.Gap(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.change, got, c.want)
		}
	}
}
