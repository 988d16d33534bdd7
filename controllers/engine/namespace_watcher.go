package engine

import (
	"context"
	"errors"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/redact"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// namespaceWatcher watches the metadata of namespaces, so that it is known at once which are being
// deleted: nothing may be refused there for as long as what they hold stands. Where the
// right to watch is missing, it does nothing.
type namespaceWatcher struct {
	client metadata.Interface // nil: nothing is watched
	known  *terminatingNamespaces
	clock  clock.PassiveClock
	logger *slog.Logger
}

// run watches until ctx ends, or it is forbidden to.
func (e *namespaceWatcher) run(ctx context.Context) {
	if e.client == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	informer := metadatainformer.NewFilteredMetadataInformer(e.client, namespaceResource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := e.prepare(informer, stop); err != nil {
		e.logger.Error("Namespaces are not watched", "error", redact.Message(err.Error()))
		return
	}
	informer.RunWithContext(ctx)
}

func (e *namespaceWatcher) prepare(informer cache.SharedIndexInformer, stop func()) error {
	transforms := informer.SetTransform(metadataOnly)
	handles := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // Not 401: credentials are renewed.
			e.logger.Info("Namespaces are not watched", "error", redact.Message(err.Error()))
			stop()
		}
	})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { e.observe(nil, obj) },
		UpdateFunc: func(old, obj any) {
			was, _ := old.(*metav1.PartialObjectMetadata)
			e.observe(was, obj)
		},
		DeleteFunc: func(obj any) {
			if ns, _, ok := changes.Unwrap[*metav1.PartialObjectMetadata](obj); ok {
				e.known.markDeleted(ns.Name, e.clock.Now())
			}
		},
	})
	return errors.Join(transforms, handles, err)
}

// observe takes a namespace, which may be another one than was of that name before.
func (e *namespaceWatcher) observe(was *metav1.PartialObjectMetadata, obj any) {
	ns, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	if was == nil || was.UID != ns.UID {
		e.known.markActive(ns.Name)
	}
	if ns.DeletionTimestamp != nil {
		e.known.markTerminating(ns.Name, ns.DeletionTimestamp.UTC())
	}
}

// metadataOnly leaves of a namespace what is looked at.
func metadataOnly(obj any) (any, error) {
	ns, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: ns.Name, UID: ns.UID, ResourceVersion: ns.ResourceVersion, DeletionTimestamp: ns.DeletionTimestamp,
	}}, nil
}
