package e2e_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// TestPodThatIsLostByItself: a status that tells late of a pod that stopped serving by itself leaves no bound, and
// one that tells of fewer does.
func TestPodThatIsLostByItself(t *testing.T) {
	for available, want := range map[int32]int{2: 0, 1: 0, 0: 1} {
		if b := replay(loses(available)); len(b.breaches) != want {
			t.Errorf("status of %d: %v, want %d", available, b.breaches, want)
		}
	}
}

// loses is a Deployment of 2, none of which may be unavailable: a pod is not ready for a moment, and its ReplicaSet's
// status then tells of so many.
func loses(available int32) (list []change) {
	owned := func(uid, by types.UID) metav1.ObjectMeta {
		yes := true
		return metav1.ObjectMeta{Name: string(uid), UID: uid, Generation: 1, OwnerReferences: []metav1.OwnerReference{{UID: by, Controller: &yes}}}
	}
	two, one, none := int32(2), intstr.FromInt32(1), intstr.FromInt32(0)
	add := func(c change) { c.rv, c.kind = uint64(len(list)+1), watch.Modified; list = append(list, c) }
	add(change{object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web", Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: &two,
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, AvailableReplicas: 2}}})
	set := func(available int32) {
		add(change{object: &appsv1.ReplicaSet{ObjectMeta: owned("set", "web"), Spec: appsv1.ReplicaSetSpec{Replicas: &two},
			Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: 2, AvailableReplicas: available}}})
	}
	pod := func(i int, ready corev1.ConditionStatus) {
		add(change{object: &corev1.Pod{ObjectMeta: owned(types.UID(fmt.Sprint("pod-", i)), "set"),
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}})
	}
	set(0)
	pod(1, corev1.ConditionTrue)
	pod(2, corev1.ConditionTrue)
	set(2)
	pod(2, corev1.ConditionFalse)
	pod(2, corev1.ConditionTrue)
	set(available)
	return list
}
