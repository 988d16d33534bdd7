package family

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestFieldsAreBounded(t *testing.T) {
	var old, many appsv1.ReplicaSet
	many.Labels = map[string]string{}
	for _, c := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		many.Labels[c] = c
	}
	if n := len(ReplicaSetFields(&old, &many)); n != changes.MaxFields {
		t.Errorf("a cause names %d fields, want %d", n, changes.MaxFields)
	}
}

func TestPodFields(t *testing.T) {
	old := lab.Pod(corev1.PodPending, "ContainerCreating", false)
	ready := lab.Pod(corev1.PodRunning, "", true)
	want := []decision.Change{
		{Field: "status.phase", From: "Pending", To: "Running"},
		{Field: "status.conditions[Ready]", From: "false", To: "true"},
		{Field: "status.reason", From: "ContainerCreating"},
	}
	if diff := cmp.Diff(want, PodFields(old, ready)); diff != "" {
		t.Error(diff)
	}
	started := lab.Pod(corev1.PodPending, "ContainerCreating", false)
	started.Status.Conditions = append(started.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue})
	want = []decision.Change{{Field: "status.conditions[PodReadyToStartContainers]", To: "True"}}
	if diff := cmp.Diff(want, PodFields(old, started)); diff != "" {
		t.Error(diff)
	}
}
