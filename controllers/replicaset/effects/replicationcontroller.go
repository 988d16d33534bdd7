package effects

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// controllerSettings are the names of the ReplicationController loop and of its parts.
var controllerSettings = engine.Settings{Name: replicaset.ControllerLoop.Name, Component: "replication-controller", Queue: "replicationmanager"}

// RegisteredControllers is the ReplicationController loop as a program runs it.
var RegisteredControllers = engine.Registration{
	Controller: "replicationcontroller-controller", SyncsFlag: "concurrent-rc-syncs",
	Loop: replicaset.ControllerLoop, Resource: corev1.SchemeGroupVersion.WithResource("replicationcontrollers"), Settings: controllerSettings, Workers: engine.DefaultWorkers,
	Rights: rights(corev1.GroupName, "replicationcontrollers"),
	New: func(ctx context.Context, n engine.Needs) (*engine.Loop, error) {
		core := n.Informers.Core().V1()
		return NewReplicationController(ctx, core.ReplicationControllers(), core.Pods(), n.Client, n.Options)
	},
}

// NewReplicationController builds the ReplicationController loop on shared
// informers, registers its handlers and starts nothing. The informers may be
// started before Run. It is the ReplicaSet loop over another kind ([RM-1]).
func NewReplicationController(_ context.Context, controllers coreinformers.ReplicationControllerInformer, pods coreinformers.PodInformer, client kubernetes.Interface, opts engine.Options) (*engine.Loop, error) {
	opts = opts.WithDefaults()
	l := engine.New(controllerSettings, client, opts)
	o := replicationControllers{lister: controllers.Lister(), client: client}
	return l, keepPods(l, client, opts, o, controllers.Informer(), pods)
}

// replicationControllers are the owners that are put into the form of ReplicaSets.
type replicationControllers struct {
	lister corelisters.ReplicationControllerLister
	client kubernetes.Interface
}

func (replicationControllers) kind() schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind(family.KindReplicationController)
}

func (replicationControllers) resource() string { return family.ResourceReplicationControllers }

func (replicationControllers) form(obj any) *appsv1.ReplicaSet {
	if rc, ok := obj.(*corev1.ReplicationController); ok {
		return asReplicaSet(rc)
	}
	return nil
}

func (o replicationControllers) get(namespace, name string) (*appsv1.ReplicaSet, error) {
	return convert(o.lister.ReplicationControllers(namespace).Get(name))
}

func (o replicationControllers) list(namespace string) []*appsv1.ReplicaSet {
	found, _ := o.lister.ReplicationControllers(namespace).List(labels.Everything()) // A lister over a cache does not fail.
	list := make([]*appsv1.ReplicaSet, 0, len(found))
	for _, rc := range found {
		list = append(list, asReplicaSet(rc))
	}
	return list
}

// siblings are none: pods of a ReplicationController are ranked without ([P-7]).
func (replicationControllers) siblings(*appsv1.ReplicaSet) []*appsv1.ReplicaSet { return nil }

func (o replicationControllers) live(ctx context.Context, namespace, name string) (*appsv1.ReplicaSet, error) {
	return convert(o.client.CoreV1().ReplicationControllers(namespace).Get(ctx, name, metav1.GetOptions{}))
}

// putStatus sends no spec: the endpoint keeps the one that is stored.
func (o replicationControllers) putStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	rc := &corev1.ReplicationController{ObjectMeta: rs.ObjectMeta, Status: corev1.ReplicationControllerStatus{
		Replicas: rs.Status.Replicas, FullyLabeledReplicas: rs.Status.FullyLabeledReplicas, ReadyReplicas: rs.Status.ReadyReplicas,
		AvailableReplicas: rs.Status.AvailableReplicas, ObservedGeneration: rs.Status.ObservedGeneration,
	}}
	for _, c := range rs.Status.Conditions {
		rc.Status.Conditions = append(rc.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime,
		})
	}
	return convert(o.client.CoreV1().ReplicationControllers(rs.Namespace).UpdateStatus(ctx, rc, metav1.UpdateOptions{}))
}

// convert puts what was read into the form, and an error through.
func convert(rc *corev1.ReplicationController, err error) (*appsv1.ReplicaSet, error) {
	if err != nil {
		return nil, err
	}
	return asReplicaSet(rc), nil
}

// asReplicaSet shares everything but the outer fields. A template that is nil,
// which the type allows and the API server does not, becomes an empty one.
func asReplicaSet(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: rc.ObjectMeta,
		Spec:       appsv1.ReplicaSetSpec{Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds},
		Status: appsv1.ReplicaSetStatus{
			Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas, ReadyReplicas: rc.Status.ReadyReplicas,
			AvailableReplicas: rc.Status.AvailableReplicas, ObservedGeneration: rc.Status.ObservedGeneration,
		},
	}
	if rc.Spec.Selector != nil {
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
	}
	if rc.Spec.Template != nil {
		rs.Spec.Template = *rc.Spec.Template
	}
	for _, c := range rc.Status.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime,
		})
	}
	return rs
}
