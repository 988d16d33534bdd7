// Package controllerruntime shows the syncs of a controller that is built with
// controller-runtime, as package instrument does for client-go. It is a module of its own,
// so that nobody else depends on controller-runtime. It may not decide, write, or change
// what a controller does.
//
//	go journal.Run(ctx)
//	config.Wrap(instrument.Transport)
//	probe, err := controllerruntime.New(journal, loop, manager.GetScheme())
//	err = builder.ControllerManagedBy(manager).For(&v1.Backup{}).Owns(&batchv1.Job{}).
//		WithEventFilter(probe.Events()).
//		WithOptions(controller.Options{NewQueue: probe.NewQueue}).
//		Complete(probe.Reconciler(reconciler))
package controllerruntime

import (
	"context"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/instrument"
)

// Probe instruments one controller. It is safe for concurrent use.
type Probe struct {
	*instrument.Controller
	loop   decision.Loop
	scheme *runtime.Scheme
	queue  atomic.Pointer[instrument.Queue[reconcile.Request]] // nil before the controller starts
}

// New instruments the controller of a loop, as instrument.New does. The scheme says of
// which kind objects are.
func New(recorder instrument.Recorder, loop decision.Loop, scheme *runtime.Scheme) (*Probe, error) {
	c, err := instrument.New(recorder, loop)
	if err != nil {
		return nil, err
	}
	return &Probe{Controller: c, loop: loop, scheme: scheme}, nil
}

// NewQueue is for controller.Options: the queue that records every sync.
func (p *Probe) NewQueue(_ string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q := instrument.NewQueue(p.Controller, limiter)
	p.queue.Store(q)
	return q
}

// Reconciler records what another one does.
func (p *Probe) Reconciler(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, key reconcile.Request) (result reconcile.Result, err error) {
		q := p.queue.Load()
		if q == nil {
			return inner.Reconcile(ctx, key)
		}
		err = q.Sync(ctx, key, func(ctx context.Context, key reconcile.Request) error {
			result, err = inner.Reconcile(ctx, key)
			return err
		})
		return result, err
	})
}

// Events is a predicate for the builder's WithEventFilter. It lets everything through,
// and notes what happened to which object: that is the cause of the reconciliation of the
// object itself, and of the one that controls it. Of what a mapping function enqueues for
// others it knows nothing; then the cause is that the controller asked.
func (p *Probe) Events() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			p.announce(e.Object, func(h cache.ResourceEventHandler) { h.OnAdd(e.Object, e.IsInInitialList) })
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			p.announce(e.ObjectNew, func(h cache.ResourceEventHandler) { h.OnUpdate(e.ObjectOld, e.ObjectNew) })
			return true
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			p.announce(e.Object, func(h cache.ResourceEventHandler) { h.OnDelete(deleted(e)) })
			return true
		},
	}
}

// deleted is an event as an informer gives it.
func deleted(e event.DeleteEvent) any {
	if e.DeleteStateUnknown {
		return cache.DeletedFinalStateUnknown{Obj: e.Object}
	}
	return e.Object
}

func (p *Probe) announce(o client.Object, tell func(cache.ResourceEventHandler)) {
	q := p.queue.Load()
	if q == nil || o == nil {
		return
	}
	gvk, err := apiutil.GVKForObject(o, p.scheme)
	if err != nil {
		return // Nobody can say of which kind it is.
	}
	tell(q.Announcer(gvk.Kind, func(o metav1.Object) []reconcile.Request { return p.concerns(gvk.Kind, o) }))
}

// concerns are the requests that the builder's For and Owns make of an object.
func (p *Probe) concerns(kind string, o metav1.Object) []reconcile.Request {
	key := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	if kind != p.loop.Kind {
		ref := metav1.GetControllerOf(o)
		if ref == nil || ref.Kind != p.loop.Kind {
			return nil
		}
		key.Name = ref.Name
	}
	if p.loop.ClusterScoped {
		key.Namespace = ""
	}
	return []reconcile.Request{{NamespacedName: key}}
}
