package parity

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Plane is a control plane on which scenarios are played, many at once. Its
// methods may be called from several goroutines.
type Plane struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface

	deployments cache.Indexer
	replicaSets cache.Indexer
	controllers cache.Indexer
	pods        cache.Indexer

	mu     sync.Mutex
	last   map[string]time.Time         // the last change in a namespace, of events in ""
	events map[string]map[[2]string]int // object and what was said, by namespace
}

// Open connects to the control plane and follows its objects until ctx ends. It
// returns when everything that is there has been seen.
func Open(ctx context.Context, config *rest.Config) (*Plane, error) {
	plain := rest.CopyConfig(config) // the dynamic client speaks JSON
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	untyped, err := dynamic.NewForConfig(plain)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	p := &Plane{client: client, dynamic: untyped, last: map[string]time.Time{}, events: map[string]map[[2]string]int{}}
	apps, core := factory.Apps().V1(), factory.Core().V1()
	for _, follow := range []struct {
		informer cache.SharedIndexInformer
		store    *cache.Indexer
	}{
		{apps.Deployments().Informer(), &p.deployments}, {apps.ReplicaSets().Informer(), &p.replicaSets},
		{core.ReplicationControllers().Informer(), &p.controllers}, {core.Pods().Informer(), &p.pods},
	} {
		*follow.store = follow.informer.GetIndexer()
		if _, err := follow.informer.AddEventHandler(p.handler()); err != nil {
			return nil, fmt.Errorf("follow objects: %w", err)
		}
	}
	if _, err := core.Events().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: p.hear, UpdateFunc: func(_, event any) { p.hear(event) },
	}); err != nil {
		return nil, fmt.Errorf("follow events: %w", err)
	}
	factory.Start(ctx.Done())
	for kind, seen := range factory.WaitForCacheSync(ctx.Done()) {
		if !seen {
			return nil, fmt.Errorf("follow objects: %v was not read: %w", kind, context.Cause(ctx))
		}
	}
	return p, nil
}

// handler notes when something changed that counts: a pod that crashes time and
// again changes forever.
func (p *Plane) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: p.touchObject,
		UpdateFunc: func(before, after any) {
			old, isPod := before.(*corev1.Pod)
			if isPod && shapeOf(old) == shapeOf(after.(*corev1.Pod)) {
				return
			}
			p.touchObject(after)
		},
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			p.touchObject(object)
		},
	}
}

func (p *Plane) touchObject(object any) {
	if meta, ok := object.(metav1.Object); ok {
		p.touch(meta.GetNamespace())
	}
}

func (p *Plane) touch(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[namespace] = time.Now()
}

// still is how long nothing has changed in the namespace.
func (p *Plane) still(namespace string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last[namespace])
}

// inNamespace lists what a store holds of one namespace.
func inNamespace[T any](store cache.Indexer, namespace string) []T {
	var list []T
	// The only error is that of a store without the index, which every informer of a factory has.
	_ = cache.ListAllByNamespace(store, namespace, labels.Everything(), func(object any) { list = append(list, object.(T)) })
	return list
}
