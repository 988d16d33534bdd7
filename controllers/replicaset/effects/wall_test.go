package effects

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// A snapshot decides the same on the day after: it holds no reading of a clock
// that the record cannot hold.
func TestSnapshotsHoldWallTimeAlone(t *testing.T) {
	caches := newReplicaSetCaches(t)
	caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
	b := caches.controllers
	b.opts.Ledger.Written(engine.Entry{UID: "r", Resource: family.ResourceReplicationControllers, Object: "ReplicationController web", RV: "99"})
	b.Hold("shop/web", "r", engine.WallTime(time.Now()))
	b.Expectations().Expect("shop/web", 2)
	lab.WallTimeAlone(t, turnOf(t, caches).s, ".Now", ".Held", ".Echo[].Since", ".Echo[].Check", ".Expect.Since", ".Expect.Expires")
}
