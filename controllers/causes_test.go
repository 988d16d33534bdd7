package controllers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestDeploymentFields(t *testing.T) {
	two, four := int32(2), int32(4)
	base := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"token": "hunter2", "keep": "x"}},
		Spec:       appsv1.DeploymentSpec{Replicas: &two, Template: *template(nil, "nginx:1.27")},
	}
	for _, c := range []struct {
		name string
		edit func(*appsv1.Deployment)
		want []decision.Change
	}{
		{"nothing", func(*appsv1.Deployment) {}, nil},
		{"size", func(d *appsv1.Deployment) { d.Spec.Replicas = &four }, []decision.Change{{Field: "spec.replicas", From: "2", To: "4"}}},
		{"paused", func(d *appsv1.Deployment) { d.Spec.Paused = true }, []decision.Change{{Field: "spec.paused", From: "false", To: "true"}}},
		{"image", func(d *appsv1.Deployment) { d.Spec.Template = *template(nil, "nginx:404") }, []decision.Change{
			{Field: "spec.template.containers[web].image", From: "nginx:1.27", To: "nginx:404"}, {Field: "spec.template"}}},
		{"annotations are named, never shown", func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"token": "correct horse", "new": "secret"}
		}, []decision.Change{{Field: "metadata.annotations[keep]"}, {Field: "metadata.annotations[new]"}, {Field: "metadata.annotations[token]"}}},
		{"condition", func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Progressing", Status: "True", Reason: "ReplicaSetUpdated"}}
		}, []decision.Change{{Field: "status.conditions[Progressing]", To: "True ReplicaSetUpdated"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := base.DeepCopy()
			c.edit(d)
			if diff := cmp.Diff(c.want, deploymentFields(&base, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFieldsAreBounded(t *testing.T) {
	var old, many appsv1.ReplicaSet
	many.Labels = map[string]string{}
	for _, c := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		many.Labels[c] = c
	}
	if n := len(replicaSetFields(&old, &many)); n != maxFields {
		t.Errorf("a cause names %d fields, want %d", n, maxFields)
	}
}

func TestPodFields(t *testing.T) {
	old := pod(corev1.PodPending, "ContainerCreating", false)
	ready := pod(corev1.PodRunning, "", true)
	want := []decision.Change{
		{Field: "status.phase", From: "Pending", To: "Running"},
		{Field: "status.conditions[Ready]", From: "false", To: "true"},
		{Field: "status.reason", From: "ContainerCreating"},
	}
	if diff := cmp.Diff(want, podFields(old, ready)); diff != "" {
		t.Error(diff)
	}
}

func TestCauses(t *testing.T) {
	now := time.Unix(100, 0)
	old := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "1"}}
	same, newer := old.DeepCopy(), old.DeepCopy()
	newer.ResourceVersion = "2"
	for _, c := range []struct {
		name string
		got  telemetry.Cause
		want telemetry.Cause
	}{
		{"added", added("ReplicaSet", old, false, now), telemetry.Cause{Kind: "added", At: now, Object: "ReplicaSet web", NewRV: "1"}},
		{"first list", added("ReplicaSet", old, true, now), telemetry.Cause{Kind: "start", At: now, Object: "ReplicaSet web", NewRV: "1"}},
		{"resync", modified("ReplicaSet", old, same, nil, "", now), telemetry.Cause{Kind: "resync", At: now, Object: "ReplicaSet web", OldRV: "1", NewRV: "1"}},
		{"modified", modified("ReplicaSet", old, newer, nil, "helm", now), telemetry.Cause{Kind: "modified", At: now, Object: "ReplicaSet web", OldRV: "1", NewRV: "2", Manager: "helm"}},
		{"deleted", deleted("ReplicaSet", old, false, now), telemetry.Cause{Kind: "deleted", At: now, Object: "ReplicaSet web", OldRV: "1"}},
		{"tombstone", deleted("ReplicaSet", old, true, now), telemetry.Cause{Kind: "tombstone", At: now, Object: "ReplicaSet web", OldRV: "1"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// [E-1]: a delete may come as a tombstone, with anything or nothing in it.
func TestUnwrap(t *testing.T) {
	rs := &appsv1.ReplicaSet{}
	for _, c := range []struct {
		name          string
		obj           any
		tombstone, ok bool
	}{
		{"object", rs, false, true},
		{"tombstone", cache.DeletedFinalStateUnknown{Obj: rs}, true, true},
		{"empty tombstone", cache.DeletedFinalStateUnknown{}, true, false},
		{"another kind in a tombstone", cache.DeletedFinalStateUnknown{Obj: &corev1.Pod{}}, true, false},
		{"another kind", &corev1.Pod{}, false, false},
		{"nothing", nil, false, false},
	} {
		_, tombstone, ok := unwrap[*appsv1.ReplicaSet](c.obj)
		if tombstone != c.tombstone || ok != c.ok {
			t.Errorf("%s: tombstone %v, ok %v, want %v, %v", c.name, tombstone, ok, c.tombstone, c.ok)
		}
	}
}

func TestManagersStripOnlyManagedFields(t *testing.T) {
	m := NewManagers()
	early, late := metav1.Unix(1, 0), metav1.Unix(2, 0)
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &late}, {Manager: "kubectl", Time: &early}},
	}}
	want := rs.DeepCopy()
	want.ManagedFields = nil
	got, err := m.Strip(rs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if entries := m.at("u", ""); len(entries) != 2 || entries[0].by.Value().manager != "helm" {
		t.Errorf("what was signed: %v, want helm and kubectl", entries)
	}
	m.forget("u")
	if m.at("u", "") != nil {
		t.Error("a forgotten object still has a writer")
	}
}

func pod(phase corev1.PodPhase, reason string, ready bool) *corev1.Pod {
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	if reason != "" {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Unix(1000, 0)}}
	return p
}
