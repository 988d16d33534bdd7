package main

import (
	"context"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// kwokClient is the client that kwok gets. It mends what a kwok that was killed
// would do wrong when it is started again among pods and leases that exist.
type kwokClient struct {
	kubernetes.Interface
	pods *podFeed
}

func newKwokClient(client kubernetes.Interface) *kwokClient {
	return &kwokClient{Interface: client, pods: newPodFeed(client.CoreV1().Pods(metav1.NamespaceAll))}
}

// CoreV1 is the client for pods, among others.
func (c *kwokClient) CoreV1() coreclient.CoreV1Interface {
	return kwokCore{c.Interface.CoreV1(), c.pods}
}

// CoordinationV1 is the client for leases.
func (c *kwokClient) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return kwokCoordination{c.Interface.CoordinationV1()}
}

type kwokCore struct {
	coreclient.CoreV1Interface
	pods *podFeed
}

// Pods is the feed for all namespaces, through which kwok learns of pods, and a
// plain client for one, through which it writes them.
func (c kwokCore) Pods(namespace string) coreclient.PodInterface {
	if namespace == metav1.NamespaceAll {
		return c.pods
	}
	return c.CoreV1Interface.Pods(namespace)
}

// podFeed tells kwok of pods in the order of their versions. kwok watches all
// pods, and lists those of a node once it holds the node's lease. Both reach it
// by one channel, so that a list may show an older version of a pod after the
// watch has shown a newer one. kwok then drops the stage that waits for the newer
// one and plays that of the older one again; if this changes nothing, no event
// follows, and the pod is left as it is for good. So the feed answers a node's
// list with nothing, and has the watch show the node's pods again instead.
type podFeed struct {
	coreclient.PodInterface
	shown cache.Indexer // the pods as kwok knows them

	mu    sync.Mutex
	nodes []string      // whose pods are to be shown again
	asked chan struct{} // holds a token while there are such nodes
}

const byNode = "node"

func newPodFeed(pods coreclient.PodInterface) *podFeed {
	return &podFeed{
		PodInterface: pods,
		shown: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byNode: func(object any) ([]string, error) {
			return []string{object.(*corev1.Pod).Spec.NodeName}, nil
		}}),
		asked: make(chan struct{}, 1),
	}
}

// List lists pods, or has those of one node shown by the watch.
func (f *podFeed) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	if node, one := strings.CutPrefix(options.FieldSelector, "spec.nodeName="); one {
		f.ask(node)
		return &corev1.PodList{}, nil
	}
	list, err := f.PodInterface.List(ctx, options)
	if err != nil {
		return nil, err
	}
	pods := make([]any, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return list, f.shown.Replace(pods, list.ResourceVersion)
}

// Watch watches pods.
func (f *podFeed) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	source, err := f.PodInterface.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	events := make(chan watch.Event)
	watcher := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer source.Stop()
		f.feed(source.ResultChan(), events, watcher.StopChan())
	}()
	return watcher, nil
}

// feed passes the events of a watch on and shows again what was asked for, until
// the watch ends or is stopped.
func (f *podFeed) feed(source <-chan watch.Event, events chan<- watch.Event, stop <-chan struct{}) {
	for {
		var next []watch.Event
		select {
		case event, open := <-source:
			if !open {
				return
			}
			f.note(event)
			next = append(next, event)
		case <-f.asked:
			next = f.again()
		case <-stop:
			return
		}
		for _, event := range next {
			select {
			case events <- event:
			case <-stop:
				return
			}
		}
	}
}

func (f *podFeed) note(event watch.Event) {
	switch event.Type {
	case watch.Added, watch.Modified:
		_ = f.shown.Update(event.Object) // it fails only for what has no name
	case watch.Deleted:
		_ = f.shown.Delete(event.Object)
	case watch.Bookmark, watch.Error:
	}
}

func (f *podFeed) ask(node string) {
	f.mu.Lock()
	f.nodes = append(f.nodes, node)
	f.mu.Unlock()
	select {
	case f.asked <- struct{}{}:
	default:
	}
}

// again shows the pods of the nodes that were asked for as they were shown last.
func (f *podFeed) again() []watch.Event {
	f.mu.Lock()
	nodes := f.nodes
	f.nodes = nil
	f.mu.Unlock()
	var events []watch.Event
	for _, node := range nodes {
		pods, _ := f.shown.ByIndex(byNode, node) // it fails only for an index that does not exist
		for _, pod := range pods {
			events = append(events, watch.Event{Type: watch.Modified, Object: pod.(*corev1.Pod)})
		}
	}
	return events
}

type kwokCoordination struct {
	coordinationclient.CoordinationV1Interface
}

// Leases is the client for a namespace's leases.
func (c kwokCoordination) Leases(namespace string) coordinationclient.LeaseInterface {
	return kwokLeases{c.CoordinationV1Interface.Leases(namespace)}
}

type kwokLeases struct {
	coordinationclient.LeaseInterface
}

// Create creates a lease, or finds that it exists: kwok, which may not yet know
// its own of before, would take that for an error and leave the node alone until
// the next renewal.
func (l kwokLeases) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	created, err := l.LeaseInterface.Create(ctx, lease, options)
	if apierrors.IsAlreadyExists(err) {
		return l.Get(ctx, lease.Name, metav1.GetOptions{})
	}
	return created, err
}
