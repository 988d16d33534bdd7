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

// Of the containers of a pod that is not ready the worst is told, the first of those that
// are equally bad, and how it ended or which probe it has not passed.
func TestWhatContainersSay(t *testing.T) {
	always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicy("Never")
	at := func(seconds int64) metav1.Time { return metav1.Unix(seconds, 0) }
	when := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1010)}}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: 9, Reason: reason, Message: "last words", FinishedAt: at(1020)}}
	}
	named := func(name string, state corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Image: name + ":1", State: state, RestartCount: 4}
	}
	again := func(name string, last corev1.ContainerState) corev1.ContainerStatus {
		c := named(name, running)
		c.LastTerminationState = last
		return c
	}
	started := func(c corev1.ContainerStatus, yes bool) corev1.ContainerStatus { c.Started = &yes; return c }
	ready := func(c corev1.ContainerStatus) corev1.ContainerStatus { c.Ready = true; return c }
	crash := &decision.Exit{Code: 1, Signal: 9, Reason: "Error", Restarts: 4, At: when(1020)}
	type list = []corev1.ContainerStatus
	for _, c := range []struct {
		name       string
		init, main list
		want       podWait // since is the condition's where it is zero
	}{
		{"its program ended", nil, list{named("app", ended(1, "Error"))},
			podWait{reason: "Error", image: "app:1", container: decision.ContainerState{Container: "app", Exit: crash}}},
		{"an init container is done, and the next begins", list{named("setup", ended(0, "Completed"))}, list{named("app", waits("PodInitializing"))},
			podWait{reason: "PodInitializing", message: "why", image: "app:1", since: when(900), container: decision.ContainerState{Container: "app"}}},
		{"its containers are made", nil, list{named("app", waits("ContainerCreating"))},
			podWait{reason: "ContainerCreating", message: "why", image: "app:1", since: when(900), container: decision.ContainerState{Container: "app"}}},
		{"an init container failed", list{named("setup", ended(1, "Error"))}, list{named("app", waits("PodInitializing"))},
			podWait{reason: "Error", image: "setup:1", container: decision.ContainerState{Container: "setup", Role: decision.RoleInit, Exit: crash}}},
		{"an init container runs", list{ready(named("setup", running))}, list{named("app", waits("PodInitializing"))},
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "setup:1",
				container: decision.ContainerState{Container: "setup", Role: decision.RoleInit, Probe: "readiness", Running: when(1010)}}},
		{"one that is not started again is no sidecar", list{ready(named("once", running))}, nil,
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "once:1",
				container: decision.ContainerState{Container: "once", Role: decision.RoleInit, Probe: "readiness", Running: when(1010)}}},
		{"a sidecar ended, though with 0", list{named("proxy", ended(0, "Completed"))}, nil,
			podWait{reason: "Completed", image: "proxy:1", container: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar,
				Exit: &decision.Exit{Signal: 9, Reason: "Completed", Restarts: 4, At: when(1020)}}}},
		{"a sidecar does not start", list{started(named("proxy", running), false)}, nil,
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "proxy:1",
				container: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Probe: "startup", Running: when(1010)}}},
		{"a sidecar has started again, the program is not ready", list{started(again("proxy", ended(1, "Error")), true)}, list{started(named("app", running), true)},
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "app:1",
				container: decision.ContainerState{Container: "app", Probe: "readiness", Running: when(1010)}}},
		{"a sidecar runs, and has no startup probe", list{named("proxy", running)}, list{named("app", waits("PodInitializing"))},
			podWait{reason: "PodInitializing", message: "why", image: "app:1", since: when(900), container: decision.ContainerState{Container: "app"}}},
		{"one without a state", list{named("proxy", corev1.ContainerState{})}, list{named("app", corev1.ContainerState{})},
			podWait{reason: "ContainersNotReady", message: "unready: [app]"}},
		{"a reason is missing", nil, list{named("app", waits(""))}, podWait{reason: "ContainersNotReady", message: "unready: [app]"}},
		{"it is ready, and something else is not", nil, list{ready(again("app", ended(1, "Error")))}, podWait{reason: "ContainersNotReady", message: "unready: [app]"}},
		{"it crashed before and runs again", nil, list{again("app", ended(1, "Error"))},
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "app:1",
				container: decision.ContainerState{Container: "app", Probe: "readiness", Running: when(1010), Exit: crash}}},
		{"it could not be started", nil, list{again("app", ended(128, "StartError"))},
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "app:1", container: decision.ContainerState{Container: "app", Probe: "readiness", Running: when(1010),
				Exit: &decision.Exit{Code: 128, Signal: 9, Reason: "StartError", Message: "last words", Restarts: 4, At: when(1020)}}}},
		{"it cannot be run", nil, list{named("app", ended(128, "ContainerCannotRun"))},
			podWait{reason: "ContainerCannotRun", image: "app:1", container: decision.ContainerState{Container: "app",
				Exit: &decision.Exit{Code: 128, Signal: 9, Reason: "ContainerCannotRun", Message: "last words", Restarts: 4, At: when(1020)}}}},
		{"the worst of several", nil, list{named("slow", running), named("first", waits("ErrImagePull")), named("second", waits("CrashLoopBackOff"))},
			podWait{reason: "ErrImagePull", message: "why", image: "first:1", since: when(900), container: decision.ContainerState{Container: "first"}}},
		{"one that runs and is not ready, beside one that is made", nil, list{named("new", waits("ContainerCreating")), named("slow", running)},
			podWait{reason: "ContainersNotReady", message: "unready: [app]", image: "slow:1", container: decision.ContainerState{Container: "slow", Probe: "readiness", Running: when(1010)}}},
		{"init containers come first", list{named("setup", waits("ErrImagePull"))}, list{named("app", waits("CrashLoopBackOff"))},
			podWait{reason: "ErrImagePull", message: "why", image: "setup:1", since: when(900), container: decision.ContainerState{Container: "setup", Role: decision.RoleInit}}},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(900)}, Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: c.init, ContainerStatuses: c.main}}
		p.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: "once", RestartPolicy: &never}, {Name: "proxy", RestartPolicy: &always}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Reason: "Placed"},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "unready: [app]", LastTransitionTime: at(1000)}}
		if c.want.since.IsZero() {
			c.want.since = when(1000)
		}
		if diff := cmp.Diff(c.want, podWaitOf(p), cmp.AllowUnexported(podWait{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A node does not answer where the kubelet's last word was that the containers are ready,
// and the pod is not, for no reason.
func TestNodeThatDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name              string
		containers, ready corev1.ConditionStatus // "" for a condition that is missing
		reason            string
		gates, want       bool
	}{
		{"marked by the node's controller", corev1.ConditionTrue, corev1.ConditionFalse, "", false, true},
		{"marked as unknown", corev1.ConditionTrue, corev1.ConditionUnknown, "", false, true},
		{"ready", corev1.ConditionTrue, corev1.ConditionTrue, "", false, false},
		{"not ready for a reason", corev1.ConditionTrue, corev1.ConditionFalse, "ContainersNotReady", false, false},
		{"not ready as its containers are not", corev1.ConditionFalse, corev1.ConditionFalse, "", false, false},
		{"behind a readiness gate", corev1.ConditionTrue, corev1.ConditionFalse, "", true, false},
		{"of whose containers nobody said anything", "", corev1.ConditionFalse, "", false, false},
		{"of which nobody said anything", corev1.ConditionTrue, "", "", false, false},
	} {
		p := &corev1.Pod{}
		if c.containers != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: c.containers})
		}
		if c.ready != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: c.ready, Reason: c.reason})
		}
		if c.gates {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "lb"}}
		}
		if got := nodeUnreachable(p); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Those whose grace period ends first are told, and those that were ended last; of a tie,
// the first by name.
func TestWhichPodsAreTold(t *testing.T) {
	var going []decision.TerminatingPod
	var ended []decision.DisruptedPod
	for i := range 2 * deployment.MaxDisrupted {
		name, at := fmt.Sprintf("web-%02d", 99-i), time.Unix(int64(1000+i/3), 0)
		going = append(going, decision.TerminatingPod{Name: name, Until: at})
		ended = append(ended, decision.DisruptedPod{Name: name, Disruption: decision.Disruption{At: at}})
	}
	first, last := firstTerminating(going), newestDisrupted(ended)
	if len(first) != deployment.MaxTerminatingPods || first[0].Name != "web-97" || first[1].Name != "web-98" || first[3].Name != "web-94" {
		t.Errorf("%d pods go, first %+v", len(first), first)
	}
	if len(last) != deployment.MaxDisrupted || last[0].Name != "web-60" || last[1].Name != "web-61" || last[2].Name != "web-62" {
		t.Errorf("%d pods were ended, last %+v", len(last), last)
	}
}

// TestPodsOfAReplicaSet: what a Deployment's snapshot counts and describes of the pods of
// one ReplicaSet, and how long those took that became ready once.
func TestPodsOfAReplicaSet(t *testing.T) {
	caches := newCaches(t)
	set := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))}
	set.Spec.MinReadySeconds = 10
	caches.add(t, lab.Deployment("web", "d", ""), set)
	now := caches.deployments.now().Truncate(time.Second)
	add := func(name string, change func(p *corev1.Pod)) {
		p := lab.Pod(corev1.PodRunning, "", true)
		p.ObjectMeta = lab.Object(name, "uid-"+name, "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))
		p.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Minute))
		p.Spec.NodeName = "n1"
		change(p)
		caches.add(t, p)
	}
	readyAfter := func(d time.Duration) func(p *corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(p.CreationTimestamp.Add(d))
		}
	}
	add("slow", readyAfter(9*time.Minute))
	add("fast", readyAfter(3*time.Minute))
	add("before-it-was-made", readyAfter(-time.Minute))
	add("restarted", func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} })
	add("sidecar-restarted", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 1}}
	})
	add("ancient", func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(now.Add(-2 * deployment.MaxStartupTime))
	})
	add("young", func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(now.Add(-6 * time.Minute))
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-9 * time.Second))
	})
	add("crashing", func(p *corev1.Pod) {
		*p = corev1.Pod{ObjectMeta: p.ObjectMeta, Status: lab.Pod(corev1.PodRunning, "CrashLoopBackOff", false).Status}
	})
	add("done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	add("going", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: now}, []string{"example.com/hold"}
	})
	seen, err := caches.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	rs := seen.(*deploymentSync).s.ReplicaSets[0]
	if rs.NonTerminal != 9 || rs.TerminatingNow != 1 || rs.Unavailable != 2 {
		t.Errorf("%d have not ended, %d are going and %d are not available, want 9, 1 and 2", rs.NonTerminal, rs.TerminatingNow, rs.Unavailable)
	}
	if diff := cmp.Diff(&deployment.StartupTimes{Pods: 4, Fastest: 0, Slowest: 9 * time.Minute}, rs.Startup); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]decision.TerminatingPod{{Name: "going", Until: now.UTC(), Node: "n1", Finalizers: []string{"example.com/hold"}}}, rs.TerminatingPods); diff != "" {
		t.Errorf("going (-want +got):\n%s", diff)
	}
	if len(rs.Blocking) != 2 || rs.Blocking[0].Name != "crashing" || rs.Blocking[0].Reason != "CrashLoopBackOff" || rs.Blocking[1].Name != "young" || !rs.Blocking[1].Ready {
		t.Errorf("not available are %+v", rs.Blocking)
	}
}

// No more pods that are not available are described than that, the first by name.
func TestBlockingPodsAreBounded(t *testing.T) {
	for _, n := range []int{deployment.MaxBlocking, deployment.MaxBlocking + 1} {
		caches := newCaches(t)
		caches.add(t, lab.Deployment("web", "d", ""), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
		for i := range n {
			caches.add(t, &corev1.Pod{ObjectMeta: lab.Object(fmt.Sprintf("web-%02d", i), fmt.Sprint(i), "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))})
		}
		seen, err := caches.deployments.Observe(t.Context(), "shop/web")
		if err != nil {
			t.Fatal(err)
		}
		rs := seen.(*deploymentSync).s.ReplicaSets[0]
		if len(rs.Blocking) != deployment.MaxBlocking || rs.Unavailable != int64(n) || rs.Blocking[deployment.MaxBlocking-1].Name != "web-49" {
			t.Errorf("%d of %d pods are described", len(rs.Blocking), rs.Unavailable)
		}
	}
}
