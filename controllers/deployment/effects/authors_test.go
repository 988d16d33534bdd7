package effects

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
)

// causeOf runs a Deployment through the transform and the handler, and returns what
// woke its key.
func causeOf(t *testing.T, b *deploymentController, old, new *appsv1.Deployment) telemetry.Cause {
	t.Helper()
	for _, d := range []*appsv1.Deployment{old, new} {
		_, err := b.opts.Managers.Strip(d)
		lab.Check(t, err)
		if d.ManagedFields != nil {
			t.Error("what is stored has managedFields")
		}
	}
	b.deploymentHandler().OnUpdate(old, new)
	k, _ := lab.KeyState(b.Loop, "shop/web")
	return k.Causes[len(k.Causes)-1]
}

func sized(rv string, n int32, entries ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	d := lab.Deployment("web", "u", "")
	d.ResourceVersion, d.Spec.Replicas, d.ManagedFields = rv, &n, entries
	return d
}

// A cause names another writer, and never this process: what it wrote is known by
// its version.
func TestCausesNeverNameOurselves(t *testing.T) {
	const size = `{"f:spec":{"f:replicas":{}}}`
	kubectl, ours := lab.SignedBy("kubectl", "scale", 0, size), lab.SignedBy("loopscope", "", 2, size)
	loop := func(signature string) *deploymentController {
		return newDeploymentCachesWith(t, engine.Options{Signature: signature}).deployments
	}
	b := loop("loopscope")
	if c := causeOf(t, b, sized("1", 3, ours), sized("2", 5, kubectl)); c.Manager != "kubectl" {
		t.Errorf("scaled by kubectl: %q", c.Manager)
	}
	if c := causeOf(t, b, sized("2", 5, kubectl), sized("3", 3, ours)); c.Manager != "" {
		t.Errorf("signed like our own, with a version that is not: %q", c.Manager)
	}
	b.opts.Ledger.Written(engine.Entry{UID: "u", Resource: family.ResourceDeployments, RV: "4"})
	if c := causeOf(t, b, sized("3", 3, ours), sized("4", 5, kubectl)); c.Manager != "" {
		t.Errorf("our own version: %q", c.Manager)
	}
	b = loop("")
	if c := causeOf(t, b, sized("4", 5, kubectl), sized("5", 3, ours)); c.Manager != "loopscope" {
		t.Errorf("another process of that name, beside one that only watches: %q", c.Manager)
	}
}
