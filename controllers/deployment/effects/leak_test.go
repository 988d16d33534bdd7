package effects

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
)

// [C-2]: the switches are read at every use.
func TestDeploymentSwitchIsReadAtUse(t *testing.T) {
	on := true
	caches := newDeploymentCachesWith(t, engine.Options{TerminatingReplicas: func() bool { return on }})
	caches.Add(t, lab.Deployment("web", "d", "RollingUpdate"))
	for _, want := range []bool{true, false, true} {
		on = want
		if got := lookedAt(t, caches).s.CountTerminating; got != want {
			t.Errorf("switched to %v: terminating %v", want, got)
		}
	}
}

// [C-3]: events of sizes read as today from v1.32 of the API server on, and where its release is not known.
func TestSizeEventsFollowTheRelease(t *testing.T) {
	var is telemetry.Release
	caches := newDeploymentCachesWith(t, engine.Options{Release: func() telemetry.Release { return is }})
	caches.Add(t, lab.Deployment("web", "d", "RollingUpdate"))
	for version, want := range map[telemetry.Release]bool{{}: false, {Version: "v1.31.14", Minor: 31}: true, {Version: "v1.32.0", Minor: 32}: false} {
		is = version
		if got := lookedAt(t, caches).s.SizeEventsBefore132; got != want {
			t.Errorf("beside %q: %v", version.Version, got)
		}
	}
}

// What a loop waits for is listed in order.
func TestDeploymentWaitsAreSorted(t *testing.T) {
	caches := newDeploymentCaches(t)
	for _, name := range []string{"c", "a", "b"} {
		caches.deployments.opts.Ledger.Written(engine.Entry{UID: types.UID(name), Resource: family.ResourceDeployments, Object: "Deployment " + name, RV: "5"})
	}
	if name := caches.deployments.Name(); name != "deployment" {
		t.Errorf("the loop is called %q", name)
	}
	echoes := ""
	for _, e := range caches.deployments.Waits().Echoes {
		echoes += e.Object + " " + e.Written + ", "
	}
	if echoes != "Deployment a 5, Deployment b 5, Deployment c 5, " {
		t.Error(echoes)
	}
}
