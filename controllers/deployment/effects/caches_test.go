package effects

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// deploymentCaches are caches, and the Deployment loop over them.
type deploymentCaches struct {
	*lab.Caches
	deployments *deploymentController
}

func newDeploymentCaches(t testing.TB) *deploymentCaches {
	t.Helper()
	return newDeploymentCachesWith(t, engine.Options{})
}

func newDeploymentCachesWith(t testing.TB, opts engine.Options) *deploymentCaches {
	t.Helper()
	client := fake.NewClientset()
	c := lab.NewCaches(client)
	f := c.Factory
	d, err := New(t.Context(), f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &deploymentCaches{c, d.Does().(*deploymentController)}
}
