package effects

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// A pod that goes with its namespace wakes its Deployment, which tells who outlives it.
func TestPodsGoWithTheirNamespace(t *testing.T) {
	ends, lives := newDeploymentCaches(t), newDeploymentCaches(t)
	ends.deployments.opts.Ledger.NoteTerminating("shop", time.Now()) // It has no Deployment yet that would be told.
	for _, caches := range []*deploymentCaches{ends, lives} {
		caches.Add(t, lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType),
			&appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
	}
	gone := &corev1.Pod{ObjectMeta: lab.Object("gone", "g", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
	lives.deployments.podHandler().OnDelete(gone)
	if keys := lab.Queued(lives.deployments.Loop); len(keys) > 0 {
		t.Errorf("while its namespace lives, %v is woken", keys)
	}
	ends.deployments.podHandler().OnDelete(gone)
	if keys := lab.Queued(ends.deployments.Loop); !slices.Equal(keys, []string{"shop/web"}) {
		t.Errorf("when its namespace ends, %v is woken", keys)
	}
}

// A pod that has outlasted its grace period, which its Deployment tells, wakes it when it goes at last. The request that
// ends a pod sets the time of its deletion to that request.
func TestOverduePodsWakeTheirDeployment(t *testing.T) {
	now := time.Now()
	deleted := func(at time.Time, finalizers ...string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: lab.Object("gone", "g", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
		pod.DeletionTimestamp, pod.Finalizers = new(metav1.NewTime(at)), finalizers
		return pod
	}
	for name, c := range map[string]struct {
		told *corev1.Pod // before it was ended
		gone *corev1.Pod
		want []string
	}{
		"in time":           {deleted(now.Add(20 * time.Second)), deleted(now), nil},
		"at once":           {nil, deleted(now), nil},
		"late":              {deleted(now.Add(-time.Minute)), deleted(now), []string{"shop/web"}},
		"a little late":     {deleted(now.Add(-2 * time.Second)), deleted(now), nil},
		"held by finalizer": {deleted(now.Add(-2*time.Second), "example.com/hold"), deleted(now), []string{"shop/web"}},
		"ended long before": {nil, deleted(now.Add(-time.Minute)), []string{"shop/web"}},
	} {
		caches := newDeploymentCaches(t)
		caches.Add(t, lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType),
			&appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
		if c.told != nil {
			caches.deployments.podHandler().OnUpdate(c.told, c.gone)
		}
		caches.deployments.podHandler().OnDelete(c.gone)
		if keys := lab.Queued(caches.deployments.Loop); !slices.Equal(keys, c.want) {
			t.Errorf("%s: %v is woken, want %v", name, keys, c.want)
		}
	}
}

// A pod that is deleted with its namespace after it has ended wakes its Deployment: the status of its ReplicaSet does
// not change with that.
func TestEndedPodsAreDeletedWithTheirNamespace(t *testing.T) {
	for _, c := range []struct {
		phase corev1.PodPhase
		ends  bool
		keeps []string
		want  []string
	}{{corev1.PodFailed, true, nil, []string{"shop/web"}}, {corev1.PodFailed, false, nil, nil}, {corev1.PodFailed, false, []string{"example.com/hold"}, []string{"shop/web"}}, {corev1.PodRunning, true, nil, nil}} {
		caches := newDeploymentCaches(t)
		if c.ends {
			caches.deployments.opts.Ledger.NoteTerminating("shop", time.Now())
		}
		caches.Add(t, lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType),
			&appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
		old := &corev1.Pod{ObjectMeta: lab.Object("gone", "g", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r")), Status: corev1.PodStatus{Phase: c.phase}}
		pod := old.DeepCopy()
		pod.DeletionTimestamp, pod.Finalizers = new(metav1.Now()), c.keeps
		caches.deployments.podHandler().OnUpdate(old, pod)
		caches.deployments.podHandler().OnUpdate(pod, pod)
		if keys := lab.Queued(caches.deployments.Loop); !slices.Equal(keys, c.want) {
			t.Errorf("%s, namespace ends %v: %v is woken, want %v", c.phase, c.ends, keys, c.want)
		}
	}
}
