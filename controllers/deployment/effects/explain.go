package effects

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// Explain observes one Deployment of a live cluster, decides once and
// writes nothing: what comes back is the trace that a sync would leave now. It
// reads the Deployment, and the ReplicaSets and pods of its namespace. An error
// is that of the first read that failed, a missing Deployment included.
func Explain(ctx context.Context, client kubernetes.Interface, namespace, name string, opts engine.Options) (*telemetry.Trace, error) {
	opts = opts.WithDefaults()
	opts.Mode, opts.Metrics = engine.Watch, nil
	l := engine.New(engine.Settings{Name: deployment.Loop.Name}, client, opts)
	stores, err := readOnce(ctx, client, namespace, name)
	if err != nil {
		return nil, redact.Error(err)
	}
	l.Use(&deploymentController{
		Loop:        l,
		opts:        opts,
		client:      client,
		deployments: appslisters.NewDeploymentLister(stores.deployments),
		replicaSets: appslisters.NewReplicaSetLister(stores.replicaSets),
		owned:       stores.replicaSets,
		pods:        stores.pods,
	})
	if ns, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err == nil && ns.DeletionTimestamp != nil {
		opts.Ledger.NoteTerminating(namespace, ns.DeletionTimestamp.UTC()) // Who may not read it is not told; the rest still stands.
	}
	return l.Look(ctx, namespace, name), nil
}

// clusterRead is what one read of a namespace found, in the shape of caches.
type clusterRead struct {
	deployments, replicaSets, pods cache.Indexer
}

func newIndexer(more cache.Indexers) cache.Indexer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	for name, f := range more {
		indexers[name] = f
	}
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
}

// keep adds an object to a cache, which fails for what has no metadata alone.
func keep(in cache.Indexer, o metav1.Object) { _ = in.Add(o) }

func readOnce(ctx context.Context, client kubernetes.Interface, namespace, name string) (*clusterRead, error) {
	d, err := client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Deployment: %w", err)
	}
	o := &clusterRead{
		deployments: newIndexer(nil),
		replicaSets: newIndexer(cache.Indexers{engine.ControllerUID: engine.IndexController, family.OrphanSets: family.IndexOrphan}),
		pods:        newIndexer(cache.Indexers{family.PodController: family.IndexPod}),
	}
	keep(o.deployments, d)
	sets, err := client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	for i := range sets.Items {
		keep(o.replicaSets, &sets.Items[i])
	}
	return o, o.readPods(ctx, client, namespace)
}

func (o *clusterRead) readPods(ctx context.Context, client kubernetes.Interface, namespace string) error {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		keep(o.pods, &pods.Items[i])
	}
	return nil
}
