package main

import (
	"net"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestDemoVersionsCountUp(t *testing.T) {
	for image, want := range map[string]string{"shop:v1": "shop:v2", "shop:v9": "shop:v10", "other:latest": "other:latest:v1"} {
		d := demoDeployment{image: image}.object()
		if got := nextVersion(d); got != want {
			t.Errorf("after %s comes %s, want %s", image, got, want)
		}
	}
}

func TestDemoKnowsWhenARolloutIsOver(t *testing.T) {
	done := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	for _, c := range []struct {
		name   string
		change func(*appsv1.DeploymentStatus)
		want   bool
	}{
		{"over", func(*appsv1.DeploymentStatus) {}, true},
		{"not seen yet", func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }, false},
		{"old pods left", func(s *appsv1.DeploymentStatus) { s.Replicas = 4 }, false},
		{"new pods missing", func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 2 }, false},
		{"new pods not available", func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 2 }, false},
	} {
		d := demoDeployment{replicas: 3, image: "x:1"}.object()
		d.Generation, d.Status = 2, done
		c.change(&d.Status)
		if got := rolledOut(d); got != c.want {
			t.Errorf("%s: rolled out %t, want %t", c.name, got, c.want)
		}
	}
}

func TestNodesCanTakePods(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	for _, c := range []struct {
		name string
		node corev1.Node
		want bool
	}{
		{"ready", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}}, true},
		{"new", corev1.Node{}, false},
		{"not ready", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}}}, false},
		{"tainted", corev1.Node{
			Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		}, false},
	} {
		if got := schedulable(&c.node); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	seen := map[string]bool{}
	for i := 1; i <= mostNodes; i++ {
		node := newNode(i, kubernetesVersion)
		if _, _, err := net.ParseCIDR(node.Spec.PodCIDR); err != nil || seen[node.Spec.PodCIDR] {
			t.Errorf("network of node %d: %s (%v)", i, node.Spec.PodCIDR, err)
		}
		seen[node.Spec.PodCIDR] = true
	}
}
