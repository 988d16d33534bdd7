package lab

import (
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// At is the instant of every scene.
var At = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// Transport is how a scene's loop reaches the API server.
type Transport int

// The transports.
const (
	OverHTTP2 Transport = iota // as in production
	OverHTTP1
	ToNobody // the connection is refused
)

// Pod is one in a phase; reason is what its container waits for, "" for nothing.
func Pod(phase corev1.PodPhase, reason string, ready bool) *corev1.Pod {
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	if reason != "" {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Unix(1000, 0)}}
	return p
}

// Object is the metadata of an object in the namespace shop; owner is nil for none.
func Object(name, uid, rv string, labels map[string]string, owner *metav1.OwnerReference) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: rv, Labels: labels}
	if owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return m
}

// OwnedBy is a reference to a controller.
func OwnedBy(kind, name, uid string) *metav1.OwnerReference {
	return metav1.NewControllerRef(&metav1.ObjectMeta{Name: name, UID: types.UID(uid)}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind})
}

// Deployment is one that selects app=NAME.
func Deployment(name, uid string, strategy appsv1.DeploymentStrategyType) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: Object(name, uid, "1", nil, nil), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Strategy: appsv1.DeploymentStrategy{Type: strategy},
	}}
}

// SignedBy is an entry of managedFields; at 0 has no time.
func SignedBy(manager, subresource string, at int64, fields string) metav1.ManagedFieldsEntry {
	f := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	if at != 0 {
		f.Time = &metav1.Time{Time: time.Unix(at, 0)}
	}
	return f
}

// Namespace is a namespace; ending is when it was deleted, zero if it was not.
func Namespace(name, uid string, ending time.Time) *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Labels: map[string]string{"team": "red"}},
	}
	if !ending.IsZero() {
		ns.DeletionTimestamp = &metav1.Time{Time: ending}
	}
	return ns
}

// Namespaces is an API server with these namespaces, and the watches that it serves: what
// a tracker is told between a list and its watch, nobody would see.
func Namespaces(t *testing.T, list ...runtime.Object) (client *metadatafake.FakeMetadataClient, watches chan *watch.FakeWatcher) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client, watches = metadatafake.NewSimpleMetadataClient(scheme, list...), make(chan *watch.FakeWatcher, 8)
	client.PrependWatchReactor("namespaces", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFake()
		watches <- w
		return true, w, nil
	})
	return client, watches
}

// Eventually waits until something holds.
func Eventually(t *testing.T, failure string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(failure)
		}
	}
}

// Check ends a test at an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Recording keeps the traces of a loop.
type Recording struct {
	mu     sync.Mutex
	traces []*telemetry.Trace
}

// Record keeps a trace and numbers it.
func (r *Recording) Record(t *telemetry.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Seq = uint64(len(r.traces) + 1)
	r.traces = append(r.traces, t)
}

// SyncOf knows of no sync.
func (r *Recording) SyncOf(_, _, _, _ string) (uint64, bool) { return 0, false }

// All are the traces so far.
func (r *Recording) All() []*telemetry.Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*telemetry.Trace(nil), r.traces...)
}

// Template is a pod template of one container.
func Template(labels map[string]string, image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

// Within takes what has to come soon.
func Within[T any](t *testing.T, from chan T, what string) T {
	t.Helper()
	select {
	case x := <-from:
		return x
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// Noon is the instant of what is news.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Synced is the trace of a sync that had these causes and wrote these actions.
func Synced(result telemetry.Result, causes []telemetry.Cause, actions ...decision.Action) *telemetry.Trace {
	r := decision.Round{Verdict: decision.Verdict{Actions: actions}}
	for range actions {
		r.Outcomes = append(r.Outcomes, decision.Outcome{State: decision.Written})
	}
	return &telemetry.Trace{Causes: causes, Result: result, Rounds: []decision.Round{r}}
}

// WatchesOf are the requests for what may end what keeps pods, by the code of the finding.
var WatchesOf = map[string]string{
	"volume-claim": "/api/v1/namespaces/shop/persistentvolumeclaims", "config": "/api/v1/namespaces/shop/configmaps", "unschedulable": "/api/v1/nodes",
	"quota": "/api/v1/namespaces/shop/resourcequotas", "limit-range": "/api/v1/namespaces/shop/limitranges",
	"service-account": "/api/v1/namespaces/shop/serviceaccounts", "priority-class": "/apis/scheduling.k8s.io/v1/priorityclasses",
}
