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
func TestDeploymentSnapshotsHoldWallTimeAlone(t *testing.T) {
	caches := newDeploymentCaches(t)
	caches.Add(t, lab.Deployment("web", "d", "RollingUpdate"))
	b := caches.deployments
	b.opts.Ledger.Written(engine.Entry{UID: "d", Resource: family.ResourceDeployments, Object: "Deployment web", RV: "99"})
	b.Hold("shop/web", "d", engine.WallTime(time.Now()))
	lab.WallTimeAlone(t, lookedAt(t, caches).s, ".Now", ".Held", ".Echo[].Since", ".Echo[].Check")
}
