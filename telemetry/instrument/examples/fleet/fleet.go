package main

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
)

// fleets is the controller: a ConfigMap with a size is a fleet, and has a Deployment of its
// name that grows by one pod at a time, each after the one before is available.
type fleets struct {
	client      kubernetes.Interface
	configMaps  corelisters.ConfigMapLister
	deployments appslisters.DeploymentLister
	queue       *instrument.Queue[string]
}

func newFleets(c *instrument.Controller, client kubernetes.Interface, f informers.SharedInformerFactory) *fleets {
	x := &fleets{client, f.Core().V1().ConfigMaps().Lister(), f.Apps().V1().Deployments().Lister(), instrument.NewQueue[string](c, nil)}
	_, _ = f.Core().V1().ConfigMaps().Informer().AddEventHandler(x.queue.Handler("ConfigMap", withSize))
	_, _ = f.Apps().V1().Deployments().Informer().AddEventHandler(x.queue.Handler("Deployment", instrument.OwnerKey("ConfigMap")))
	return x
}

func withSize(o metav1.Object) []string {
	if cm, ok := o.(*corev1.ConfigMap); !ok || cm.Data["size"] == "" {
		return nil
	}
	return instrument.ObjectKey(o)
}

func (x *fleets) work(ctx context.Context) {
	for key, shutdown := x.queue.Get(); !shutdown; key, shutdown = x.queue.Get() {
		if err := x.queue.Sync(ctx, key, x.sync); err != nil {
			x.queue.AddRateLimited(key)
		} else {
			x.queue.Forget(key)
		}
		x.queue.Done(key)
	}
}

func (x *fleets) sync(ctx context.Context, key string) error {
	namespace, name, _ := cache.SplitMetaNamespaceKey(key)
	fleet, err := x.configMaps.ConfigMaps(namespace).Get(name)
	if !instrument.Ask(ctx, "exists", !apierrors.IsNotFound(err)) || err != nil {
		return unlessNotFound(err)
	}
	size, err := strconv.Atoi(fleet.Data["size"])
	if !instrument.Ask(ctx, "size-is-a-number", err == nil, decision.Text("size", fleet.Data["size"])) {
		return err
	}
	d, err := x.deployments.Deployments(namespace).Get(name)
	if !instrument.Ask(ctx, "has-deployment", err == nil) {
		_, err = x.client.AppsV1().Deployments(namespace).Create(ctx, deploymentOf(fleet), metav1.CreateOptions{})
		return err
	}
	now := int(*d.Spec.Replicas)
	instrument.Numbers(ctx, decision.Count("size", int64(size)), decision.Count("pods", int64(now)), decision.Count("available", int64(d.Status.AvailableReplicas)))
	if instrument.Count(ctx, "pods-to-add", int64(size-now)) <= 0 {
		return nil
	}
	if !instrument.Ask(ctx, "last-one-available", int(d.Status.AvailableReplicas) >= now, decision.Count("available", int64(d.Status.AvailableReplicas)), decision.Count("pods", int64(now))) {
		instrument.Hold(ctx, decision.Held{Code: "last-pod", Kind: "scale", Target: decision.Ref{Kind: "Deployment", Namespace: namespace, Name: name},
			Size: &decision.Size{From: int64(now), To: int64(now + 1)}, Unblocks: decision.Words{}.Say("when its newest pod is available")})
		return nil
	}
	d = d.DeepCopy()
	*d.Spec.Replicas++
	_, err = x.client.AppsV1().Deployments(namespace).Update(ctx, d, metav1.UpdateOptions{})
	return err
}

// unlessNotFound is an error of a cache, where not to find something is none.
func unlessNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func deploymentOf(fleet *corev1.ConfigMap) *appsv1.Deployment {
	one, labels := int32(1), map[string]string{"fleet": fleet.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: fleet.Name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(fleet, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ship", Image: fleet.Data["image"]}}},
		}},
	}
}
