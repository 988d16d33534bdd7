package effects

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// Explain observes one update of a live cluster, decides once and writes nothing: what comes
// back is the trace that a sync would leave now. It reads the ReplicationControllers and the
// pods of the namespace, and, where a write is due and it may, its Events. An error is that of the first read that failed,
// one that names a ReplicationController that neither exists nor is replaced by another included.
func Explain(ctx context.Context, client kubernetes.Interface, namespace, name string, opts engine.Options) (*telemetry.Trace, error) {
	b, err := onlooker(ctx, client, namespace, opts)
	if err != nil {
		return nil, err
	}
	t, err := b.look(ctx, namespace, name)
	if err != nil || !writes(t) {
		return t, err
	}
	if b.refused = refusals(ctx, client, namespace); len(b.refused) == 0 {
		return t, nil
	}
	return b.look(ctx, namespace, name)
}

// ExplainWith is Explain as if these were there, too, or instead of those of their names. It reads no Events.
func ExplainWith(ctx context.Context, client kubernetes.Interface, namespace, name string, opts engine.Options, others ...*corev1.ReplicationController) (*telemetry.Trace, error) {
	b, err := onlooker(ctx, client, namespace, opts)
	if err != nil {
		return nil, err
	}
	for _, rc := range others {
		_ = b.indexer.Update(rc) // It has metadata, which is all that an index asks for.
	}
	return b.look(ctx, namespace, name)
}

// onlooker is a controller that writes nothing, with what is in a namespace now.
func onlooker(ctx context.Context, client kubernetes.Interface, namespace string, opts engine.Options) (*controller, error) {
	opts = opts.WithDefaults()
	opts.Mode, opts.Metrics = engine.Watch, nil
	l := engine.New(engine.Settings{Name: rollingupdate.Loop.Name}, client, opts)
	b := &controller{
		Loop: l, opts: opts, client: client,
		indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, indexUpdates: updatesOf}),
		pods:    cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, family.PodController: family.IndexPod}),
	}
	b.lister = corelisters.NewReplicationControllerLister(b.indexer)
	if err := b.readOnce(ctx, namespace); err != nil {
		return nil, redact.Error(err)
	}
	l.Use(b)
	return b, nil
}

func (b *controller) look(ctx context.Context, namespace, name string) (*telemetry.Trace, error) {
	t := b.Look(ctx, namespace, name)
	if t.Gone {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: family.ResourceReplicationControllers}, name)
	}
	return t, nil
}

// writes reports whether the next sync would write.
func writes(t *telemetry.Trace) bool {
	return slices.ContainsFunc(t.Rounds, func(r decision.Round) bool { return len(r.Verdict.Actions) > 0 })
}

// readOnce fills the caches with what is in a namespace.
func (b *controller) readOnce(ctx context.Context, namespace string) error {
	controllers, err := b.client.CoreV1().ReplicationControllers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ReplicationControllers: %w", err)
	}
	pods, err := b.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	keepAll(b.indexer, controllers.Items)
	keepAll(b.pods, pods.Items)
	return nil
}

// refusals are what Events say of the writes that the loop was refused last, by the
// ReplicationController that they were to be made for. Who may not read Events is told what is due alone.
func refusals(ctx context.Context, client kubernetes.Interface, namespace string) map[types.UID]rollingupdate.Refused {
	events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=ReplicationController,reason=" + rollingupdate.ReasonFailed})
	if err != nil {
		return nil
	}
	newest := map[types.UID]rollingupdate.Refused{}
	for i := range events.Items {
		e := &events.Items[i]
		if at := e.LastTimestamp.UTC(); e.Reason == rollingupdate.ReasonFailed && at.After(newest[e.InvolvedObject.UID].At) {
			newest[e.InvolvedObject.UID] = rollingupdate.Refused{At: at, Message: redact.Message(e.Message)}
		}
	}
	return newest
}

func keepAll[T corev1.ReplicationController | corev1.Pod](in cache.Indexer, list []T) {
	for i := range list {
		_ = in.Add(&list[i]) // They have metadata, which is all that an index asks for.
	}
}
