package effects

import (
	"runtime"
	"testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// What is recorded of a sync keeps none of the rest alive: neither the turn nor
// the objects of the caches that it looked at, of which thousands would gather.
func TestTheRecordKeepsNoDeploymentAlive(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", "RollingUpdate"))
	turn, trace := lab.RecordedTurn(t, func() *deploymentSync { return lookedAt(t, caches) })
	runtime.GC()
	if turn.Value() != nil {
		t.Error("the turn of a Deployment is still there")
	}
	runtime.KeepAlive(trace)
}
