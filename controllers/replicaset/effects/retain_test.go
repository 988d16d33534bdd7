package effects

import (
	"runtime"
	"testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// What is recorded of a sync keeps none of the rest alive: neither the turn nor
// the objects of the caches that it looked at, of which thousands would gather.
func TestTheRecordKeepsNoTurnAlive(t *testing.T) {
	caches := newReplicaSetCaches(t)
	caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
	turn, trace := lab.RecordedTurn(t, func() *replicaSetSync { return turnOf(t, caches) })
	runtime.GC()
	if turn.Value() != nil {
		t.Error("the turn of a ReplicationController is still there")
	}
	runtime.KeepAlive(trace)
}
