package deployment

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestPausedScales: a pause holds no size that scaling writes all the same.
func TestPausedScales(t *testing.T) {
	set := func(name string, size, desired int64) ReplicaSet {
		revision := map[string]string{"old": "1", "new": "2"}[name]
		return ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, SameTemplate: name == "new", Revision: revision, Replicas: size, StatusReplicas: size, Available: size, NonTerminal: size, Desired: digits(desired), Max: digits(desired)}
	}
	unstamped := func(rs ReplicaSet) ReplicaSet {
		rs.MinReady = 7
		return rs
	}
	for name, c := range map[string]struct {
		want, surge   int64
		sets          []ReplicaSet
		writes, holds string
	}{
		"the only one":             {5, 1, []ReplicaSet{set("new", 3, 3)}, "new 3->5 ", ""},
		"the only one, next":       {5, 1, []ReplicaSet{unstamped(set("new", 3, 5))}, "", ""},
		"the last old pods go":     {5, 1, []ReplicaSet{set("old", 1, 5), set("new", 5, 5)}, "old 1->0 ", ""},
		"the last old one":         {0, 1, []ReplicaSet{set("old", 1, 1), set("new", 0, 1)}, "old 1->0 ", ""},
		"all new ones":             {12, 1, []ReplicaSet{set("old", 1, 10), set("new", 10, 10)}, "new 10->12 ", ""},
		"all new ones, next":       {12, 1, []ReplicaSet{set("old", 1, 10), unstamped(set("new", 10, 10))}, "", ""},
		"the last old pods, next":  {5, 1, []ReplicaSet{set("old", 1, 5), unstamped(set("new", 5, 5))}, "", ""},
		"new ones beyond":          {2, 1, []ReplicaSet{set("old", 1, 10), set("new", 9, 10)}, "new 9->3 old 1->0 ", ""},
		"some of the new ones":     {20, 0, []ReplicaSet{set("old", 5, 10), set("new", 5, 10)}, "old 5->10 new 5->10 ", "new 10->20 "},
		"some of them, next":       {20, 0, []ReplicaSet{set("old", 5, 10), unstamped(set("new", 5, 10))}, "", "new 10->20 "},
		"more than there shall be": {10, 2, []ReplicaSet{set("old", 1, 12), set("new", 12, 12)}, "new 12->11 ", "new 11->10 "},
		"old ones":                 {8, 0, []ReplicaSet{set("old", 6, 6)}, "old 6->8 ", "next 0->8 "},
	} {
		v := Decide(&Snapshot{Now: at, Found: true, Paused: true, Want: c.want, Strategy: rollingUpdate, MaxSurge: &IntOrPercent{Int: c.surge}, MaxUnavailable: &IntOrPercent{Int: 1}, NextName: "next", ReplicaSets: c.sets})
		writes, holds := "", ""
		for _, a := range v.Actions {
			if a.Size != nil {
				writes += a.Target.Name + " " + digits(a.Size.From) + "->" + digits(a.Size.To) + " "
			}
		}
		for _, h := range v.Held {
			holds += h.Target.Name + " " + digits(h.Size.From) + "->" + digits(h.Size.To) + " "
		}
		i := slices.IndexFunc(v.Path, func(s decision.Step) bool { return s.Question == qPaused })
		if writes != c.writes || holds != c.holds || v.Path[i].Holds != (holds != "") {
			t.Errorf("%s: writes %q, want %q, and holds %q, want %q, at a question that holds: %v", name, writes, c.writes, holds, c.holds, v.Path[i].Holds)
		}
	}
}

// TestBlockersSince: a held write tells the same time of a pod that blocks it as the finding does, and none where
// nobody knows it.
func TestBlockersSince(t *testing.T) {
	const created, ready, unready, crashed = time.Hour, 20 * time.Minute, 5 * time.Minute, 10 * time.Second
	crash := func(since time.Duration, restarts int64) Pod {
		return Pod{Name: "new-1", Created: at.Add(-created), Phase: "Running", Reason: "CrashLoopBackOff", Since: at.Add(-since),
			ContainerState: decision.ContainerState{Container: "app", Exit: &decision.Exit{Code: 1, Restarts: restarts, At: at.Add(-crashed)}}}
	}
	for name, c := range map[string]struct {
		pod  Pod
		want time.Time
	}{
		"ready until its last crash of five": {crash(crashed, 5), time.Time{}},
		"never ready since":                  {crash(unready, 5), at.Add(-unready)},
		"its first crash":                    {crash(crashed, 1), at.Add(-crashed)},
		"it starts":                          {Pod{Name: "new-1", Created: at.Add(-created), Phase: "Pending", Reason: "ContainerCreating"}, at.Add(-created)},
		"ready":                              {Pod{Name: "new-1", Created: at.Add(-created), Ready: true, ReadySince: at.Add(-ready)}, at.Add(-ready)},
	} {
		old := ReplicaSet{Name: "old", UID: "old", Mine: true, Matches: true, Revision: "1", Replicas: 1, StatusReplicas: 1, Available: 1, NonTerminal: 1, Desired: "1", Max: "2"}
		fresh := ReplicaSet{Name: "new", UID: "new", Mine: true, Matches: true, SameTemplate: true, Revision: "2", Replicas: 1, StatusReplicas: 1, NonTerminal: 1, Desired: "1", Max: "2",
			Unavailable: 1, Blocking: []Pod{c.pod}}
		v := Decide(&Snapshot{Now: at, Found: true, Want: 1, Strategy: rollingUpdate, MaxSurge: &IntOrPercent{Int: 1}, MaxUnavailable: &IntOrPercent{}, ReplicaSets: []ReplicaSet{old, fresh}})
		if len(v.Held) != 1 || len(v.Held[0].Blockers) != 1 {
			t.Fatalf("%s: held %+v, want one with one blocker", name, v.Held)
		}
		if got := v.Held[0].Blockers[0].Since; !got.Equal(c.want) {
			t.Errorf("%s: since %s, want %s", name, got, c.want)
		}
	}
}
