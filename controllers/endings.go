package controllers

import (
	"context"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// endings watches the metadata of namespaces, so that it is known at once which are being
// deleted: nothing may be refused there for as long as what they hold stands. Where the
// right to watch is missing, it does nothing.
type endings struct {
	client metadata.Interface // nil: nothing is watched
	known  *namespaces
	clock  clock.PassiveClock
	logger *slog.Logger
}

// run watches until ctx ends, or it is forbidden to.
func (e *endings) run(ctx context.Context) {
	if e.client == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	informer := metadatainformer.NewFilteredMetadataInformer(e.client, namespaceResource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := e.prepare(informer, stop); err != nil {
		e.logger.Error("Namespaces are not watched", "error", err)
		return
	}
	informer.RunWithContext(ctx)
}

func (e *endings) prepare(informer cache.SharedIndexInformer, stop func()) error {
	if err := informer.SetTransform(bare); err != nil {
		return err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
			e.logger.Info("Namespaces are not watched", "error", err)
			stop()
		}
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { e.seen(nil, obj) },
		UpdateFunc: func(old, obj any) {
			was, _ := old.(*metav1.PartialObjectMetadata)
			e.seen(was, obj)
		},
		DeleteFunc: func(obj any) {
			if ns, _, ok := unwrap[*metav1.PartialObjectMetadata](obj); ok {
				e.known.went(ns.Name, e.clock.Now())
			}
		},
	})
	return err
}

// seen takes a namespace, which may be another one than was of that name before.
func (e *endings) seen(was *metav1.PartialObjectMetadata, obj any) {
	ns, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	if was == nil || was.UID != ns.UID {
		e.known.lives(ns.Name)
	}
	if ns.DeletionTimestamp != nil {
		e.known.ends(ns.Name, ns.DeletionTimestamp.UTC())
	}
}

// bare leaves of a namespace what is looked at.
func bare(obj any) (any, error) {
	ns, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: ns.Name, UID: ns.UID, ResourceVersion: ns.ResourceVersion, DeletionTimestamp: ns.DeletionTimestamp,
	}}, nil
}
