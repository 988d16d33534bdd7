package effects

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
)

// podHandler wakes a Deployment by pods in four cases: the last pod of a
// Recreate went ([E-4]), one went of a namespace that is being deleted, or has ended and is deleted, one went
// that had outlasted its grace period, or a pod's reason for not being ready changed or it was evicted. The
// last three are registered departures and never cause a write by themselves.
func (b *deploymentController) podHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(oldObj, newObj any) {
			old, ok := oldObj.(*corev1.Pod)
			pod, is := newObj.(*corev1.Pod)
			if !ok || !is {
				return
			}
			if outlasted(old, b.now()) {
				b.overdue[pod.UID] = true
			}
			if old.DeletionTimestamp == nil && pod.DeletionTimestamp != nil {
				b.podDeleted(pod)
				b.podEnded(old, pod)
			}
			if waitReasonChanged(old, pod) {
				b.podReason(old, pod)
			}
		},
		DeleteFunc: func(obj any) {
			if pod, tombstone, ok := changes.Unwrap[*corev1.Pod](obj); ok {
				if pod.DeletionTimestamp == nil && !tombstone { // It had no grace period.
					b.podDeleted(pod)
				}
				b.podGone(pod, tombstone)
				delete(b.overdue, pod.UID)
			}
		},
	}
}

// waitReasonChanged reports whether a pod waits for something else than before, or was evicted.
// The scheduler has one reason for everything, so that its message and the node where it makes room count, too.
func waitReasonChanged(old, pod *corev1.Pod) bool {
	was, is := family.PodWaitOf(old), family.PodWaitOf(pod)
	return was.Reason != is.Reason || was.Nominated != is.Nominated || was.ResourceClaim != is.ResourceClaim ||
		was.Container.NotSetUp != is.Container.NotSetUp || was.Container.Also != is.Container.Also ||
		is.Reason == corev1.PodReasonUnschedulable && was.Message != is.Message ||
		(family.Disruption(old) == nil) != (family.Disruption(pod) == nil)
}

// podReason wakes the pod's Deployment, at most once a second for each.
func (b *deploymentController) podReason(old, pod *corev1.Pod) {
	d := b.deploymentOf(pod)
	if d == nil {
		return
	}
	cause := changes.Modified(family.KindPod, old, pod, family.PodFields(old, pod), "", b.now())
	cause.Kind = telemetry.CausePodReason
	if delay := b.wakes.delay(engine.KeyOf(d), b.now()); delay > 0 {
		b.EnqueueAfter(engine.KeyOf(d), cause, delay)
		return
	}
	b.Enqueue(engine.KeyOf(d), cause)
}

// podEnded wakes the Deployment of a pod that is deleted after it has ended, where its namespace or a finalizer may keep
// it: the ReplicaSet does not change with that.
func (b *deploymentController) podEnded(old, pod *corev1.Pod) {
	if !family.PodFinished(pod) {
		return
	}
	if d := b.deploymentOf(pod); d != nil && (len(pod.Finalizers) > 0 || b.namespaceEnds(d)) {
		b.Enqueue(engine.KeyOf(d), changes.Modified(family.KindPod, old, pod, family.PodFields(old, pod), "", b.now()))
	}
}

// namespaceEnds reports whether it is known that the namespace of a Deployment is being deleted.
func (b *deploymentController) namespaceEnds(d *appsv1.Deployment) bool {
	return !b.opts.Ledger.TerminatingSince(d.Namespace, d.CreationTimestamp.Time).IsZero()
}

// outlasted reports whether a pod that was deleted stays longer than its grace period.
func outlasted(pod *corev1.Pod, now time.Time) bool {
	return pod.DeletionTimestamp != nil && deployment.Stays(family.TerminatingPod(pod), now)
}

// wasOverdue reports whether a pod that is gone had outlasted its grace period, which may have been told of its
// Deployment. The request that ends a pod sets the time of its deletion anew.
func (b *deploymentController) wasOverdue(pod *corev1.Pod) bool {
	return b.overdue[pod.UID] || outlasted(pod, b.now())
}

func (b *deploymentController) podGone(pod *corev1.Pod, tombstone bool) {
	d := b.deploymentOf(pod)
	if d == nil {
		return
	}
	last := d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && !b.podsLeft(d)
	if last || b.namespaceEnds(d) || b.wasOverdue(pod) {
		b.Enqueue(engine.KeyOf(d), changes.Deleted(family.KindPod, pod, tombstone, b.now()))
	}
}

// podsLeft reports whether any ReplicaSet of a Deployment still has a pod that
// has not finished: only such a one blocks ([RC-3]), and a failed one that stays
// would keep the last pod that goes from waking its Deployment. A
// cache is enough, where upstream lists live: a pod that the cache does not
// show yet wakes the Deployment when it goes.
func (b *deploymentController) podsLeft(d *appsv1.Deployment) bool {
	for _, rs := range family.ControlledBy(b.owned, d.Namespace, d.UID) {
		own := family.PodsOf(b.pods, rs.Namespace, family.KindReplicaSet, rs.Name, string(rs.UID))
		if slices.ContainsFunc(own, func(p *corev1.Pod) bool { return !family.PodFinished(p) }) {
			return true
		}
	}
	return false
}

// deploymentOf follows pod -> ReplicaSet -> Deployment by controller references.
func (b *deploymentController) deploymentOf(pod *corev1.Pod) *appsv1.Deployment {
	rs := b.replicaSetOf(pod)
	if rs == nil {
		return nil
	}
	return b.resolve(rs.Namespace, metav1.GetControllerOf(rs))
}
