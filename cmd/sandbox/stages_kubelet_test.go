package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// report is all that a kubelet says of a pod, a line for each thing: what is not
// as it should be of its conditions, and every container.
func report(pod *corev1.Pod) string {
	lines := []string{strings.TrimRight(fmt.Sprintf("%s %s: %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message), ": ")}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Type != corev1.ContainersReady || c.Type == corev1.DisruptionTarget {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": "))
		}
	}
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		lines = append(lines, fmt.Sprintf("%s %d%s: %s%s", c.Name, c.RestartCount, marks(&c), containerState(c.State), lastOf(c.LastTerminationState)))
	}
	return strings.Join(lines, "\n")
}

func marks(c *corev1.ContainerStatus) string {
	text := ""
	if c.Ready {
		text += " ready"
	}
	if c.Started != nil && *c.Started {
		text += " started"
	}
	return text
}

func lastOf(s corev1.ContainerState) string {
	if s.Terminated == nil {
		return ""
	}
	return ", last " + containerState(s)
}

func containerState(s corev1.ContainerState) string {
	switch {
	case s.Waiting != nil:
		return strings.TrimSpace(s.Waiting.Reason + " " + s.Waiting.Message)
	case s.Terminated != nil:
		return strings.TrimSpace(fmt.Sprintf("%s %d %s", s.Terminated.Reason, s.Terminated.ExitCode, s.Terminated.Message))
	}
	return "running"
}

// TestPodTroubles holds what the annotations make of a pod to the words of a
// kubelet and of containerd.
func TestPodTroubles(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	prepared := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.InitContainers = []corev1.Container{{Name: "copy", Image: "busybox"}, {Name: "wait-for-db", Image: "busybox"}}
		return pod
	}
	accompanied := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.InitContainers = []corev1.Container{{Name: "proxy", Image: "envoy:1", RestartPolicy: &always}, {Name: "copy", Image: "busybox"}}
		return pod
	}
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		steps string
		want  string
	}{
		{"not found", placed("nginx:404"), "pod-creating pod-pull-error pod-pull-back-off",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: ImagePullBackOff Back-off pulling image \"nginx:404\": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image \"docker.io/library/nginx:404\": failed to resolve reference \"docker.io/library/nginx:404\": docker.io/library/nginx:404: not found"},
		{"denied", placed("ghcr.io/shop/web:401"), "pod-creating pod-pull-error",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: ErrImagePull rpc error: code = Unknown desc = failed to pull and unpack image \"ghcr.io/shop/web:401\": failed to resolve reference \"ghcr.io/shop/web:401\": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed"},
		{"pull error of choice", annotated(placed("shop/web:1", "b:1"), "waiting", "ErrImagePull", "container", "c0", "message", `failed to resolve reference "$(ref)": no match for platform in manifest: not found`), "pod-creating pod-pull-error",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: ErrImagePull failed to resolve reference \"docker.io/shop/web:1\": no match for platform in manifest: not found\nc1 0 ready started: running"},
		{"invalid name", annotated(placed("Nginx:1"), "waiting", "InvalidImageName"), "pod-creating pod-stuck",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: InvalidImageName Failed to apply default image tag \"Nginx:1\": couldn't parse image name \"Nginx:1\": invalid reference format"},
		{"no ConfigMap", annotated(placed("nginx:1"), "waiting", "CreateContainerConfigError", "message", `configmap "app" not found`), "pod-creating pod-stuck",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: CreateContainerConfigError configmap \"app\" not found"},
		{"root", annotated(placed("nginx:1"), "waiting", "CreateContainerConfigError", "message", `container has runAsNonRoot and image will run as root (pod: "$(pod)", container: $(container))`), "pod-creating pod-stuck",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: CreateContainerConfigError container has runAsNonRoot and image will run as root (pod: \"p_default(u)\", container: c0)"},
		{"no volume", annotated(placed("nginx:1"), "waiting", "ContainerCreating", "message", `MountVolume.SetUp failed for volume "config" : configmap "app" not found`), "pod-creating pod-stuck",
			"Pending\nReady=False ContainersNotReady: containers with unready status: [c0]\nPodReadyToStartContainers=False\nc0 0: ContainerCreating"},
		{"out of memory", annotated(placed("nginx:1", "b:1"), "exit", "137", "exit-reason", "OOMKilled", "container", "c1"), "pod-creating pod-crash-start pod-crash pod-crash-start pod-crash",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c1]\nc0 0 ready started: running\nc1 1: CrashLoopBackOff back-off 4s restarting failed container=c1 pod=p_default(u), last OOMKilled 137"},
		{"ends well", annotated(placed("nginx:1"), "exit", "0"), "pod-creating pod-crash-start pod-crash",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: CrashLoopBackOff back-off 2s restarting failed container=c0 pod=p_default(u), last Completed 0"},
		{"last words", annotated(placed("nginx:1"), "exit", "3", "message", "cannot read /etc/app"), "pod-creating pod-crash-start pod-crash",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: CrashLoopBackOff back-off 2s restarting failed container=c0 pod=p_default(u), last Error 3 cannot read /etc/app"},
		{"cannot start", annotated(placed("nginx:1"), "waiting", "RunContainerError", "exit", "128", "exit-reason", "StartError", "message", "exec: /app: not found"), "pod-creating pod-crash-start pod-crash pod-crash-start",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 1: RunContainerError exec: /app: not found, last StartError 128 exec: /app: not found"},
		{"alive for a while", annotated(placed("nginx:1"), "probe", "liveness"), "pod-creating pod-crash-start", "Running\nc0 0 ready started: running"},
		{"not alive", annotated(placed("nginx:1"), "probe", "liveness"), "pod-creating pod-crash-start pod-crash",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 0: CrashLoopBackOff back-off 2s restarting failed container=c0 pod=p_default(u), last Error 137"},
		{"startup", annotated(placed("nginx:1"), "probe", "startup", "exit", "143"), "pod-creating pod-crash-start pod-crash pod-crash-start",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c0]\nc0 1: running, last Error 143"},
		{"one of two unready", annotated(placed("nginx:1", "b:1"), "probe", "readiness", "container", "c1"), "pod-creating pod-never-ready",
			"Running\nReady=False ContainersNotReady: containers with unready status: [c1]\nc0 0 ready started: running\nc1 0 started: running"},
		{"init crashes", annotated(prepared(placed("nginx:1")), "exit", "1", "container", "wait-for-db"), "pod-creating pod-crash-start pod-crash",
			"Pending\nInitialized=False ContainersNotInitialized: containers with incomplete status: [wait-for-db]\nReady=False ContainersNotReady: containers with unready status: [c0]\ncopy 0 ready: Completed 0\nwait-for-db 0: CrashLoopBackOff back-off 2s restarting failed container=wait-for-db pod=p_default(u), last Error 1\nc0 0: PodInitializing"},
		{"init never ends", annotated(prepared(placed("nginx:1")), "exit", "never", "container", "copy"), "pod-creating pod-stuck",
			"Pending\nInitialized=False ContainersNotInitialized: containers with incomplete status: [copy wait-for-db]\nReady=False ContainersNotReady: containers with unready status: [c0]\ncopy 0 started: running\nwait-for-db 0: PodInitializing\nc0 0: PodInitializing"},
		{"init waits", annotated(prepared(placed("nginx:1")), "waiting", "CreateContainerConfigError", "container", "wait-for-db", "message", `secret "db" not found`), "pod-creating pod-stuck",
			"Pending\nInitialized=False ContainersNotInitialized: containers with incomplete status: [wait-for-db]\nReady=False ContainersNotReady: containers with unready status: [c0]\ncopy 0 ready: Completed 0\nwait-for-db 0: CreateContainerConfigError secret \"db\" not found\nc0 0: PodInitializing"},
		{"sidecar crashes", annotated(accompanied(placed("nginx:1")), "exit", "139", "container", "proxy"), "pod-creating pod-crash-start pod-crash pod-crash-start pod-crash",
			"Running\nReady=False ContainersNotReady: containers with unready status: [proxy]\nproxy 1: CrashLoopBackOff back-off 4s restarting failed container=proxy pod=p_default(u), last Error 139\ncopy 0 ready: Completed 0\nc0 0 ready started: running"},
		{"sidecar is not started", annotated(accompanied(placed("nginx:1")), "probe", "startup", "container", "proxy"), "pod-creating pod-crash-start",
			"Pending\nInitialized=False ContainersNotInitialized: containers with incomplete status: [proxy copy]\nReady=False ContainersNotReady: containers with unready status: [proxy c0]\nproxy 0: running\ncopy 0: PodInitializing\nc0 0: PodInitializing"},
		{"evicted", annotated(placed("nginx:1"), "fails", "Evicted", "message", "The node was low on resource: memory. "), "pod-creating pod-failed",
			"Failed Evicted: The node was low on resource: memory.\nReady=False PodFailed\nDisruptionTarget=True TerminationByKubelet: The node was low on resource: memory.\nc0 0: Error 137"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod, stages := c.pod, stagesOf(t, "Pod")
			for _, want := range strings.Fields(c.steps) {
				var step string
				if step, pod = playStage(t, stages, pod); !strings.HasPrefix(step, want+" ") {
					t.Fatalf("stage %q, want %s", step, want)
				}
			}
			if got := report(pod); got != c.want {
				t.Errorf("it says:\n%s\nwant:\n%s", got, c.want)
			}
			recovers(t, pod)
		})
	}
}

// recovers takes away what makes trouble: the pod becomes ready, unless it has
// failed for good, and its containers keep their restarts.
func recovers(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if pod.Status.Phase == corev1.PodFailed {
		return
	}
	pod.Annotations = nil
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Image = "nginx:2"
	}
	stages, restarts := stagesOf(t, "Pod"), restartsOf(pod)
	for range 2 {
		_, pod = playStage(t, stages, pod)
	}
	for _, c := range pod.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Reason != "" {
			t.Errorf("after that, condition %s is %s (%s)", c.Type, c.Status, c.Reason)
		}
	}
	if now := restartsOf(pod); now != restarts {
		t.Errorf("it has %d restarts, and had %d in its trouble", now, restarts)
	}
}

func restartsOf(pod *corev1.Pod) (n int32) {
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		n += c.RestartCount
	}
	return n
}

// TestOneStageAtATime puts every annotation beside every other one, over pods in
// every state that they lead to: never do two stages match.
func TestOneStageAtATime(t *testing.T) {
	values := [][]string{
		{"waiting", "", "ErrImagePull", "ContainerCreating", "RunContainerError"},
		{"exit", "", "1", "never"}, {"probe", "", "liveness", "startup", "readiness"},
		{"container", "", "c0", "i", "nobody"}, {"fails", "", "Evicted"}, {"never-ready", "", "true"}, {"crash-loop", "", "true"},
	}
	pods := []func(image string) *corev1.Pod{
		func(image string) *corev1.Pod { return placed(image) },
		func(image string) *corev1.Pod {
			return with(placed(image), func(pod *corev1.Pod) {
				pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox"}}
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job"}}
			})
		},
	}
	stages := stagesOf(t, "Pod")
	var pairs func(i int, chosen []string)
	pairs = func(i int, chosen []string) {
		if i == len(values) {
			for _, newPod := range pods {
				for _, image := range []string{"nginx:1", "nginx:404"} {
					playOn(t, stages, annotated(newPod(image), chosen...))
				}
			}
			return
		}
		for _, value := range values[i][1:] {
			if value == "" {
				pairs(i+1, chosen)
			} else if len(chosen) < 4 || values[i][0] == "container" { // two at a time are enough to contradict each other
				pairs(i+1, append(chosen[:len(chosen):len(chosen)], values[i][0], value))
			}
		}
	}
	pairs(0, nil)
}

// playOn goes on for some stages; playStage fails where two match.
func playOn(t *testing.T, stages lifecycle.Lifecycle, pod *corev1.Pod) {
	t.Helper()
	for range 4 {
		var step string
		if step, pod = playStage(t, stages, pod); step == "" {
			return
		}
	}
}

// TestNodeStages: a node is made ready with what kwok has for nodes alone.
func TestNodeStages(t *testing.T) {
	stages := stagesOf(t, "Node")
	renderer := gotpl.NewRenderer(gotpl.FuncMap{"NodeIP": func() string { return "10.254.0.1" }})
	for ready, want := range map[corev1.ConditionStatus]int{corev1.ConditionTrue: 0, corev1.ConditionUnknown: 1} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		matching, err := stages.ListAllPossible(t.Context(), &lifecycle.Event{Data: node})
		if err != nil || len(matching) != want {
			t.Fatalf("%d stages match a node whose readiness is %s (%v), want %d", len(matching), ready, err, want)
		}
		for _, stage := range matching {
			if _, err := stage.DoSteps(0, nil, node, renderer, nil, nil, func(*lifecycle.Patch) error { return nil }, nil); err != nil {
				t.Errorf("stage %s: %v", stage.Name(), err)
			}
		}
	}
}
