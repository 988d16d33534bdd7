package instrument

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// Handler enqueues the keys that an object of a kind concerns, at every event of it, with
// what changed as the cause:
//
//	informer.AddEventHandler(queue.Handler("Job", instrument.OwnerKey("Backup")))
//
// Of an update the keys of both versions are enqueued. Kinds are written as in
// manifests.
func (q *Queue[K]) Handler(kind string, keys func(metav1.Object) []K) cache.ResourceEventHandler {
	return &handler[K]{q, kind, keys, func(key K, cause telemetry.Cause) { q.Because(cause).Add(key) }}
}

// Announcer is a Handler that enqueues nothing: what happened is the cause of the Add of
// the key that follows within a second. It is for frameworks that hear of events in one
// of their parts and enqueue in another.
func (q *Queue[K]) Announcer(kind string, keys func(metav1.Object) []K) cache.ResourceEventHandler {
	return &handler[K]{q, kind, keys, func(key K, cause telemetry.Cause) {
		if q.known != nil {
			q.known.announce(key, cause)
		}
	}}
}

type handler[K comparable] struct {
	queue *Queue[K]
	kind  string
	keys  func(metav1.Object) []K
	add   func(K, telemetry.Cause)
}

// ObjectKey is the key of an object itself, as "namespace/name".
func ObjectKey(o metav1.Object) []string {
	return []string{cache.NewObjectName(o.GetNamespace(), o.GetName()).String()}
}

// OwnerKey is the key of the object that controls one, if it is of that kind.
func OwnerKey(kind string) func(metav1.Object) []string {
	return ownerKey(kind, metav1.Object.GetNamespace)
}

// ClusterOwnerKey is OwnerKey for owners that have no namespace.
func ClusterOwnerKey(kind string) func(metav1.Object) []string {
	return ownerKey(kind, func(metav1.Object) string { return "" })
}

func ownerKey(kind string, namespace func(metav1.Object) string) func(metav1.Object) []string {
	return func(o metav1.Object) []string {
		ref := metav1.GetControllerOf(o)
		if ref == nil || ref.Kind != kind {
			return nil
		}
		return []string{cache.NewObjectName(namespace(o), ref.Name).String()}
	}
}

// OnAdd implements cache.ResourceEventHandler.
func (h *handler[K]) OnAdd(obj any, initial bool) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	cause := changes.Added(h.kind, o, initial, time.Now())
	if k := h.queue.known; k != nil && !initial {
		cause.Manager = signed(k.controller.managers.Made(o))
	}
	h.enqueue(cause, o, o)
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler[K]) OnUpdate(before, after any) {
	old, ok := before.(metav1.Object)
	o, is := after.(metav1.Object)
	if !ok || !is {
		return
	}
	cause := telemetry.Cause{}
	if k := h.queue.known; k != nil {
		if old.GetUID() != o.GetUID() { // Deleted and created again between two looks.
			k.controller.managers.Forget(old.GetUID())
		}
		changed := changes.Between(old, o)
		cause = changes.Modified(h.kind, old, o, changed, signed(k.controller.managers.Wrote(old, o, changed)), time.Now())
	}
	h.enqueue(cause, o, old, o)
}

// OnDelete implements cache.ResourceEventHandler.
func (h *handler[K]) OnDelete(obj any) {
	o, tombstone, ok := changes.Unwrap[metav1.Object](obj)
	if !ok {
		return
	}
	if k := h.queue.known; k != nil {
		k.controller.managers.Forget(o.GetUID())
	}
	h.enqueue(changes.Deleted(h.kind, o, tombstone, time.Now()), nil, o)
}

// signed is who made a change, as causes name them.
func signed(managers []string) string { return strings.Join(managers, telemetry.BetweenManagers) }

// enqueue adds the keys of some versions of an object, each once. now is the one that
// there is, nil for none.
func (h *handler[K]) enqueue(cause telemetry.Cause, now metav1.Object, of ...metav1.Object) {
	added := map[K]bool{}
	for _, o := range of {
		for _, key := range h.keys(o) {
			if added[key] {
				continue
			}
			added[key] = true
			if k := h.queue.known; k != nil {
				namespace, name := telemetry.SplitKey(text(key))
				if h.kind == k.controller.loop.Kind && namespace == o.GetNamespace() && name == o.GetName() {
					k.saw(key, now)
				}
				// As the record of that key calls it.
				cause.Object = telemetry.Object{Namespace: namespace, Name: name}.Call(h.kind, o.GetNamespace(), o.GetName())
			}
			h.add(key, cause)
		}
	}
}
