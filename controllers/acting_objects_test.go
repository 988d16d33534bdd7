package controllers

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// Objects of scenes are made long before it.
var actingMade = metav1.NewTime(lab.At.Add(-time.Hour))

func actingMeta(name, uid, rv string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: rv, Generation: 1, Labels: labels, CreationTimestamp: actingMade}
}

// template is that of the Deployments, ReplicaSets and ReplicationControllers of scenes.
func actingTemplate(image string, labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"note": "of the template"}, Finalizers: []string{"example.com/hold"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

// webDeployment is a Deployment of three pods at rest, as far as its own status goes.
func webDeployment() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: actingMeta("web", "uid-web", "100", map[string]string{"app": "web"}), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: lab.AppWeb}, MinReadySeconds: 5,
		Template: actingTemplate("shop:v2", lab.AppWeb), ProgressDeadlineSeconds: new(int32(600)), RevisionHistoryLimit: new(int32(10)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(1))}},
	}}
	d.Annotations = map[string]string{deployments.AnnotationRevision: "2", "team": "red", corev1.LastAppliedConfigAnnotation: "{}"}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, TerminatingReplicas: new(int32),
		Conditions: []appsv1.DeploymentCondition{
			deploymentCondition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable", "Deployment has minimum availability."),
			deploymentCondition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable", `ReplicaSet "web-2" has successfully progressed.`),
		}}
	return d
}

func deploymentCondition(kind appsv1.DeploymentConditionType, reason, message string) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: actingMade, LastTransitionTime: actingMade}
}

// webSet is one of its ReplicaSets, of that size with as many available pods: revision 2
// has the template, any other an older one.
func webSet(revision int, size int32) *appsv1.ReplicaSet {
	name, hash := fmt.Sprint("web-", revision), fmt.Sprint("hash-", revision)
	rs := &appsv1.ReplicaSet{ObjectMeta: actingMeta(name, "uid-"+name, fmt.Sprint(100+revision), map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: hash})}
	rs.OwnerReferences = []metav1.OwnerReference{*lab.OwnedBy(family.KindDeployment, "web", "uid-web")}
	rs.Annotations = map[string]string{deployments.AnnotationRevision: fmt.Sprint(revision), deployments.AnnotationDesired: "3", deployments.AnnotationMax: "4", "team": "red"}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: &size, MinReadySeconds: 5, Selector: &metav1.LabelSelector{MatchLabels: rs.Labels}, Template: actingTemplate(fmt.Sprint("shop:v", revision), rs.Labels)}
	rs.Status = appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: size, FullyLabeledReplicas: size, ReadyReplicas: size, AvailableReplicas: size, TerminatingReplicas: new(int32)}
	return rs
}

// keeper is an owner of pods that wants some: a ReplicaSet or a ReplicationController.
func keeper(kind string, want int32) runtime.Object {
	m := actingMeta("web", "uid-web", "100", map[string]string{"app": "web"})
	if kind == family.KindReplicationController {
		rc := &corev1.ReplicationController{ObjectMeta: m, Spec: corev1.ReplicationControllerSpec{Replicas: &want, Selector: lab.AppWeb, Template: new(actingTemplate("shop:v2", lab.AppWeb))}}
		rc.Status = corev1.ReplicationControllerStatus{ObservedGeneration: 1}
		return rc
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: &want, Selector: &metav1.LabelSelector{MatchLabels: lab.AppWeb}, Template: actingTemplate("shop:v2", lab.AppWeb)}}
	rs.Status = appsv1.ReplicaSetStatus{ObservedGeneration: 1, TerminatingReplicas: new(int32)}
	return rs
}

// setStatus says in a keeper's status that it has so many pods, all of them available.
func setStatus(o runtime.Object, pods int32) runtime.Object {
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		o.Status.Replicas, o.Status.FullyLabeledReplicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas = pods, pods, pods, pods
	case *corev1.ReplicationController:
		o.Status.Replicas, o.Status.FullyLabeledReplicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas = pods, pods, pods, pods
	}
	return o
}

// webPod is a ready pod of an owner of that kind, of nobody where the kind is "".
func webPod(name, kind string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: actingMeta(name, "uid-"+name, "200", map[string]string{"app": "web"}), Spec: corev1.PodSpec{NodeName: "node-1"}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{*lab.OwnedBy(kind, "web", "uid-web")}
	}
	if kind == family.KindReplicationController {
		p.OwnerReferences[0].APIVersion = "v1"
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: actingMade}}}
	return p
}

// terminating is an object that is being deleted.
func terminating[T metav1.Object](o T) T {
	o.SetDeletionTimestamp(&actingMade)
	return o
}
