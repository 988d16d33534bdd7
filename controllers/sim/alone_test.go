package sim_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/sim"
)

// lone is a ReplicationController that nobody owns.
func lone(want int64, pods ...replicaset.Pod) *replicaset.Snapshot {
	return &replicaset.Snapshot{Version: replicaset.SnapshotVersion, Now: time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC), Kind: "ReplicationController",
		Found: true, Namespace: "shop", Name: "web", UID: "w", Generation: 1, Selector: "app=web", Want: want, Burst: 500, Pods: pods}
}

func alonePod(name string, ready bool) replicaset.Pod {
	p := replicaset.Pod{Name: name, UID: name, Mine: true, Matches: true, FullLabels: true, Phase: "Pending"}
	if ready {
		p.Ready, p.Phase, p.ReadySince, p.Node = true, "Running", time.Date(2026, 11, 25, 2, 0, 0, 0, time.UTC), "n"
	}
	return p
}

// A ReplicaSet or ReplicationController without a Deployment comes to its size by its own loop alone.
func TestAlone(t *testing.T) {
	orphan := alonePod("o", true)
	orphan.Mine = false
	foreign, done := alonePod("f", true), alonePod("d", false)
	foreign.Matches, done.Phase = false, "Succeeded"
	failing := alonePod("x", false)
	failing.Reason, failing.Node = "ImagePullBackOff", "n"
	for _, c := range []struct {
		name  string
		s     *replicaset.Snapshot
		quota int
		end   sim.End
		pods  int64
		ready int64
	}{
		{"from nothing", lone(3), 0, sim.Complete, 3, 3},
		{"to nothing", lone(0, alonePod("a", true), alonePod("b", false)), 0, sim.Complete, 0, 0},
		{"more than a burst", lone(1200), 0, sim.Complete, 1200, 1200},
		{"beside what is there", lone(4, alonePod("a", true), orphan, foreign, done), 0, sim.Complete, 4, 4},
		{"fewer", lone(1, alonePod("a", true), alonePod("b", true)), 0, sim.Complete, 1, 1},
		{"one on its way", lone(1, alonePod("a", false)), 0, sim.Complete, 1, 1},
		{"one that cannot", lone(2, failing), 0, sim.Waiting, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, err := sim.FromReplicaSet(c.s)
			if err != nil {
				t.Fatal(err)
			}
			cluster.Rules.Quota = c.quota
			r := cluster.Run(sim.Bound{})
			now := cluster.Size()
			if r.End != c.end || now.Pods != c.pods || now.Ready != c.ready {
				t.Errorf("ends %s with %+v: %s", r.End, now, r.Sentence.At(r.At))
			}
			for i := range r.Steps {
				if r.Steps[i].Loop != replicaset.Catalogue.Loop {
					t.Fatalf("the loop %s syncs", r.Steps[i].Loop)
				}
			}
		})
	}
}

// A quota ends it early, and what is not there or too large has no model.
func TestAloneWithinBounds(t *testing.T) {
	cluster, err := sim.FromReplicaSet(lone(5))
	if err != nil {
		t.Fatal(err)
	}
	cluster.Rules.Quota = 2
	if r := cluster.Run(sim.Bound{}); r.End == sim.Complete || cluster.Size().Pods != 2 {
		t.Errorf("ends %s with %+v", r.End, cluster.Size())
	}
	gone := lone(1)
	gone.Found = false
	if _, err := sim.FromReplicaSet(gone); err == nil {
		t.Error("nothing is modelled")
	}
	if _, err := sim.FromReplicaSet(lone(1, make([]replicaset.Pod, sim.MaxPods)...)); err != nil {
		t.Errorf("pods that do not match count: %v", err)
	}
}
