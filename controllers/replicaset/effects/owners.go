package effects

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
)

// owners is a kind of object that keeps a number of pods, in the form of
// ReplicaSets: a ReplicationController has nothing that this form lacks, so that
// one body serves both. Objects that come out of a cache must not be changed.
type owners interface {
	kind() schema.GroupVersionKind
	resource() string
	// form is the object of an event, nil where it is of another type.
	form(obj any) *appsv1.ReplicaSet
	get(namespace, name string) (*appsv1.ReplicaSet, error)
	list(namespace string) []*appsv1.ReplicaSet
	// siblings are those that have the same controller, itself included.
	siblings(rs *appsv1.ReplicaSet) []*appsv1.ReplicaSet
	live(ctx context.Context, namespace, name string) (*appsv1.ReplicaSet, error)
	putStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error)
}

// replicaSets are the owners that need no other form.
type replicaSets struct {
	lister  appslisters.ReplicaSetLister
	indexer cache.Indexer
	client  kubernetes.Interface
}

func (replicaSets) kind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind(family.KindReplicaSet)
}

func (replicaSets) resource() string { return family.ResourceReplicaSets }

func (replicaSets) form(obj any) *appsv1.ReplicaSet {
	rs, _ := obj.(*appsv1.ReplicaSet) // nil says the same
	return rs
}

func (o replicaSets) get(namespace, name string) (*appsv1.ReplicaSet, error) {
	return o.lister.ReplicaSets(namespace).Get(name)
}

func (o replicaSets) list(namespace string) []*appsv1.ReplicaSet {
	list, _ := o.lister.ReplicaSets(namespace).List(labels.Everything()) // A lister over a cache does not fail.
	return list
}

func (o replicaSets) siblings(rs *appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	uid := engine.OwnerUID(rs)
	if uid == "" {
		return nil
	}
	return family.ControlledBy(o.indexer, rs.Namespace, uid)
}

func (o replicaSets) live(ctx context.Context, namespace, name string) (*appsv1.ReplicaSet, error) {
	return o.client.AppsV1().ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (o replicaSets) putStatus(ctx context.Context, rs *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	return o.client.AppsV1().ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs, metav1.UpdateOptions{})
}
