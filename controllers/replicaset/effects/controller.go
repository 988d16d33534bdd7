package effects

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// replicaSetController is the part of a Loop that keeps pods at a number, for
// ReplicaSets and for what has their form.
type replicaSetController struct {
	*engine.Loop
	opts    engine.Options
	client  kubernetes.Interface
	owners  owners
	pods    cache.Indexer
	stores  map[string]engine.Store
	changes engine.Recent[*decision.RecentChange]
}

// settings are the names of the ReplicaSet loop and of its parts.
var settings = engine.Settings{Name: replicaset.Loop.Name, Component: "replicaset-controller", Queue: "replicaset"}

// Registered is the ReplicaSet loop as a program runs it.
var Registered = engine.Registration{
	Controller: "replicaset-controller", SyncsFlag: "concurrent-replicaset-syncs",
	Loop: replicaset.Loop, Resource: appsv1.SchemeGroupVersion.WithResource("replicasets"), Settings: settings, Workers: engine.DefaultWorkers,
	Rights: rights(appsv1.GroupName, "replicasets"),
	New: func(ctx context.Context, n engine.Needs) (*engine.Loop, error) {
		return New(ctx, n.Informers.Apps().V1().ReplicaSets(), n.Informers.Core().V1().Pods(), n.Client, n.Options)
	},
}

// rights are those of a loop that keeps the pods of these owners.
func rights(group, owners string) engine.Rights {
	return engine.Rights{
		Decide: []rbacv1.PolicyRule{engine.Rule(group, engine.Reads, owners), engine.Rule(corev1.GroupName, engine.Reads, "pods")},
		Act: []rbacv1.PolicyRule{
			// Finalizers: a pod blocks the deletion of its owner, which a cluster may allow to them alone.
			engine.Rule(group, []string{"update"}, owners+"/status", owners+"/finalizers"),
			engine.Rule(corev1.GroupName, []string{"create", "patch", "delete"}, "pods"),
		},
	}
}

// New builds the ReplicaSet loop on shared informers, registers its
// handlers and starts nothing. The informers may be started before Run.
func New(_ context.Context, sets appsinformers.ReplicaSetInformer, pods coreinformers.PodInformer, client kubernetes.Interface, opts engine.Options) (*engine.Loop, error) {
	opts = opts.WithDefaults()
	l := engine.New(settings, client, opts)
	if err := engine.AddIndex(sets.Informer(), engine.ControllerUID, engine.IndexController); err != nil {
		return nil, err
	}
	o := replicaSets{lister: sets.Lister(), indexer: sets.Informer().GetIndexer(), client: client}
	return l, keepPods(l, client, opts, o, sets.Informer(), pods)
}

// keepPods makes a loop keep the pods of these owners.
func keepPods(l *engine.Loop, client kubernetes.Interface, opts engine.Options, o owners, informer cache.SharedIndexInformer, pods coreinformers.PodInformer) error {
	for name, f := range map[string]cache.IndexFunc{family.PodController: family.IndexPod, podHash: indexPodHash, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc} {
		if err := engine.AddIndex(pods.Informer(), name, f); err != nil {
			return err
		}
	}
	b := &replicaSetController{
		Loop:   l,
		opts:   opts,
		client: client,
		owners: o,
		pods:   pods.Informer().GetIndexer(),
		stores: map[string]engine.Store{
			o.resource():        informer.GetStore(),
			family.ResourcePods: pods.Informer().GetStore(),
		},
	}
	l.Use(b)
	if err := l.Register(o.resource(), informer, b.ownerHandler()); err != nil {
		return err
	}
	return l.Register(family.ResourcePods, pods.Informer(), b.podHandler())
}

func (b *replicaSetController) now() time.Time { return b.opts.Clock.Now() }

func (b *replicaSetController) kind() string { return b.owners.kind().Kind }

// ownerHandler enqueues every event of an owner ([E-5]).
func (b *replicaSetController) ownerHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if rs := b.owners.form(obj); rs != nil {
				b.Enqueue(engine.KeyOf(rs), b.Added(b.kind(), rs, initial))
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			old, rs := b.owners.form(oldObj), b.owners.form(newObj)
			if old == nil || rs == nil {
				return
			}
			if old.UID != rs.UID { // Deleted and created again between two looks.
				b.ownerGone(old, false)
			}
			changed := family.ReplicaSetFields(old, rs)
			b.Enqueue(engine.KeyOf(rs), changes.Modified(b.kind(), old, rs, changed, b.OwnAuthor(b.kind(), old, rs, changed), b.now()))
		},
		DeleteFunc: func(obj any) {
			o, tombstone, _ := changes.Unwrap[metav1.Object](obj)
			rs := b.owners.form(o)
			if rs == nil {
				b.opts.Logger.Error("Unexpected object in a delete event", "controller", b.Name(), "want", b.kind())
				return
			}
			b.ownerGone(rs, tombstone)
		},
	}
}

func (b *replicaSetController) ownerGone(rs *appsv1.ReplicaSet, tombstone bool) {
	b.opts.Managers.Forget(rs.UID)
	b.opts.Ledger.Forget(rs.UID)
	b.forgetKey(engine.KeyOf(rs))
	b.Enqueue(engine.KeyOf(rs), changes.Deleted(b.kind(), rs, tombstone, b.now()))
}

// forgetKey drops what is remembered of a key whose object is gone.
func (b *replicaSetController) forgetKey(key string) {
	b.ForgetKey(key)
	b.changes.Forget(key)
}

// podHandler wakes the owners that a pod concerns and keeps their
// expectations ([E-6]).
func (b *replicaSetController) podHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if pod, ok := obj.(*corev1.Pod); ok {
				b.podAdded(pod, initial)
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			old, ok := oldObj.(*corev1.Pod)
			pod, is := newObj.(*corev1.Pod)
			if ok && is && old.ResourceVersion != pod.ResourceVersion {
				b.podUpdated(old, pod)
			}
		},
		DeleteFunc: func(obj any) {
			if pod, tombstone, ok := changes.Unwrap[*corev1.Pod](obj); ok {
				b.podDeleted(pod, changes.Deleted(family.KindPod, pod, tombstone, b.now()))
				return
			}
			b.opts.Logger.Error("Unexpected object in a delete event", "controller", b.Name(), "want", family.KindPod)
		},
	}
}

func (b *replicaSetController) podAdded(pod *corev1.Pod, initial bool) {
	cause := changes.Added(family.KindPod, pod, initial, b.now())
	if pod.DeletionTimestamp != nil {
		b.podDeleted(pod, cause)
		return
	}
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		b.matching(pod, cause, "")
		return
	}
	if rs := b.resolve(pod.Namespace, ref); rs != nil {
		b.Expectations().Created(engine.KeyOf(rs), 1)
		b.Enqueue(engine.KeyOf(rs), cause)
	}
}

func (b *replicaSetController) podUpdated(old, pod *corev1.Pod) {
	cause := changes.Modified(family.KindPod, old, pod, family.PodFields(old, pod), "", b.now())
	relabelled := !labels.Equals(old.Labels, pod.Labels)
	if pod.DeletionTimestamp != nil {
		b.podDeleted(pod, cause)
		if relabelled {
			b.podDeleted(old, cause)
		}
		return
	}
	before, after := metav1.GetControllerOf(old), metav1.GetControllerOf(pod)
	moved := !engine.SameRef(before, after)
	former := ""
	if moved {
		if rs := b.resolve(pod.Namespace, before); rs != nil {
			former = engine.KeyOf(rs)
			b.Enqueue(former, cause)
		}
	}
	if after != nil {
		b.ownedPodUpdated(old, pod, after, cause)
		return
	}
	if moved || relabelled {
		b.matching(pod, cause, former)
	}
}

// ownedPodUpdated also sets a timer for the moment when a pod that has just
// become ready will have been so for long enough.
func (b *replicaSetController) ownedPodUpdated(old, pod *corev1.Pod, ref *metav1.OwnerReference, cause telemetry.Cause) {
	rs := b.resolve(pod.Namespace, ref)
	if rs == nil {
		return
	}
	b.Enqueue(engine.KeyOf(rs), cause)
	if !family.PodReady(old) && family.PodReady(pod) && rs.Spec.MinReadySeconds > 0 {
		wait := time.Duration(rs.Spec.MinReadySeconds) * time.Second
		b.EnqueueAfter(engine.KeyOf(rs), telemetry.Cause{Kind: telemetry.CauseTimer, At: b.now(), Code: telemetry.CodeMinReady, Due: b.now().Add(wait)}, wait)
	}
}

// podDeleted counts a deletion at the first sight of its timestamp.
func (b *replicaSetController) podDeleted(pod *corev1.Pod, cause telemetry.Cause) {
	rs := b.resolve(pod.Namespace, metav1.GetControllerOf(pod))
	if rs == nil {
		return
	}
	b.Expectations().Deleted(engine.KeyOf(rs), pod.UID)
	b.Enqueue(engine.KeyOf(rs), cause)
}

// matching enqueues every owner that could adopt an orphan, but for its former one, which is enqueued already.
func (b *replicaSetController) matching(pod *corev1.Pod, cause telemetry.Cause, former string) {
	if len(pod.Labels) == 0 {
		return
	}
	for _, rs := range b.owners.list(pod.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
		if key := engine.KeyOf(rs); key != former && err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			b.Enqueue(key, cause)
		}
	}
}

// resolve finds the owner that a controller reference names, nil if it is
// another kind, gone, or another object of that name.
func (b *replicaSetController) resolve(namespace string, ref *metav1.OwnerReference) *appsv1.ReplicaSet {
	if ref == nil || ref.Kind != b.kind() {
		return nil
	}
	rs, err := b.owners.get(namespace, ref.Name)
	if err != nil || rs.UID != ref.UID {
		return nil
	}
	return rs
}

// readLive finds out what became of a write whose reply was lost: the caches
// have to catch up with every pod that a live list shows.
func (b *replicaSetController) readLive(ctx context.Context, t *replicaSetSync) error {
	asked := b.now()
	live, err := b.owners.live(ctx, t.rs.Namespace, t.rs.Name)
	if apierrors.IsNotFound(err) {
		b.opts.Ledger.Confirmed(t.rs.UID, asked, nil)
		return nil // The cache will see it go.
	}
	if err != nil {
		return fmt.Errorf("live read after a lost reply: %w", err)
	}
	found := []engine.Entry{b.entryOf(live)}
	pods, err := b.client.CoreV1().Pods(t.rs.Namespace).List(ctx, engine.Selecting(t.rs.Spec.Selector))
	if err != nil {
		return fmt.Errorf("live read of pods after a lost reply: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; metav1.IsControlledBy(p, live) {
			found = append(found, podEntry(p, live))
		}
	}
	b.opts.Ledger.Confirmed(t.rs.UID, asked, found)
	b.settleDeletes(t, pods.Items)
	t.s.LiveReads = []string{b.kind() + " " + live.Name, fmt.Sprintf("%d pods", len(pods.Items))}
	return nil
}

// settleDeletes no longer expects the deletions that a live list shows not to
// have happened, and those that the cache has shown already. What remains went
// while the cache stood still: decided on before the cache shows that, one pod
// more would be deleted than has to go, and created again.
func (b *replicaSetController) settleDeletes(t *replicaSetSync, live []corev1.Pod) {
	waiting := map[types.UID]bool{}
	for _, p := range family.PodsOf(b.pods, t.rs.Namespace, b.kind(), t.rs.Name, string(t.rs.UID)) {
		waiting[p.UID] = p.DeletionTimestamp == nil
	}
	for i := range live {
		if live[i].DeletionTimestamp == nil {
			delete(waiting, live[i].UID)
		}
	}
	for uid := range b.Expectations().Outstanding(t.key).Gone {
		if !waiting[uid] {
			b.Expectations().Deleted(t.key, uid)
		}
	}
}

// entryOf is an owner as the ledger remembers it.
func (b *replicaSetController) entryOf(rs *appsv1.ReplicaSet) engine.Entry {
	return engine.Entry{UID: rs.UID, Owner: engine.OwnerUID(rs), Resource: b.owners.resource(), Object: b.kind() + " " + rs.Name, RV: rs.ResourceVersion}
}

func (b *replicaSetController) wrotePod(pod *corev1.Pod, rs *appsv1.ReplicaSet) {
	b.opts.Ledger.Written(podEntry(pod, rs))
}

func podEntry(pod *corev1.Pod, rs *appsv1.ReplicaSet) engine.Entry {
	return engine.Entry{UID: pod.UID, Owner: rs.UID, Resource: family.ResourcePods, Object: family.KindPod + " " + pod.Name, RV: pod.ResourceVersion}
}
