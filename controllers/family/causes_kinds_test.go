package family

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
