package effects

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What a sync did is news in the snapshot of the next, of the same object alone.
func TestNewsIsInTheNextSnapshot(t *testing.T) {
	caches := newReplicaSetCaches(t)
	caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
	adopted := lab.Synced(telemetry.ResultWrote, nil, decision.Action{Kind: decision.Adopt, Target: decision.Ref{Name: "a"}})
	look := func() *decision.RecentChange {
		seen := turnOf(t, caches)
		seen.Remember(adopted)
		return seen.s.Recent
	}
	if n := look(); n != nil {
		t.Errorf("at first: %+v", n)
	}
	if n := look(); n == nil || n.Object != "a" {
		t.Errorf("then: %+v", n)
	}
	caches.Add(t, lab.ReplicationController("web", "r", "9", 2))
	if n := turnOf(t, caches).s.Recent; n != nil {
		t.Errorf("of another size: %+v", n)
	}
	caches.Add(t, lab.ReplicationController("web", "r-2", "9", 3))
	if n := look(); n != nil {
		t.Errorf("of another of that name: %+v", n)
	}
}
