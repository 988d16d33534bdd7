package effects

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// replicaSetCaches are caches, and the loops over them that keep pods.
type replicaSetCaches struct {
	*lab.Caches
	replicaSets *replicaSetController
	controllers *replicaSetController // ReplicationControllers
}

func newReplicaSetCaches(t testing.TB) *replicaSetCaches {
	t.Helper()
	return newReplicaSetCachesWith(t, engine.Options{})
}

func newReplicaSetCachesWith(t testing.TB, opts engine.Options) *replicaSetCaches {
	t.Helper()
	client := fake.NewClientset()
	c := lab.NewCaches(client)
	f := c.Factory
	r, err := New(t.Context(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), client, opts)
	if err != nil {
		t.Fatal(err)
	}
	rc, err := NewReplicationController(t.Context(), f.Core().V1().ReplicationControllers(), f.Core().V1().Pods(), client, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &replicaSetCaches{c, r.Does().(*replicaSetController), rc.Does().(*replicaSetController)}
}
