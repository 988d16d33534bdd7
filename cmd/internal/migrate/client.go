package migrate

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/controllers/deployment/effects"
)

// fieldManager signs what is written.
const fieldManager = "loopscope-migrate"

// read is what there is of a migration now.
func read(ctx context.Context, client kubernetes.Interface, namespace string, o *Options) (*Cluster, error) {
	var c Cluster
	rc, err := client.CoreV1().ReplicationControllers(namespace).Get(ctx, o.Controller, metav1.GetOptions{})
	if err == nil {
		c.Controller = rc
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read ReplicationController %s: %w", o.Controller, err)
	}
	var r *record
	set, selector := "", map[string]string(nil)
	if c.Controller != nil {
		if r, err = recordOf(rc); err != nil || rc.Spec.Template == nil {
			return &c, nil // next says what is wrong.
		}
		selector, set = rc.Spec.Selector, effects.ReplicaSetName(o.name(nil), hashOf(rc.Spec.Template))
	}
	if r != nil {
		selector, set = r.Selector, setName(r)
	}
	d, err := client.AppsV1().Deployments(namespace).Get(ctx, o.name(r), metav1.GetOptions{})
	if err == nil {
		c.Deployment = d
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read Deployment %s: %w", o.name(r), err)
	}
	if o.MoveScalers || o.Undo {
		c.readScalers(ctx, client, namespace)
		if err := c.unreadable(o, r); err != nil {
			return nil, err
		}
	}
	if c.Controller == nil {
		return &c, nil
	}
	rs, err := client.AppsV1().ReplicaSets(namespace).Get(ctx, set, metav1.GetOptions{})
	if err == nil {
		c.Set = rs
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read ReplicaSet %s: %w", set, err)
	}
	if r != nil {
		if err := c.readOthers(ctx, client, namespace, r); err != nil {
			return nil, err
		}
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	c.Pods = pods.Items
	return &c, nil
}

// send makes one write. What was changed or deleted meanwhile is no error: whoever asks again
// decides on what there is then.
func send(ctx context.Context, client kubernetes.Interface, w *Write) error {
	var err error
	switch w.Verb {
	case Create:
		err = post(ctx, client, w.object, metav1.CreateOptions{FieldManager: fieldManager})
	case Update:
		err = put(ctx, client, w.object)
	case Delete:
		err = erase(ctx, client, w.object)
	default:
		err = patch(ctx, client, w)
	}
	if err == nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && w.Verb != Create {
		return nil
	}
	return fmt.Errorf("%s %s %s: %w", w.Verb, w.Kind, w.Name, err)
}

func post(ctx context.Context, client kubernetes.Interface, o Object, how metav1.CreateOptions) (err error) {
	switch x := o.(type) {
	case *appsv1.Deployment:
		_, err = client.AppsV1().Deployments(x.Namespace).Create(ctx, x, how)
	case *appsv1.ReplicaSet:
		_, err = client.AppsV1().ReplicaSets(x.Namespace).Create(ctx, x, how)
	case *corev1.Pod:
		_, err = client.CoreV1().Pods(x.Namespace).Create(ctx, x, how)
	}
	return err
}

func put(ctx context.Context, client kubernetes.Interface, o Object) (err error) {
	how := metav1.UpdateOptions{FieldManager: fieldManager}
	switch x := o.(type) {
	case *appsv1.Deployment:
		_, err = client.AppsV1().Deployments(x.Namespace).Update(ctx, x, how)
	case *appsv1.ReplicaSet:
		_, err = client.AppsV1().ReplicaSets(x.Namespace).Update(ctx, x, how)
	case *corev1.ReplicationController:
		_, err = client.CoreV1().ReplicationControllers(x.Namespace).Update(ctx, x, how)
	case *autoscalingv2.HorizontalPodAutoscaler:
		_, err = client.AutoscalingV2().HorizontalPodAutoscalers(x.Namespace).Update(ctx, x, how)
	}
	return err
}

// erase deletes an object as it was when that was decided on, and leaves what it owns.
func erase(ctx context.Context, client kubernetes.Interface, o Object) error {
	uid, version, orphan := o.GetUID(), o.GetResourceVersion(), metav1.DeletePropagationOrphan
	how := metav1.DeleteOptions{PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	switch o.(type) {
	case *appsv1.Deployment:
		return client.AppsV1().Deployments(o.GetNamespace()).Delete(ctx, o.GetName(), how)
	case *appsv1.ReplicaSet:
		return client.AppsV1().ReplicaSets(o.GetNamespace()).Delete(ctx, o.GetName(), how)
	}
	return client.CoreV1().ReplicationControllers(o.GetNamespace()).Delete(ctx, o.GetName(), how)
}

// patch changes one label or one reference, and carries the UID, so that it hits no namesake.
func patch(ctx context.Context, client kubernetes.Interface, w *Write) (err error) {
	meta := map[string]any{"uid": w.object.GetUID()}
	switch w.Verb {
	case Label:
		meta["labels"] = map[string]any{hashKey: w.hash}
	case Unlabel:
		meta["labels"] = map[string]any{hashKey: nil}
	default:
		meta["ownerReferences"] = []map[string]any{{"$patch": "delete", "uid": w.owner}}
	}
	text, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	how := metav1.PatchOptions{FieldManager: fieldManager}
	if w.Kind == "ReplicaSet" {
		_, err = client.AppsV1().ReplicaSets(w.object.GetNamespace()).Patch(ctx, w.Name, types.StrategicMergePatchType, text, how)
		return err
	}
	_, err = client.CoreV1().Pods(w.object.GetNamespace()).Patch(ctx, w.Name, types.StrategicMergePatchType, text, how)
	return err
}
