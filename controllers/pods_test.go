package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/deployment"
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
		if got := podAvailable(lab.Pod(corev1.PodRunning, "", c.ready), c.minReady, c.now); got != c.want {
			t.Errorf("%s: available = %v, want %v", c.name, got, c.want)
		}
	}
	timeless := lab.Pod(corev1.PodRunning, "", true)
	timeless.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	if !podAvailable(timeless, 0, readyAt) || podAvailable(timeless, 1, readyAt) {
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
		if got := podWaitOf(c.pod).reason; got != c.want {
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
		if diff := cmp.Diff(c.want, disruption(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A snapshot describes the newest that were ended lately.
func TestDisruptedPodsOfASnapshot(t *testing.T) {
	caches := newCaches(t)
	caches.add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
	now := caches.deployments.now()
	for i := range 30 {
		p := &corev1.Pod{ObjectMeta: lab.Object(fmt.Sprintf("web-%02d", i), fmt.Sprint(i), "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(i*25) * time.Second))}}}
		caches.add(t, p)
	}
	seen, err := caches.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	list := seen.(*deploymentSync).s.ReplicaSets[0].Disrupted
	if len(list) != deployment.MaxDisrupted || list[0].Name != "web-00" || list[1].Name != "web-01" {
		t.Errorf("%d pods: %+v", len(list), list)
	}
	of, err := caches.replicaSets.Observe(t.Context(), "shop/web-1")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, p := range of.(*replicaSetSync).s.Pods {
		if p.Disruption != nil {
			told++
		}
	}
	if told != 24 { // One every 25 seconds, for ten minutes.
		t.Errorf("the ReplicaSet knows of %d", told)
	}
}

// A pod that is evicted wakes its Deployment, though its waiting reason stays.
func TestDisruptionWakesTheDeployment(t *testing.T) {
	caches := newCaches(t)
	caches.add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
	old := &corev1.Pod{ObjectMeta: lab.Object("p", "p", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
	old.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}}
	now := old.DeepCopy()
	now.ResourceVersion = "2"
	caches.deployments.podHandler().OnUpdate(old, now)
	if got := queued(caches.deployments.Loop); len(got) != 0 {
		t.Errorf("a pod that still serves wakes %v", got)
	}
	now.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	caches.deployments.podHandler().OnUpdate(old, now)
	if diff := cmp.Diff([]string{"shop/web"}, queued(caches.deployments.Loop)); diff != "" {
		t.Error(diff)
	}
}

// [P-6]
func TestDeletionCost(t *testing.T) {
	for value, want := range map[string]int64{
		"": 0, "0": 0, "100": 100, "-5": -5, "+5": 0, "007": 0, "1e3": 0, "2147483647": 2147483647, "2147483648": 0,
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.PodDeletionCost: value}}}
		if got := deletionCost(p); got != want {
			t.Errorf("cost of %q = %d, want %d", value, got, want)
		}
	}
}

func TestPodReasonsAreSpacedOut(t *testing.T) {
	var r wakeLimiter
	start := time.Unix(100, 0)
	got := []time.Duration{r.delay("k", start), r.delay("k", start), r.delay("k", start.Add(100*time.Millisecond))}
	want := []time.Duration{0, time.Second, 1900 * time.Millisecond}
	for i := range want {
		if got[i] > want[i] || i > 0 && got[i] <= 0 {
			t.Errorf("delay %d = %v, want at most %v", i, got[i], want[i])
		}
	}
	if d := r.delay("k", start.Add(time.Minute)); d != 0 {
		t.Errorf("a minute later the delay is %v", d)
	}
	if d := r.delay("other", start); d != 0 {
		t.Errorf("another key waits %v", d)
	}
}

// What the scheduler says of a pod anew wakes its Deployment; other messages under the same
// reason, which kubelets count up, do not.
func TestWhatPodsSayAnew(t *testing.T) {
	unscheduled := func(message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}}}
	}
	crashing := func(message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: message}}}}}}
	}
	missing, unbound := unscheduled(`persistentvolumeclaim "data" not found`), unscheduled("pod has unbound immediate PersistentVolumeClaims")
	for _, c := range []struct {
		name    string
		old, is *corev1.Pod
		want    bool
	}{
		{"another claim trouble", missing, unbound, true},
		{"the same", missing, missing, false},
		{"scheduled, and crashing", missing, crashing("back-off 10s"), true},
		{"a longer back-off", crashing("back-off 10s"), crashing("back-off 20s"), false},
	} {
		if got := waitReasonChanged(c.old, c.is); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Progress is the newest change of the counts, or what the condition says; before the first
// look that alone is known.
func TestProgress(t *testing.T) {
	var p progress
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for i, c := range []struct {
		count          int64
		condition, now int64
		want           int64
	}{{1, 10, 100, 10}, {1, 10, 110, 10}, {2, 10, 120, 120}, {2, 10, 130, 120}, {2, 125, 130, 125}} {
		if got := p.note("k", [4]int64{c.count}, at(c.condition), at(c.now)); !got.Equal(at(c.want)) {
			t.Errorf("look %d: %d, want %d", i, got.Unix(), c.want)
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
	if regular, sidecar := restarts(p); regular != 2 || sidecar != 3 {
		t.Errorf("%d and %d, want 2 and 3", regular, sidecar)
	}
}
