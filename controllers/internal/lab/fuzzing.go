package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Turn is what is looked at of one sync.
type Turn interface {
	Core() decision.Core
	Now() time.Time
	Snapshot() (telemetry.Snapshot, error)
}

// Contents is what the caches hold.
type Contents struct {
	Deployments []*appsv1.Deployment            `json:"deployments"`
	ReplicaSets []*appsv1.ReplicaSet            `json:"replicaSets"`
	Pods        []*corev1.Pod                   `json:"pods"`
	Controllers []*corev1.ReplicationController `json:"replicationControllers,omitempty"`
}

// Seeds are a rollout, and the same with everything left out that can be.
func Seeds() []Contents {
	d := Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	d.Spec.Replicas, d.Spec.MinReadySeconds, d.Annotations = new(int32(3)), 5, map[string]string{"deprecated.deployment.rollback.to": "0", "deployment.kubernetes.io/revision": "x"}
	rs := &appsv1.ReplicaSet{ObjectMeta: Object("web-1", "r", "5", map[string]string{"app": "web"}, OwnedBy("Deployment", "web", "d"))}
	rs.Spec.Selector, rs.Spec.Replicas, rs.Annotations = d.Spec.Selector, new(int32(2)), map[string]string{"deployment.kubernetes.io/desired-replicas": "-1", "deployment.kubernetes.io/max-replicas": "4"}
	p := &corev1.Pod{ObjectMeta: Object("web-1-a", "p", "9", map[string]string{"app": "web"}, OwnedBy("ReplicaSet", "web-1", "r"))}
	p.Annotations = map[string]string{corev1.PodDeletionCost: "+7"}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}
	return []Contents{{Deployments: []*appsv1.Deployment{d}, ReplicaSets: []*appsv1.ReplicaSet{rs}, Pods: []*corev1.Pod{p}},
		{Deployments: []*appsv1.Deployment{{}}, ReplicaSets: []*appsv1.ReplicaSet{{}}, Pods: []*corev1.Pod{{}}}}
}

// Fill fills the caches. Every object has a name of its own, as an API server would insist.
func (c *Caches) Fill(t *testing.T, with Contents) {
	t.Helper()
	fillStore(t, c.StoreOf((*appsv1.Deployment)(nil)), with.Deployments)
	fillStore(t, c.StoreOf((*appsv1.ReplicaSet)(nil)), with.ReplicaSets)
	fillStore(t, c.StoreOf((*corev1.Pod)(nil)), with.Pods)
	fillStore(t, c.StoreOf((*corev1.ReplicationController)(nil)), with.Controllers)
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

// Look runs the pure part of a sync, and observes once more: that has to be the same, and the
// record of it what was observed.
func Look[T Turn](t *testing.T, key string, observe func(context.Context, string) (T, error), observed func(T) any) {
	t.Helper()
	first, err := observe(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	seen := recordOf(t, first, observed)
	x := decision.Sync{Core: first.Core()}
	x.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		return slices.Repeat([]decision.Outcome{{State: decision.NotTried}}, len(v.Actions)), decision.Learnt{}
	})
	if s := x.Tell(decision.Try{}, first.Now()).Sentence; s.Code == "" {
		t.Fatalf("nothing to say about %s", key)
	}
	second, err := observe(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if again := recordOf(t, second, observed); again != seen {
		t.Fatalf("a second look differs:\n%s\n%s", seen, again)
	}
}

func recordOf[T Turn](t *testing.T, x T, observed func(T) any) string {
	t.Helper()
	snapshot, err := x.Snapshot()
	if err != nil {
		t.Fatalf("cannot be recorded: %v", err)
	}
	recorded := snapshot.JSON()
	if data, err := json.Marshal(observed(x)); err != nil || string(data) != string(recorded) {
		t.Fatalf("is recorded otherwise than it was observed (%v):\n%s\n%s", err, recorded, data)
	}
	return string(recorded)
}
