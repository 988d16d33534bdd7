package effects

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// deploymentTries is how often a failing Deployment is tried before it is
// dropped until something changes ([W-2]).
const deploymentTries = 15

// settings are the names of the loop and of its parts.
var settings = engine.Settings{Name: deployment.Loop.Name, Component: "deployment-controller", Queue: "deployment", Tries: deploymentTries}

// Registered is the Deployment loop as a program runs it.
var Registered = engine.Registration{
	Controller: "deployment-controller", SyncsFlag: "concurrent-deployment-syncs",
	Loop: deployment.Loop, Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), Settings: settings, Workers: engine.DefaultWorkers, Explain: Explain,
	Rights: engine.Rights{
		Decide: []rbacv1.PolicyRule{
			engine.Rule(appsv1.GroupName, engine.Reads, "deployments", "replicasets"),
			engine.Rule(corev1.GroupName, engine.Reads, "pods"),
		},
		Act: []rbacv1.PolicyRule{
			// Finalizers: a ReplicaSet blocks the deletion of its Deployment, which a cluster may allow to them alone.
			engine.Rule(appsv1.GroupName, []string{"update"}, "deployments", "deployments/status", "deployments/finalizers"),
			engine.Rule(appsv1.GroupName, []string{"create", "update", "patch", "delete"}, "replicasets"),
		},
	},
	New: func(ctx context.Context, n engine.Needs) (*engine.Loop, error) {
		apps := n.Informers.Apps().V1()
		return New(ctx, apps.Deployments(), apps.ReplicaSets(), n.Informers.Core().V1().Pods(), n.Client, n.Options)
	},
}

// deploymentController is the Deployment loop's part of a Loop.
type deploymentController struct {
	*engine.Loop
	opts        engine.Options
	client      kubernetes.Interface
	deployments appslisters.DeploymentLister
	replicaSets appslisters.ReplicaSetLister
	owned       cache.Indexer // ReplicaSets by controller
	pods        cache.Indexer
	stores      map[string]engine.Store
	templates   templates
	sizes       unobservedSizes
	progress    progress
	wakes       wakeLimiter
	overdue     map[types.UID]bool // pods that have outlasted their grace period; the pod handler's alone
	changes     engine.Recent[objectChanges]
	unkept      engine.Recent[unkept]
	contests    contests
}

// New builds the Deployment loop on shared informers, registers its
// handlers and starts nothing. The informers may be started before Run.
func New(_ context.Context, deployments appsinformers.DeploymentInformer, replicaSets appsinformers.ReplicaSetInformer, pods coreinformers.PodInformer, client kubernetes.Interface, opts engine.Options) (*engine.Loop, error) {
	opts = opts.WithDefaults()
	l := engine.New(settings, client, opts)
	if err := engine.AddIndex(pods.Informer(), family.PodController, family.IndexPod); err != nil {
		return nil, err
	}
	if err := engine.AddIndex(replicaSets.Informer(), engine.ControllerUID, engine.IndexController); err != nil {
		return nil, err
	}
	if err := engine.AddIndex(replicaSets.Informer(), family.OrphanSets, family.IndexOrphan); err != nil {
		return nil, err
	}
	b := &deploymentController{
		Loop:        l,
		opts:        opts,
		client:      client,
		deployments: deployments.Lister(),
		replicaSets: replicaSets.Lister(),
		owned:       replicaSets.Informer().GetIndexer(),
		pods:        pods.Informer().GetIndexer(),
		overdue:     map[types.UID]bool{},
		stores: map[string]engine.Store{
			family.ResourceDeployments: deployments.Informer().GetStore(),
			family.ResourceReplicaSets: replicaSets.Informer().GetStore(),
		},
	}
	l.Use(b)
	l.WatchNamespaces(b.namespaceTerminates)
	if err := l.Register(family.ResourceDeployments, deployments.Informer(), b.deploymentHandler()); err != nil {
		return nil, err
	}
	if err := l.Register(family.ResourceReplicaSets, replicaSets.Informer(), b.replicaSetHandler()); err != nil {
		return nil, err
	}
	return l, l.Register(family.ResourcePods, pods.Informer(), b.podHandler())
}

func (b *deploymentController) now() time.Time { return b.opts.Clock.Now() }

// namespaceTerminates enqueues the Deployments of a namespace that is being deleted: they do not
// hear of it otherwise, as nothing of theirs changes.
func (b *deploymentController) namespaceTerminates(namespace string) {
	list, _ := b.deployments.Deployments(namespace).List(labels.Everything()) // A lister over a cache does not fail.
	for _, d := range list {
		b.Enqueue(engine.KeyOf(d), telemetry.Cause{Kind: telemetry.CauseModified, At: b.now(), Object: "Namespace " + namespace,
			Fields: []decision.Change{{Field: "metadata.deletionTimestamp", To: "set"}}})
	}
}

// deploymentHandler enqueues every event of a Deployment ([E-2]).
func (b *deploymentController) deploymentHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if d, ok := obj.(*appsv1.Deployment); ok {
				b.Enqueue(engine.KeyOf(d), b.Added(family.KindDeployment, d, initial))
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			old, ok := oldObj.(*appsv1.Deployment)
			d, is := newObj.(*appsv1.Deployment)
			if ok && is {
				if old.UID != d.UID { // Deleted and created again between two looks.
					b.forget(old)
				}
				changed := deploymentFields(old, d)
				cause := changes.Modified(family.KindDeployment, old, d, changed, b.OwnAuthor(family.KindDeployment, old, d, changed), b.now())
				b.contests.note(old, d, &cause)
				b.Enqueue(engine.KeyOf(d), cause)
			}
		},
		DeleteFunc: func(obj any) {
			d, tombstone, ok := changes.Unwrap[*appsv1.Deployment](obj)
			if !ok {
				b.opts.Logger.Error("Unexpected object in a delete event", "controller", b.Name(), "want", family.KindDeployment)
				return
			}
			b.forget(d)
			b.Enqueue(engine.KeyOf(d), changes.Deleted(family.KindDeployment, d, tombstone, b.now()))
		},
	}
}

// forget drops what is remembered of a Deployment that is gone.
func (b *deploymentController) forget(d *appsv1.Deployment) {
	b.opts.Managers.Forget(d.UID)
	b.opts.Ledger.Forget(d.UID)
	b.contests.forget(d.UID)
	b.forgetKey(engine.KeyOf(d))
}

func (b *deploymentController) forgetKey(key string) {
	b.progress.forget(key)
	b.wakes.forget(key)
	b.changes.Forget(key)
	b.unkept.Forget(key)
	b.ForgetKey(key)
	b.templates.forget(key)
}

// replicaSetHandler enqueues the Deployments that a ReplicaSet concerns ([E-3]).
func (b *deploymentController) replicaSetHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			rs, ok := obj.(*appsv1.ReplicaSet)
			switch {
			case !ok:
			case rs.DeletionTimestamp != nil:
				b.replicaSetDeleted(rs, false)
			default:
				b.concerns(rs, b.Added(family.KindReplicaSet, rs, initial))
			}
		},
		UpdateFunc: func(oldObj, newObj any) {
			old, ok := oldObj.(*appsv1.ReplicaSet)
			rs, is := newObj.(*appsv1.ReplicaSet)
			if ok && is && old.ResourceVersion != rs.ResourceVersion {
				if old.UID != rs.UID { // Deleted and created again between two looks.
					b.forgetReplicaSet(old)
				}
				b.replicaSetUpdated(old, rs)
			}
		},
		DeleteFunc: func(obj any) {
			rs, tombstone, ok := changes.Unwrap[*appsv1.ReplicaSet](obj)
			if !ok {
				b.opts.Logger.Error("Unexpected object in a delete event", "controller", b.Name(), "want", family.KindReplicaSet)
				return
			}
			b.forgetReplicaSet(rs)
			b.replicaSetDeleted(rs, tombstone)
		},
	}
}

// forgetReplicaSet is of one that is gone. The ReplicaSet loop, which forgets as well, may not run beside this one.
func (b *deploymentController) forgetReplicaSet(rs *appsv1.ReplicaSet) {
	b.opts.Managers.Forget(rs.UID)
	b.opts.Ledger.Forget(rs.UID)
	b.sizes.forget(rs.UID)
}

func (b *deploymentController) replicaSetUpdated(old, rs *appsv1.ReplicaSet) {
	changed := family.ReplicaSetFields(old, rs)
	cause := changes.Modified(family.KindReplicaSet, old, rs, changed, b.Author(old, rs, changed), b.now())
	before, after := metav1.GetControllerOf(old), metav1.GetControllerOf(rs)
	moved := !engine.SameRef(before, after)
	former := ""
	if moved {
		if d := b.resolve(rs.Namespace, before); d != nil {
			former = engine.KeyOf(d)
			b.Enqueue(former, cause)
		}
	}
	if after != nil {
		if d := b.resolve(rs.Namespace, after); d != nil {
			b.contests.noteSet(d.UID, old, rs, &cause)
			b.Enqueue(engine.KeyOf(d), cause)
		}
		return
	}
	if moved || !labels.Equals(old.Labels, rs.Labels) {
		b.matching(rs, cause, former)
	}
}

func (b *deploymentController) replicaSetDeleted(rs *appsv1.ReplicaSet, tombstone bool) {
	if d := b.resolve(rs.Namespace, metav1.GetControllerOf(rs)); d != nil {
		b.Enqueue(engine.KeyOf(d), changes.Deleted(family.KindReplicaSet, rs, tombstone, b.now()))
	}
}

// concerns enqueues the owner, or for an orphan every Deployment that could adopt it.
func (b *deploymentController) concerns(rs *appsv1.ReplicaSet, cause telemetry.Cause) {
	ref := metav1.GetControllerOf(rs)
	if ref == nil {
		b.matching(rs, cause, "")
		return
	}
	if d := b.resolve(rs.Namespace, ref); d != nil {
		b.Enqueue(engine.KeyOf(d), cause)
	}
}

// matching enqueues every Deployment that could adopt an orphan, but for its former one, which is enqueued already.
func (b *deploymentController) matching(rs *appsv1.ReplicaSet, cause telemetry.Cause, former string) {
	if len(rs.Labels) == 0 {
		return
	}
	all, _ := b.deployments.Deployments(rs.Namespace).List(labels.Everything()) // A lister over a cache does not fail.
	for _, d := range all {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if key := engine.KeyOf(d); key != former && err == nil && !selector.Empty() && selector.Matches(labels.Set(rs.Labels)) {
			b.Enqueue(key, cause)
		}
	}
}

// resolve finds the Deployment that a controller reference names, nil if it is
// another kind, gone, or another object of that name.
func (b *deploymentController) resolve(namespace string, ref *metav1.OwnerReference) *appsv1.Deployment {
	if ref == nil || ref.Kind != family.KindDeployment {
		return nil
	}
	d, err := b.deployments.Deployments(namespace).Get(ref.Name)
	if err != nil || d.UID != ref.UID {
		return nil
	}
	return d
}
