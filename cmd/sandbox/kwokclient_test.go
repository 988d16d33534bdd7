package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

func podOn(name, node, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// podSource plays the API server: a list of pods, and watches whose events the test sends.
type podSource struct {
	coreclient.PodInterface
	list    []corev1.Pod
	watches chan *watch.FakeWatcher
}

func (s *podSource) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return &corev1.PodList{Items: s.list}, nil
}

func (s *podSource) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return <-s.watches, nil
}

// TestPodFeed lists the pods of a node, as kwok does once it holds its lease,
// before, between and after other events of the watch.
func TestPodFeed(t *testing.T) {
	source := &podSource{
		list:    []corev1.Pod{*podOn("a", "one", "1"), *podOn("b", "two", "2"), *podOn("gone", "one", "3")},
		watches: make(chan *watch.FakeWatcher, 2),
	}
	pods := newPodFeed(source)
	if got := listed(t, pods, "spec.nodeName!="); got != 3 {
		t.Errorf("all nodes have %d pods, want 3", got)
	}
	askFor(t, pods, "one") // before there is a watch
	first, second := watch.NewFake(), watch.NewFake()
	source.watches <- first
	source.watches <- second
	watcher := startWatch(t, pods)
	want(t, watcher, "MODIFIED a 1", "MODIFIED gone 3")

	go func() {
		first.Modify(podOn("a", "one", "4"))
		first.Delete(podOn("gone", "one", "5"))
	}()
	want(t, watcher, "MODIFIED a 4", "DELETED gone 5")
	askFor(t, pods, "one")
	want(t, watcher, "MODIFIED a 4") // the newest version, and not what is gone

	first.Stop()
	if event, open := <-watcher.ResultChan(); open {
		t.Errorf("%s after the watch of the API server ended", event.Type)
	}
	askFor(t, pods, "two")
	askFor(t, pods, "three")
	again := startWatch(t, pods)
	want(t, again, "MODIFIED b 2")
	go second.Add(podOn("c", "three", "6"))
	want(t, again, "ADDED c 6")
	askFor(t, pods, "three")
	want(t, again, "MODIFIED c 6")

	again.Stop()
	for range again.ResultChan() {
		t.Error("an event after the watch was stopped")
	}
	if !second.IsStopped() {
		t.Error("the watch of the API server goes on")
	}
}

func listed(t *testing.T, pods coreclient.PodInterface, selector string) int {
	t.Helper()
	list, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// askFor lists a node's pods: the list shows none, the watch does.
func askFor(t *testing.T, pods coreclient.PodInterface, node string) {
	t.Helper()
	if got := listed(t, pods, "spec.nodeName="+node); got != 0 {
		t.Errorf("the list of node %s shows %d pods, want none", node, got)
	}
}

func startWatch(t *testing.T, pods coreclient.PodInterface) watch.Interface {
	t.Helper()
	watcher, err := pods.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	return watcher
}

// want reads as many events as it is given, which may come in any order.
func want(t *testing.T, watcher watch.Interface, events ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, event := range events {
		missing[event] = true
	}
	for range events {
		select {
		case event := <-watcher.ResultChan():
			pod, _ := event.Object.(*corev1.Pod)
			got := fmt.Sprintf("%s %s %s", event.Type, pod.GetName(), pod.GetResourceVersion())
			if !missing[got] {
				t.Errorf("got %s, want one of %q", got, events)
			}
			delete(missing, got)
		case <-time.After(time.Minute):
			t.Fatalf("still missing after a minute: %v", missing)
		}
	}
}

// TestKwokFindsItsLease creates a lease that exists, as a kwok does which was
// killed and does not know its leases yet.
func TestKwokFindsItsLease(t *testing.T) {
	leases := newKwokClient(fake.NewClientset()).CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "sandbox-1"}}
	for _, holder := range []string{kwokIdentity, "newer"} {
		mine := lease.DeepCopy()
		mine.Spec.HolderIdentity = &holder
		got, err := leases.Create(t.Context(), mine, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("create: %v", err)
		}
		if *got.Spec.HolderIdentity != kwokIdentity {
			t.Errorf("the lease is %s's, want that of the first creation", *got.Spec.HolderIdentity)
		}
	}
}
