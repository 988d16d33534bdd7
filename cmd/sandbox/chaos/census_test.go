package chaos_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
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
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// fencePrefix begins the names of the pods by which the census shows how far it has come.
const fencePrefix = "fence-"

func isFence(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Name, fencePrefix) }

// census counts every pod and ReplicaSet of a cluster that ever was, by watches
// that go on where they broke off, and knows what there is. To look here costs
// the API server nothing. Safe for concurrent use.
type census struct {
	mu     sync.Mutex
	made   map[string]map[types.UID]bool // pods that a loop created, by namespace
	sets   map[string]map[types.UID]string
	fences map[string]int
	gaps   int                                     // times at which a watch could not go on where it broke off
	now    map[string]map[types.UID]runtime.Object // what there is, by kind
}

// newCensus counts until the test ends.
func newCensus(t *testing.T, client kubernetes.Interface) *census {
	t.Helper()
	c := &census{made: map[string]map[types.UID]bool{}, sets: map[string]map[types.UID]string{}, fences: map[string]int{}, now: map[string]map[types.UID]runtime.Object{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	pods, sets, deployments := client.CoreV1().Pods(""), client.AppsV1().ReplicaSets(""), client.AppsV1().Deployments("")
	running.Go(func() {
		c.count(ctx, kindPod, pods.Watch, func(ctx context.Context) (runtime.Object, error) { return pods.List(ctx, metav1.ListOptions{}) })
	})
	running.Go(func() {
		c.count(ctx, kindSet, sets.Watch, func(ctx context.Context) (runtime.Object, error) { return sets.List(ctx, metav1.ListOptions{}) })
	})
	running.Go(func() {
		c.count(ctx, kindDeployment, deployments.Watch, func(ctx context.Context) (runtime.Object, error) {
			return deployments.List(ctx, metav1.ListOptions{})
		})
	})
	return c
}

// Kinds of what there is.
const (
	kindPod        = "Pod"
	kindSet        = "ReplicaSet"
	kindDeployment = "Deployment"
)

// count lists, and then watches for as long as no event is lost; then it begins again.
func (c *census) count(ctx context.Context, kind string, watching cache.WatchFuncWithContext, list func(context.Context) (runtime.Object, error)) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for first := true; ctx.Err() == nil; first = false {
		if rv, err := c.list(ctx, kind, list); err == nil {
			if !first {
				c.gap()
			}
			c.watch(ctx, kind, rv, watching)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

func (c *census) list(ctx context.Context, kind string, list func(context.Context) (runtime.Object, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all, err := list(ctx)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.now[kind] = map[types.UID]runtime.Object{}
	c.mu.Unlock()
	if err := meta.EachListItem(all, func(o runtime.Object) error { c.see(kind, o); return nil }); err != nil {
		return "", err
	}
	accessor, err := meta.ListAccessor(all)
	if err != nil {
		return "", err
	}
	return accessor.GetResourceVersion(), nil
}

func (c *census) watch(ctx context.Context, kind, rv string, watching cache.WatchFuncWithContext) {
	stream, err := watchtools.NewRetryWatcherWithContext(ctx, rv, &cache.ListWatch{WatchFuncWithContext: watching})
	if err != nil {
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			return
		}
		c.see(kind, event.Object)
		if event.Type == watch.Deleted {
			c.went(kind, event.Object)
		}
	}
}

func (c *census) gap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps++
}

func (c *census) went(kind string, object runtime.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, err := meta.Accessor(object); err == nil {
		delete(c.now[kind], o.GetUID())
	}
}

// present lists what there is of a type in a namespace.
func present[T metav1.Object](c *census, kind, namespace string) []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []T
	for _, object := range c.now[kind] {
		if o, ok := object.(T); ok && o.GetNamespace() == namespace {
			list = append(list, o)
		}
	}
	return list
}

func (c *census) see(kind string, object runtime.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, err := meta.Accessor(object); err == nil {
		c.now[kind][o.GetUID()] = object
	}
	switch o := object.(type) {
	case *corev1.Pod:
		if isFence(o) {
			c.fences[o.Namespace+"/"+o.Name]++
		} else if o.GenerateName != "" {
			note(c.made, o.Namespace, o.UID, true)
		}
	case *appsv1.ReplicaSet:
		note(c.sets, o.Namespace, o.UID, string(ownerOf(o))+" "+o.Spec.Template.Spec.Containers[0].Image)
	}
}

func note[V any](into map[string]map[types.UID]V, namespace string, uid types.UID, value V) {
	if into[namespace] == nil {
		into[namespace] = map[types.UID]V{}
	}
	into[namespace][uid] = value
}

// pods is how many pods the loops have created in a namespace so far.
func (c *census) pods(namespace string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.made[namespace])
}

// templates is how many ReplicaSets were ever created for each template of an owner.
func (c *census) templates(namespace string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := map[string]int{}
	for template := range maps.Values(c.sets[namespace]) {
		n[template]++
	}
	return n
}

// fenced is pods, once everything before this call has been counted. A
// namespace that is gone needs no fence: its last pod went before it.
func (c *census) fenced(t *testing.T, f *field) int {
	t.Helper()
	if f.gone {
		return c.pods(f.namespace)
	}
	fence, err := f.client.CoreV1().Pods(f.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: fencePrefix},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "fence:v1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a fence: %v", err)
	}
	f.await(t, "the census", func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fences[f.namespace+"/"+fence.Name] == 0 {
			return fmt.Errorf("the watch has not come to %s", fence.Name)
		}
		return nil
	})
	return c.pods(f.namespace)
}
