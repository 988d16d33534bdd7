package effects

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// [C-2]: the switches are read at every use.
func TestSwitchesAreReadAtUse(t *testing.T) {
	on := true
	is := func() bool { return on }
	caches := newReplicaSetCachesWith(t, engine.Options{TerminatingReplicas: is, PodDeletionCost: is})
	caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
	for _, want := range []bool{true, false, true} {
		on = want
		if s := turnOf(t, caches).s; s.CountTerminating != want || s.DeletionCost != want {
			t.Errorf("switched to %v: terminating %v, cost %v", want, s.CountTerminating, s.DeletionCost)
		}
	}
}

// What a loop waits for is listed in order.
func TestWaitsAreSorted(t *testing.T) {
	caches := newReplicaSetCaches(t)
	for _, name := range []string{"c", "a", "b"} {
		caches.replicaSets.Expectations().Expect("shop/"+name, 1)
	}
	expectations := ""
	for _, e := range caches.replicaSets.Waits().Expectations {
		expectations += e.Key + ", "
	}
	if expectations != "shop/a, shop/b, shop/c, " {
		t.Error(expectations)
	}
}
