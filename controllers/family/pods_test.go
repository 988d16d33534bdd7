package family

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// [P-1]
func TestPodAvailable(t *testing.T) {
	readyAt := time.Unix(1000, 0)
	for _, c := range []struct {
		name     string
		ready    bool
		minReady int64
		now      time.Time
		want     bool
	}{
		{"not ready", false, 0, readyAt, false},
		{"ready", true, 0, readyAt, true},
		{"a moment too young", true, 10, readyAt.Add(10*time.Second - 1), false},
		{"old enough", true, 10, readyAt.Add(10 * time.Second), true},
	} {
		if got := PodAvailable(lab.Pod(corev1.PodRunning, "", c.ready), c.minReady, c.now); got != c.want {
			t.Errorf("%s: available = %v, want %v", c.name, got, c.want)
		}
	}
	timeless := lab.Pod(corev1.PodRunning, "", true)
	timeless.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	if !PodAvailable(timeless, 0, readyAt) || PodAvailable(timeless, 1, readyAt) {
		t.Error("a pod that is ready since nobody knows when is available where it need not be for long")
	}
}

func TestWaiting(t *testing.T) {
	unscheduled := lab.Pod(corev1.PodPending, "", false)
	unscheduled.Status.Conditions = append(unscheduled.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"})
	scheduled := lab.Pod(corev1.PodRunning, "CrashLoopBackOff", false)
	scheduled.Status.Conditions = append(scheduled.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Reason: "Placed"})
	initWaits := lab.Pod(corev1.PodPending, "PodInitializing", false)
	initWaits.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	nodeLost := lab.Pod(corev1.PodRunning, "", false)
	nodeLost.Status.Reason = "NodeLost"
	probe := lab.Pod(corev1.PodRunning, "", false)
	probe.Status.Conditions[0].Reason = "ContainersNotReady"
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"ready", lab.Pod(corev1.PodRunning, "CrashLoopBackOff", true), ""},
		{"a node, and crashing", scheduled, "CrashLoopBackOff"},
		{"no node", unscheduled, "Unschedulable"},
		{"image", lab.Pod(corev1.PodPending, "ImagePullBackOff", false), "ImagePullBackOff"},
		{"the init container comes first", initWaits, "ImagePullBackOff"},
		{"readiness", probe, "ContainersNotReady"},
		{"node lost", nodeLost, "NodeNotReady"},
		{"phase unknown", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodUnknown}}, "NodeNotReady"},
		{"nothing known", &corev1.Pod{}, ""},
	} {
		if got := PodWaitOf(c.pod).Reason; got != c.want {
			t.Errorf("%s: reason %q, want %q", c.name, got, c.want)
		}
	}
}

// What ended a pod is known by its condition, and of a failed one by its reason.
func TestDisruption(t *testing.T) {
	target := func(status corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: status, Reason: reason, Message: "why", LastTransitionTime: metav1.Unix(1000, 0)}}
	}
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(900, 0)}}
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	for _, c := range []struct {
		name   string
		status corev1.PodStatus
		going  bool
		want   *decision.Disruption
	}{
		{"evicted by its kubelet", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on u:p@host/memory", Conditions: target(corev1.ConditionTrue, "TerminationByKubelet")}, false,
			&decision.Disruption{Target: "TerminationByKubelet", Reason: "Evicted", Message: "low on …@host/memory", At: at(1000)}},
		{"preempted", corev1.PodStatus{Phase: corev1.PodRunning, Conditions: target(corev1.ConditionTrue, "PreemptionByScheduler")}, true,
			&decision.Disruption{Target: "PreemptionByScheduler", Message: "why", At: at(1000)}},
		{"drained, and its containers have ended", corev1.PodStatus{Phase: corev1.PodSucceeded, Conditions: target(corev1.ConditionTrue, "EvictionByEvictionAPI")}, true,
			&decision.Disruption{Target: "EvictionByEvictionAPI", Message: "why", At: at(1000)}},
		{"about to be preempted", corev1.PodStatus{Phase: corev1.PodRunning, Conditions: target(corev1.ConditionTrue, "PreemptionByScheduler")}, false, nil},
		{"not evicted after all", corev1.PodStatus{Phase: corev1.PodRunning, Conditions: target(corev1.ConditionFalse, "EvictionByEvictionAPI")}, true, nil},
		{"rejected", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "no room", Conditions: ready}, false,
			&decision.Disruption{Reason: "OutOfcpu", Message: "no room", At: at(900)}},
		{"of a node that is lost", corev1.PodStatus{Phase: corev1.PodRunning, Reason: "NodeLost", Conditions: ready}, true, nil},
		{"failed, and its target is known", corev1.PodStatus{Phase: corev1.PodFailed, Conditions: target(corev1.ConditionTrue, "EvictionByEvictionAPI")}, false,
			&decision.Disruption{Target: "EvictionByEvictionAPI", Message: "why", At: at(1000)}},
		{"its containers failed", corev1.PodStatus{Phase: corev1.PodFailed, Conditions: ready}, false, nil},
		{"deleted by its loop", corev1.PodStatus{Phase: corev1.PodRunning, Conditions: ready}, true, nil},
	} {
		p := &corev1.Pod{Status: c.status}
		if c.going {
			p.DeletionTimestamp = &metav1.Time{Time: at(1010)}
		}
		if diff := cmp.Diff(c.want, Disruption(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The highest restart counts are told, those of sidecars apart from those of others; what an
// init container did at the start counts for neither.
func TestRestarts(t *testing.T) {
	p := &corev1.Pod{}
	p.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}, {Name: "once", RestartPolicy: new(corev1.ContainerRestartPolicy("Never"))}}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "setup", RestartCount: 9}, {Name: "proxy", RestartCount: 3}, {Name: "once", RestartCount: 8}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 1}}
	if regular, sidecar := Restarts(p); regular != 2 || sidecar != 3 {
		t.Errorf("%d and %d, want 2 and 3", regular, sidecar)
	}
}

// A pod is found under its controller, by all four parts of the reference, and an orphan under its namespace.
func TestPodsOfAController(t *testing.T) {
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{PodController: IndexPod})
	mine := &corev1.Pod{ObjectMeta: lab.Object("web-1-a", "p1", "1", nil, lab.OwnedBy(KindReplicaSet, "web-1", "r1"))}
	other := &corev1.Pod{ObjectMeta: lab.Object("web-2-a", "p2", "1", nil, lab.OwnedBy(KindReplicaSet, "web-2", "r2"))}
	orphan := &corev1.Pod{ObjectMeta: lab.Object("lone", "p3", "1", nil, nil)}
	for _, p := range []*corev1.Pod{mine, other, orphan} {
		lab.Check(t, pods.Add(p))
	}
	for key, want := range map[string][]*corev1.Pod{
		"shop/ReplicaSet/web-1/r1": {mine}, "shop": {orphan},
		"shop/ReplicationController/web-1/r1": {}, "shop/ReplicaSet/web-1/r2": {}, "other/ReplicaSet/web-1/r1": {},
	} {
		if diff := cmp.Diff(want, PodsIn(pods, key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if diff := cmp.Diff([]*corev1.Pod{other}, PodsOf(pods, "shop", KindReplicaSet, "web-2", "r2")); diff != "" {
		t.Error(diff)
	}
	if keys, err := IndexPod("no pod"); keys != nil || err != nil {
		t.Errorf("what is no pod is filed under %q, %v", keys, err)
	}
}

// A pod that has ended counts no longer, nor does one that is being deleted.
func TestPodActive(t *testing.T) {
	for _, c := range []struct {
		phase            corev1.PodPhase
		going            bool
		finished, active bool
	}{
		{corev1.PodPending, false, false, true},
		{corev1.PodRunning, false, false, true},
		{corev1.PodRunning, true, false, false},
		{corev1.PodSucceeded, false, true, false},
		{corev1.PodFailed, false, true, false},
		{corev1.PodFailed, true, true, false},
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{Phase: c.phase}}
		if c.going {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)}
		}
		if finished, active := PodFinished(p), PodActive(p); finished != c.finished || active != c.active {
			t.Errorf("%s, going %v: finished %v, active %v", c.phase, c.going, finished, active)
		}
	}
}

// A pod is ready since its condition turned, and since never where it is not.
func TestPodReadySince(t *testing.T) {
	ready, not := lab.Pod(corev1.PodRunning, "", true), lab.Pod(corev1.PodRunning, "", false)
	if got := PodReadySince(ready); !got.Equal(time.Unix(1000, 0)) {
		t.Errorf("ready since %v", got)
	}
	for name, p := range map[string]*corev1.Pod{"not ready": not, "nothing said": {}} {
		if got := PodReadySince(p); !got.IsZero() {
			t.Errorf("%s: since %v", name, got)
		}
	}
}

// A disruption tells for a while why an owner is short of pods.
func TestIsRecent(t *testing.T) {
	d := &decision.Disruption{At: time.Unix(1000, 0)}
	last := d.At.Add(diagnosis.Lately)
	if IsRecent(nil, d.At) || !IsRecent(d, d.At) || !IsRecent(d, last.Add(-1)) || IsRecent(d, last) {
		t.Errorf("a disruption is recent for %v, and none never is", diagnosis.Lately)
	}
}
