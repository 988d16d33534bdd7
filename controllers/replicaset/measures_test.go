package replicaset

import (
	"fmt"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// measured is what a sync on a snapshot adds to a metric.
func measured(m decision.Measure, s *Snapshot, act decision.Act) string {
	x := decision.Sync{Core: s.Begin()}
	x.Run(act)
	return fmt.Sprint(m.Of(x.Rounds, func() decision.Snapshot { return s }))
}

// TestAgeRatio: [P-5] each ready pod that goes is compared with the youngest ready one; where all go, nobody chose.
func TestAgeRatio(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	pod := func(name string, age time.Duration, ready bool) Pod {
		return Pod{Name: name, UID: name, Mine: true, Matches: true, Phase: "Running", Created: now.Add(-age), Ready: ready, ReadySince: now.Add(-age), Node: "n"}
	}
	snapshot := func(want int64) *Snapshot {
		return &Snapshot{Now: now, Kind: "ReplicaSet", Found: true, Name: "web", Want: want, Burst: 500,
			Pods: []Pod{pod("a", 10*time.Minute, true), pod("b", 4*time.Minute, true), pod("c", 95*time.Minute, true), pod("d", time.Minute, false)}}
	}
	for name, c := range map[string]struct {
		want   int64
		act    decision.Act
		ratios string
	}{
		"two go, one of them ready": {2, decision.Everything, "[{[] 1}]"},
		"three go":                  {1, decision.Everything, "[{[] 1} {[] 2}]"},
		"they are refused":          {1, decision.RefuseAll, "[{[] 1} {[] 2}]"},
		"all go":                    {0, decision.Everything, "[]"},
		"nobody deletes":            {1, decision.Nobody, "[]"},
		"none go":                   {4, decision.Everything, "[]"},
	} {
		if got := measured(ageRatio, snapshot(c.want), c.act); got != c.ratios {
			t.Errorf("%s: %s, want %s", name, got, c.ratios)
		}
	}
	young := snapshot(1)
	young.Pods[1].Created = now
	if got := measured(ageRatio, young, decision.Everything); got != "[{[] 0} {[] 600000}]" {
		t.Errorf("one was created just now: %s", got)
	}
}

// TestStaleSkips: [RS-1] a sync that waits for its own write counts, by what the cache lacks.
func TestStaleSkips(t *testing.T) {
	for object, want := range map[string]string{"": "[]", "Pod web-1": "[{[ pods] 1}]", "ReplicaSet web": "[{[apps replicasets] 1}]"} {
		s := &Snapshot{Now: time.Now(), Kind: "ReplicaSet", Found: true, Name: "web"}
		if object != "" {
			s.Echo = []Echo{{Object: object, Written: "2", Cached: "1"}}
		}
		if got := measured(staleSkips, s, decision.Nobody); got != want {
			t.Errorf("%q: %s, want %s", object, got, want)
		}
	}
}
