package effects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
)

// [C-2]: the switches are read at every use.
func TestSwitchesAreReadAtUse(t *testing.T) {
	on := true
	is := func() bool { return on }
	caches := newReplicaSetCachesWith(t, engine.Options{TerminatingReplicas: is, PodDeletionCost: is})
	caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
	for _, want := range []bool{true, false, true} {
		on = want
		if s := turnOf(t, caches).s; s.CountTerminating != want || s.DeletionCost != want {
			t.Errorf("switched to %v: terminating %v, cost %v", want, s.CountTerminating, s.DeletionCost)
		}
	}
}

// [C-3]: restarts of sidecars count from v1.32 of the API server on, and where its release is not known.
func TestSidecarsFollowTheRelease(t *testing.T) {
	var is telemetry.Release
	caches := newReplicaSetCachesWith(t, engine.Options{Release: func() telemetry.Release { return is }})
	caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
	pod := lab.Pod(corev1.PodRunning, "", true)
	pod.ObjectMeta = lab.Object("web-1", "p", "9", map[string]string{"app": "web"}, lab.OwnedBy("ReplicationController", "web", "r"))
	always := corev1.ContainerRestartPolicyAlways
	pod.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: &always}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 4}}
	caches.Add(t, pod)
	for version, want := range map[telemetry.Release]int64{{}: 4, {Version: "v1.31.14", Minor: 31}: 0, {Version: "v1.32.0", Minor: 32}: 4} {
		is = version
		if s := turnOf(t, caches).s; len(s.Pods) != 1 || s.Pods[0].SidecarRestarts != want {
			t.Errorf("beside %q: %+v, want %d restarts", version.Version, s.Pods, want)
		}
	}
}

// What a loop waits for is listed in order.
func TestWaitsAreSorted(t *testing.T) {
	caches := newReplicaSetCaches(t)
	for _, name := range []string{"c", "a", "b"} {
		caches.replicaSets.Expectations().Expect("shop/"+name, 1)
	}
	expectations := ""
	for _, e := range caches.replicaSets.Waits().Expectations {
		expectations += e.Key + ", "
	}
	if expectations != "shop/a, shop/b, shop/c, " {
		t.Error(expectations)
	}
}
