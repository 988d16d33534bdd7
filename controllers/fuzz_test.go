package controllers

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// contents is what the caches hold.
type contents struct {
	Deployments []*appsv1.Deployment `json:"deployments"`
	ReplicaSets []*appsv1.ReplicaSet `json:"replicaSets"`
	Pods        []*corev1.Pod        `json:"pods"`
}

// FuzzObserve fills the caches with whatever objects an API server might hold,
// however little of them is set, and lets both loops observe, decide, settle and
// tell each. None may panic, and a second look at the same caches is the same.
func FuzzObserve(f *testing.F) {
	for _, seed := range seeds() {
		data, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	deployments, replicaSets, pods := factory.Apps().V1().Deployments(), factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods()
	opts := Options{Clock: clocktesting.NewFakeClock(time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC))}
	d, err := NewDeployment(f.Context(), deployments, replicaSets, pods, client, opts)
	if err != nil {
		f.Fatal(err)
	}
	r, err := NewReplicaSet(f.Context(), replicaSets, pods, client, opts)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c contents
		if json.Unmarshal(data, &c) != nil {
			return
		}
		fillStore(t, deployments.Informer().GetStore(), c.Deployments)
		fillStore(t, replicaSets.Informer().GetStore(), c.ReplicaSets)
		fillStore(t, pods.Informer().GetStore(), c.Pods)
		for _, o := range deployments.Informer().GetStore().ListKeys() {
			look(t, d, o)
		}
		for _, o := range replicaSets.Informer().GetStore().ListKeys() {
			look(t, r, o)
		}
	})
}

// seeds are a rollout, and the same with everything left out that can be.
func seeds() []contents {
	d := deploymentNamed("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	d.Spec.Replicas, d.Spec.MinReadySeconds, d.Annotations = new(int32(3)), 5, map[string]string{annotationRollback: "0", annotationRevision: "x"}
	rs := &appsv1.ReplicaSet{ObjectMeta: object("web-1", "r", "5", map[string]string{"app": "web"}, ownedBy(kindDeployment, "web", "d"))}
	rs.Spec.Selector, rs.Spec.Replicas, rs.Annotations = d.Spec.Selector, new(int32(2)), map[string]string{annotationDesired: "-1", annotationMax: "4"}
	p := &corev1.Pod{ObjectMeta: object("web-1-a", "p", "9", map[string]string{"app": "web"}, ownedBy(kindReplicaSet, "web-1", "r"))}
	p.Annotations = map[string]string{corev1.PodDeletionCost: "+7"}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}
	return []contents{{Deployments: []*appsv1.Deployment{d}, ReplicaSets: []*appsv1.ReplicaSet{rs}, Pods: []*corev1.Pod{p}},
		{Deployments: []*appsv1.Deployment{{}}, ReplicaSets: []*appsv1.ReplicaSet{{}}, Pods: []*corev1.Pod{{}}}}
}

// fillStore gives every object a name of its own, as an API server would insist.
func fillStore[T interface {
	comparable
	SetName(string)
	SetNamespace(string)
}](t *testing.T, store cache.Store, list []T) {
	t.Helper()
	var objects []any
	var none T
	for i, o := range list {
		if o != none {
			o.SetNamespace("shop")
			o.SetName(fmt.Sprintf("web-%d", i))
			objects = append(objects, o)
		}
	}
	if err := store.Replace(objects, "1"); err != nil {
		t.Fatal(err)
	}
}

// look runs the pure part of a sync, and observes once more.
func look(t *testing.T, l *Loop, key string) {
	t.Helper()
	first, err := l.controller.observe(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	seen := recordOf(t, first)
	x := decision.Sync{Core: first.core()}
	x.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		return slices.Repeat([]decision.Outcome{{State: decision.NotTried}}, len(v.Actions)), decision.Learnt{}
	})
	if s := x.Tell(decision.Try{}, first.now()).Sentence; s.Code == "" {
		t.Fatalf("nothing to say about %s", key)
	}
	second, err := l.controller.observe(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if again := recordOf(t, second); again != seen {
		t.Fatalf("a second look differs:\n%s\n%s", seen, again)
	}
}

func recordOf(t *testing.T, x objectSync) string {
	t.Helper()
	snapshot, err := x.snapshot()
	if err != nil {
		t.Fatalf("cannot be recorded: %v", err)
	}
	recorded := snapshot.JSON()
	var observed any
	switch x := x.(type) {
	case *deploymentSync:
		observed = x.s
	case *replicaSetSync:
		observed = x.s
	}
	if data, err := json.Marshal(observed); err != nil || string(data) != string(recorded) {
		t.Fatalf("is recorded otherwise than it was observed (%v):\n%s\n%s", err, recorded, data)
	}
	return string(recorded)
}
