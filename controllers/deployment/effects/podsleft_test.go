package effects

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// countingIndexer counts the objects that are read out of a cache.
type countingIndexer struct {
	cache.Indexer
	read int
}

func (c *countingIndexer) count(list []any, err error) ([]any, error) {
	c.read += len(list)
	return list, err
}

func (c *countingIndexer) Index(name string, obj any) ([]any, error) {
	return c.count(c.Indexer.Index(name, obj))
}

func (c *countingIndexer) ByIndex(name, value string) ([]any, error) {
	return c.count(c.Indexer.ByIndex(name, value))
}

func (c *countingIndexer) List() []any {
	list, _ := c.count(c.Indexer.List(), nil)
	return list
}

// crowded is a Recreate Deployment with two ReplicaSets and a pod that has finished, in
// a namespace with so many pods of others, five to a ReplicaSet.
func crowded(t testing.TB, others int) (*deploymentController, *appsv1.Deployment) {
	t.Helper()
	caches := newDeploymentCaches(t)
	d := lab.Deployment("web", "d", appsv1.RecreateDeploymentStrategyType)
	caches.Add(t, d,
		&appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r1", "1", nil, lab.OwnedBy("Deployment", "web", "d"))},
		&appsv1.ReplicaSet{ObjectMeta: lab.Object("web-2", "r2", "1", nil, lab.OwnedBy("Deployment", "web", "d"))},
		&corev1.Pod{ObjectMeta: lab.Object("web-1-a", "p", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r1")), Status: corev1.PodStatus{Phase: corev1.PodFailed}})
	for i := range others {
		rs := fmt.Sprint("other-", i/5)
		if i%5 == 0 {
			caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object(rs, rs, "1", nil, lab.OwnedBy("Deployment", "other", fmt.Sprint("o", i)))})
		}
		pod := fmt.Sprint("pod-", i)
		caches.Add(t, &corev1.Pod{ObjectMeta: lab.Object(pod, pod, "1", nil, lab.OwnedBy("ReplicaSet", rs, rs)), Status: corev1.PodStatus{Phase: corev1.PodRunning}})
	}
	return caches.deployments, d
}

// A pod that goes has only what is its Deployment's own read, however much is beside it.
func TestPodsLeftReadsOnlyItsOwn(t *testing.T) {
	b, d := crowded(t, 500)
	sets, pods := &countingIndexer{Indexer: b.owned}, &countingIndexer{Indexer: b.pods}
	b.owned, b.pods, b.replicaSets = sets, pods, appslisters.NewReplicaSetLister(sets)
	if b.podsLeft(d) {
		t.Error("a pod that has finished is left")
	}
	if sets.read != 2 || pods.read != 1 {
		t.Errorf("%d ReplicaSets and %d pods were read, of which 2 and 1 are the Deployment's", sets.read, pods.read)
	}
}

// BenchmarkPodsLeft is what a pod that goes costs in a namespace with 5,000 pods of others.
func BenchmarkPodsLeft(b *testing.B) {
	body, d := crowded(b, 5000)
	b.ReportAllocs()
	for b.Loop() {
		if body.podsLeft(d) {
			b.Fatal("a pod that has finished is left")
		}
	}
}
