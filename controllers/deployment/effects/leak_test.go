package effects

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
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
