package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// stagesOf returns the stages that act on a kind.
func stagesOf(t *testing.T, kind string) lifecycle.Lifecycle {
	t.Helper()
	grouped, err := parseStages(stagesYAML)
	if err != nil {
		t.Fatal(err)
	}
	stages, err := lifecycle.NewLifecycle(grouped[internalversion.StageResourceRef{APIGroup: "v1", Kind: kind}])
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

var stageRenderer = gotpl.NewRenderer(gotpl.FuncMap{
	"NodeIP":     func() string { return "10.254.0.1" },
	"NodeIPWith": func(string) string { return "10.254.0.1" },
	"PodIPWith":  func(string, bool, string, string, string) string { return "10.1.0.1" },
})

// playStage does to pod what kwok would do next. It returns the stage's name
// and delay, or "" when no stage matches, and the pod after it, or nil when the
// stage deletes it. Two stages at a time are an error: kwok would draw lots.
func playStage(t *testing.T, stages lifecycle.Lifecycle, pod *corev1.Pod) (string, *corev1.Pod) {
	t.Helper()
	event := &lifecycle.Event{Labels: pod.Labels, Annotations: pod.Annotations, Data: pod}
	matching, err := stages.ListAllPossible(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	if len(matching) == 0 {
		return "", pod
	}
	if len(matching) > 1 {
		t.Fatalf("stages %s and %s both match a pod", matching[0].Name(), matching[1].Name())
	}
	stage := matching[0]
	delay, _, err := stage.Delay(t.Context(), event, time.Now())
	if err != nil {
		t.Fatalf("delay of stage %s: %v", stage.Name(), err)
	}
	after := pod
	_, err = stage.DoSteps(0, pod.Finalizers, pod, stageRenderer,
		func(*internalversion.StageEvent) error { return nil },
		func() error { after = nil; return nil },
		func(patch *lifecycle.Patch) error {
			if patch.Subresource != "status" {
				return fmt.Errorf("patches subresource %q", patch.Subresource)
			}
			after, err = patched(pod, patch.Data)
			return err
		},
		func(apply *lifecycle.Apply) error { return checkEvent(pod, apply.Data) })
	if err != nil {
		t.Fatalf("stage %s: %v", stage.Name(), err)
	}
	return fmt.Sprintf("%s %s", stage.Name(), delay), after
}

// checkEvent takes an event as an API server would.
func checkEvent(pod *corev1.Pod, data []byte) error {
	var event corev1.Event
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&event); err != nil {
		return err
	}
	if event.Kind != "Event" || event.InvolvedObject.UID != pod.UID || event.Reason == "" || event.Message == "" || strings.Contains(event.Message, "$(") {
		return fmt.Errorf("no event of the pod: %s", data)
	}
	return nil
}

func patched(pod *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(before, patch, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	after := &corev1.Pod{}
	return after, json.Unmarshal(merged, after)
}

// placed is a pod as the scheduler leaves it.
func placed(images ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u"},
		Spec:       corev1.PodSpec{NodeName: "sandbox-1"},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		}},
	}
	for i, image := range images {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: image})
	}
	return pod
}

func with(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	change(pod)
	return pod
}

func annotated(pod *corev1.Pod, pairs ...string) *corev1.Pod {
	pod.Annotations = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		pod.Annotations["sandbox.loopscope.dev/"+pairs[i]] = pairs[i+1]
	}
	return pod
}

// deleted marks a pod as deleted with so many seconds of grace.
func deleted(pod *corev1.Pod, grace int64) *corev1.Pod {
	now := metav1.Now()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &grace
	return pod
}

// summary is what a pod shows: phase, readiness and its containers' states.
func summary(pod *corev1.Pod) string {
	if pod == nil {
		return "gone"
	}
	ready := "unknown"
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			ready = strings.TrimSuffix(fmt.Sprintf("%s (%s)", condition.Status, condition.Reason), " ()")
		}
	}
	words := []string{string(pod.Status.Phase), "ready " + ready}
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		state := "running"
		switch {
		case c.State.Waiting != nil:
			state = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			state = c.State.Terminated.Reason
		}
		words = append(words, fmt.Sprintf("%s %s %d", c.Name, state, c.RestartCount))
	}
	return strings.Join(words, ", ")
}

func TestPodStages(t *testing.T) {
	withInit := func(image string) *corev1.Pod {
		return with(placed("nginx:1"), func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: image}}
		})
	}
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		want  []string // stages with their delays, at most so many
		state string   // after them
	}{
		{"ordinary", placed("nginx:1"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, c0 running 0"},
		{"two containers", placed("nginx:1", "sidecar"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, c0 running 0, c1 running 0"},
		{"slow", annotated(placed("nginx:1"), "ready-after", "5s"), []string{"pod-creating 0s", "pod-ready 5s", ""}, "Running, ready True, c0 running 0"},
		{"slow with a typing error", annotated(placed("nginx:1"), "ready-after", "soon"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, c0 running 0"},
		{"init container", withInit("busybox"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, i Completed 0, c0 running 0"},
		{"init container without image", withInit("busybox:404"), []string{"pod-creating 0s", "pod-pull-error 500ms", "pod-pull-back-off 2s", ""},
			"Pending, ready False (ContainersNotReady), i ImagePullBackOff 0, c0 PodInitializing 0"},
		{"missing", placed("nginx:404"), []string{"pod-creating 0s", "pod-pull-error 500ms", "pod-pull-back-off 2s", ""},
			"Pending, ready False (ContainersNotReady), c0 ImagePullBackOff 0"},
		{"one of two missing", placed("nginx:1", "registry:5000/shop:bad"), []string{"pod-creating 0s", "pod-pull-error 500ms", "pod-pull-back-off 2s", ""},
			"Pending, ready False (ContainersNotReady), c0 running 0, c1 ImagePullBackOff 0"},
		{"digest", placed("nginx:404@sha256:0"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, c0 running 0"},
		{"port", placed("bad:404/nginx"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, c0 running 0"},
		{"never ready", annotated(placed("nginx:1"), "never-ready", "true"), []string{"pod-creating 0s", "pod-never-ready 1s", ""},
			"Running, ready False (ContainersNotReady), c0 running 0"},
		{"never ready is false", annotated(placed("nginx:1"), "never-ready", "false"), []string{"pod-creating 0s", "pod-ready 1s", ""}, "Running, ready True, c0 running 0"},
		{"missing wins over crashing", annotated(placed("nginx:404"), "crash-loop", "true"), []string{"pod-creating 0s", "pod-pull-error 500ms", "pod-pull-back-off 2s", ""},
			"Pending, ready False (ContainersNotReady), c0 ImagePullBackOff 0"},
		{"crash loop", annotated(placed("nginx:1"), "crash-loop", "true", "never-ready", "true"), []string{
			"pod-creating 0s", "pod-crash-start 1s", "pod-crash 1s", "pod-crash-start 2s", "pod-crash 1s", "pod-crash-start 4s", "pod-crash 1s",
			"pod-crash-start 8s", "pod-crash 1s", "pod-crash-start 16s", "pod-crash 1s", "pod-crash-start 32s", "pod-crash 1s",
			"pod-crash-start 1m0s", "pod-crash 1s", "pod-crash-start 1m0s", "pod-crash 1s",
		}, "Running, ready False (ContainersNotReady), c0 CrashLoopBackOff 7"},
		{"job", with(placed("job:1"), func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job"}} }),
			[]string{"pod-creating 0s", "pod-ready 1s", "pod-complete 1s", ""}, "Succeeded, ready False (PodCompleted), c0 Completed 0"},
		{"deleted", deleted(placed("nginx:1"), 30), []string{"pod-delete 1s"}, "gone"},
		{"deleted, slow to go", annotated(deleted(placed("nginx:1"), 30), "gone-after", "10s"), []string{"pod-delete 10s"}, "gone"},
		{"deleted, slower than its grace", annotated(deleted(placed("nginx:1"), 3), "gone-after", "10s"), []string{"pod-delete 3s"}, "gone"},
		{"deleted, annotated with nonsense", annotated(deleted(placed("nginx:1"), 3), "gone-after", "later"), []string{"pod-delete 1s"}, "gone"},
		{"deleted, never gone", annotated(deleted(placed("nginx:1"), 3), "gone-after", "never"), []string{""}, "Pending, ready unknown"},
		{"deleted, with a finalizer", with(deleted(placed("nginx:1"), 3), func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/held"} }), []string{"pod-delete 1s"}, "gone"},
		{"deleted, no grace left", deleted(placed("nginx:1"), 0), []string{""}, "Pending, ready unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stages, pod := stagesOf(t, "Pod"), c.pod
			var got []string
			for range c.want {
				if pod == nil {
					break
				}
				var step string
				step, pod = playStage(t, stages, pod)
				got = append(got, step)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
			if state := summary(pod); state != c.state {
				t.Errorf("after them: %s\nwant:       %s", state, c.state)
			}
		})
	}
}

// TestPodRecovers changes a pod that is in trouble, or out of it, as kubectl
// would, and sees it follow.
func TestPodRecovers(t *testing.T) {
	settle := func(t *testing.T, pod *corev1.Pod, steps int) *corev1.Pod {
		stages := stagesOf(t, "Pod")
		for range steps {
			_, pod = playStage(t, stages, pod)
		}
		return pod
	}
	for _, c := range []struct {
		name   string
		pod    *corev1.Pod
		before string
		change func(*corev1.Pod)
		after  string
	}{
		{"image corrected", placed("nginx:404"), "Pending, ready False (ContainersNotReady), c0 ImagePullBackOff 0",
			func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "nginx:1" }, "Running, ready True, c0 running 0"},
		{"probe passes again", annotated(placed("nginx:1"), "never-ready", "true"), "Running, ready False (ContainersNotReady), c0 running 0",
			func(pod *corev1.Pod) { pod.Annotations = nil }, "Running, ready True, c0 running 0"},
		{"probe fails from now on", placed("nginx:1"), "Running, ready True, c0 running 0",
			func(pod *corev1.Pod) { annotated(pod, "never-ready", "true") }, "Running, ready False (ContainersNotReady), c0 running 0"},
		{"crashing ends", annotated(placed("nginx:1"), "crash-loop", "true"), "Running, ready False (ContainersNotReady), c0 CrashLoopBackOff 1",
			func(pod *corev1.Pod) { pod.Annotations = nil }, "Running, ready True, c0 running 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := settle(t, c.pod, 5)
			if got := summary(pod); got != c.before {
				t.Fatalf("before the change: %s\nwant:              %s", got, c.before)
			}
			c.change(pod)
			if got := summary(settle(t, pod, 3)); got != c.after {
				t.Errorf("after the change: %s\nwant:             %s", got, c.after)
			}
		})
	}
}

// TestPodKeepsItsAddress: a second address of the same family is invalid.
func TestPodKeepsItsAddress(t *testing.T) {
	stages, pod := stagesOf(t, "Pod"), annotated(placed("nginx:1"), "crash-loop", "true")
	for range 6 {
		_, pod = playStage(t, stages, pod)
	}
	if want := []corev1.PodIP{{IP: "10.1.0.1"}}; !cmp.Equal(pod.Status.PodIPs, want) || pod.Status.PodIP != want[0].IP {
		t.Errorf("addresses %v and %s, want one and the same", pod.Status.PodIPs, pod.Status.PodIP)
	}
}
