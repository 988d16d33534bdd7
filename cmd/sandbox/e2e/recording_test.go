package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// change is one event of a watch. etcd numbers all writes in one row, so the
// changes of several resources have an order.
type change struct {
	rv     uint64
	kind   watch.EventType
	object runtime.Object
}

// recording holds every change of Deployments, ReplicaSets and Pods of one
// namespace since it was empty.
type recording struct {
	mu      sync.Mutex
	changes []change
	reached map[string]uint64 // newest resourceVersion by resource
	broken  error
}

// record starts three watches from one resourceVersion of an empty namespace.
func record(t *testing.T, client kubernetes.Interface, namespace string) *recording {
	t.Helper()
	list, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list Deployments: %v", err)
	}
	if len(list.Items) > 0 {
		t.Fatalf("namespace %s is not empty", namespace)
	}
	begin, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatalf("list Deployments: %v", err)
	}
	r := &recording{reached: map[string]uint64{"deployments": begin, "replicasets": begin, "pods": begin}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for resource, start := range map[string]starter{
		"deployments": client.AppsV1().Deployments(namespace).Watch,
		"replicasets": client.AppsV1().ReplicaSets(namespace).Watch,
		"pods":        client.CoreV1().Pods(namespace).Watch,
	} {
		running.Go(func() {
			for ctx.Err() == nil && r.follow(ctx, resource, start) {
			}
		})
	}
	return r
}

// starter starts a watch of one resource.
type starter func(context.Context, metav1.ListOptions) (watch.Interface, error)

// follow reads one watch to its end, and reports whether another one can go on
// where it ended: the API server ends the watch of a reader that is too slow
// for a moment. One that starts at a resourceVersion lacks nothing after it, or
// fails because that is too old.
func (r *recording) follow(ctx context.Context, resource string, start starter) bool {
	r.mu.Lock()
	timeout := int64(time.Hour.Seconds())
	from := metav1.ListOptions{ResourceVersion: strconv.FormatUint(r.reached[resource], 10), TimeoutSeconds: &timeout}
	r.mu.Unlock()
	stream, err := start(ctx, from)
	if err != nil {
		r.fail(fmt.Errorf("watch %s: %w", resource, err))
		return false
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if err := r.add(resource, event); err != nil {
			r.fail(err)
			return false
		}
	}
	return true
}

func (r *recording) add(resource string, event watch.Event) error {
	object, err := meta.Accessor(event.Object)
	if err != nil {
		return fmt.Errorf("watch of %s: %s %v", resource, event.Type, event.Object)
	}
	rv, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("watch of %s: %w", resource, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if rv <= r.reached[resource] {
		return fmt.Errorf("watch of %s: resourceVersion %d after %d", resource, rv, r.reached[resource])
	}
	r.reached[resource] = rv
	r.changes = append(r.changes, change{rv, event.Type, slim(event.Object)})
	return nil
}

// slim drops what nobody checks: hundreds of rollouts have to fit in memory.
func slim(object runtime.Object) runtime.Object {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Spec, pod.Annotations = corev1.PodSpec{}, nil
		pod.Status = corev1.PodStatus{Conditions: pod.Status.Conditions}
	}
	return object
}

func (r *recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
}

// until returns every change so far in the order of their resourceVersions. It
// touches one object of each resource first and waits until all three watches
// have brought that, so that nothing before it can be missing.
func (r *recording) until(t *testing.T, client kubernetes.Interface, namespace string) []change {
	t.Helper()
	fence := r.touch(t, client, namespace)
	testplane.Until(t, time.Minute, "the watches' arrival at the fence", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.broken != nil {
			t.Fatalf("the recording is not complete: %v", r.broken)
		}
		for resource, rv := range fence {
			if r.reached[resource] < rv {
				return fmt.Errorf("%s are at %d, the fence is %d", resource, r.reached[resource], rv)
			}
		}
		return nil
	})
	return r.sofar()
}

// sofar returns what the watches have brought, in the order of the
// resourceVersions; one of them may lag behind.
func (r *recording) sofar() []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	ordered := slices.Clone(r.changes)
	slices.SortFunc(ordered, func(a, b change) int {
		if a.rv < b.rv {
			return -1
		}
		return 1
	})
	return ordered
}

// touch writes one object of each resource that nobody else cares for.
func (r *recording) touch(t *testing.T, client kubernetes.Interface, namespace string) map[string]uint64 {
	t.Helper()
	labels := map[string]string{"fence": "fence"}
	none := int32(0)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "fence:v1"}}}}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	written := map[string]metav1.Object{}
	var err error
	keep := func(resource string, object metav1.Object, failure error) {
		if failure != nil && err == nil {
			err = fmt.Errorf("touch %s: %w", resource, failure)
		}
		written[resource] = object
	}
	d, failure := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "fence"}, Spec: appsv1.DeploymentSpec{Replicas: &none, Selector: selector, Template: template, Paused: true}}, metav1.CreateOptions{})
	keep("deployments", d, failure)
	rs, failure := client.AppsV1().ReplicaSets(namespace).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "fence"}, Spec: appsv1.ReplicaSetSpec{Replicas: &none, Selector: selector, Template: template}}, metav1.CreateOptions{})
	keep("replicasets", rs, failure)
	pod, failure := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "fence"}, Spec: template.Spec}, metav1.CreateOptions{})
	keep("pods", pod, failure)
	if err != nil {
		t.Fatal(err)
	}
	fence := map[string]uint64{}
	for resource, object := range written {
		if fence[resource], err = strconv.ParseUint(object.GetResourceVersion(), 10, 64); err != nil {
			t.Fatalf("touch %s: %v", resource, err)
		}
	}
	return fence
}

// uidOf is the controller of an object, or nothing.
func uidOf(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.UID
	}
	return ""
}
