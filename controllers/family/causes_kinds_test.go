package family

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestPodLife tells a pod's life from causes alone.
func TestPodLife(t *testing.T) {
	life := []*corev1.Pod{
		{ObjectMeta: lab.Object("web-1-a", "p", "1", nil, nil), Status: corev1.PodStatus{Phase: corev1.PodPending}},
		{}, {}, {}, {}, {},
	}
	steps := []func(*corev1.Pod){nil,
		func(p *corev1.Pod) { p.Spec.NodeName = "node-7" },
		func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
		},
		func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		},
		func(p *corev1.Pod) {
			p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
		},
		func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} },
	}
	want := [][]decision.Change{nil,
		{{Field: "spec.nodeName", To: "node-7"}},
		{{Field: "status.reason", To: "ErrImagePull"}},
		{{Field: "status.phase", From: "Pending", To: "Running"}, {Field: "status.conditions[Ready]", From: "false", To: "true"},
			{Field: "status.reason", From: "ErrImagePull"}, {Field: "status.restarts", From: "0", To: "2"}},
		{{Field: "status.conditions[Ready]", From: "true", To: "false"}, {Field: "status.reason", To: "ContainersNotReady"}},
		{{Field: "metadata.deletionTimestamp"}},
	}
	for i := 1; i < len(life); i++ {
		life[i] = life[i-1].DeepCopy()
		steps[i](life[i])
		if diff := cmp.Diff(want[i], PodFields(life[i-1], life[i])); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

// Every field that a loop decides on is named where it changed, from what to what.
func TestFieldsOfEveryChange(t *testing.T) {
	changed := func(path, from, to string) decision.Change { return decision.Change{Field: path, From: from, To: to} }
	is := func(kind string) decision.Change {
		return changed("status.conditions["+kind+"]", "False Slow", "True Fast")
	}
	is1, is2 := metav1.ObjectMeta{}, metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(9, 0)}, Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"},
		OwnerReferences: []metav1.OwnerReference{*lab.OwnedBy(KindDeployment, "web", "d")}, Finalizers: []string{"f"}}
	meta := []decision.Change{{Field: "metadata.deletionTimestamp"}, {Field: "metadata.labels[l]"}, {Field: "metadata.annotations[a]"}, {Field: "metadata.ownerReferences", To: "web"}, {Field: "metadata.finalizers"}}
	r1 := &appsv1.ReplicaSet{ObjectMeta: is1, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1)), MinReadySeconds: 1},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: 1, FullyLabeledReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, TerminatingReplicas: new(int32(1)),
			Conditions: []appsv1.ReplicaSetCondition{{Type: "B", Status: corev1.ConditionFalse, Reason: "Slow"}}}}
	r2 := &appsv1.ReplicaSet{ObjectMeta: is2, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), MinReadySeconds: 2, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, TerminatingReplicas: new(int32(2)),
			Conditions: []appsv1.ReplicaSetCondition{{Type: "B", Status: corev1.ConditionTrue, Reason: "Fast"}}}}
	want := slices.Concat([]decision.Change{changed("spec.replicas", "1", "2"), changed("spec.minReadySeconds", "1", "2"), {Field: "spec.selector"}}, meta,
		[]decision.Change{changed("status.observedGeneration", "1", "2"), changed("status.replicas", "1", "2"), changed("status.fullyLabeledReplicas", "1", "2"), changed("status.readyReplicas", "1", "2"),
			changed("status.availableReplicas", "1", "2"), changed("status.terminatingReplicas", "1", "2"), is("B")})
	if diff := cmp.Diff(want, ReplicaSetFields(r1, r2)); diff != "" {
		t.Errorf("ReplicaSet (-want +got):\n%s", diff)
	}
	p1, p2 := &corev1.Pod{ObjectMeta: is1}, &corev1.Pod{ObjectMeta: is2}
	p1.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	p2.Spec.InitContainers = p1.Spec.InitContainers
	p1.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}}
	p1.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "Spared"}}
	p2.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 5}}
	p2.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "Preempted"}}
	want = slices.Concat([]decision.Change{changed("status.conditions[DisruptionTarget]", "", "Preempted"), changed("status.restarts", "2", "5")}, meta)
	if diff := cmp.Diff(want, PodFields(p1, p2)); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if changed := PodFields(p2, p2); len(changed) != 0 {
		t.Errorf("of what did not change: %+v", changed)
	}
}
