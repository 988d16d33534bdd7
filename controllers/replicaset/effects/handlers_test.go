package effects

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// [E-6] and [RS-3]: which ReplicaSets a pod's event wakes, and what it counts for.
func TestPodEventsWakeReplicaSets(t *testing.T) {
	owner := lab.OwnedBy("ReplicaSet", "web", "r")
	labels := map[string]string{"app": "web"}
	pod := func(rv string, labels map[string]string, owner *metav1.OwnerReference, dying bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: lab.Object("p", "p", rv, labels, owner)}
		if dying {
			now := metav1.Now()
			p.DeletionTimestamp = &now
		}
		return p
	}
	for _, c := range []struct {
		name             string
		send             func(h cache.ResourceEventHandler)
		want             []string
		creates, deletes int64 // still expected, of one each
	}{
		{"added", func(h cache.ResourceEventHandler) { h.OnAdd(pod("1", labels, owner, false), false) }, []string{"shop/web"}, 0, 1},
		{"added while going", func(h cache.ResourceEventHandler) { h.OnAdd(pod("1", labels, owner, true), false) }, []string{"shop/web"}, 1, 0},
		{"orphan added", func(h cache.ResourceEventHandler) { h.OnAdd(pod("1", labels, nil, false), false) }, []string{"shop/web"}, 1, 1},
		{"orphan that matches nobody", func(h cache.ResourceEventHandler) { h.OnAdd(pod("1", nil, nil, false), false) }, nil, 1, 1},
		{"resync", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, owner, false), pod("1", labels, owner, false))
		}, nil, 1, 1},
		{"changed", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, owner, false), pod("2", labels, owner, false))
		}, []string{"shop/web"}, 1, 1},
		{"first seen going", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, owner, false), pod("2", labels, owner, true))
		}, []string{"shop/web"}, 1, 0},
		{"orphan relabelled", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", nil, nil, false), pod("2", labels, nil, false))
		}, []string{"shop/web"}, 1, 1},
		{"released by another", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, lab.OwnedBy("ReplicaSet", "other", "o"), false), pod("2", labels, nil, false))
		}, []string{"shop/web"}, 1, 1},
		{"adopted", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, nil, false), pod("2", labels, owner, false))
		}, []string{"shop/web"}, 1, 1},
		{"orphan that only its status changed", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, nil, false), pod("2", labels, nil, false))
		}, nil, 1, 1},
		{"moved to another", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, owner, false), pod("2", labels, lab.OwnedBy("ReplicaSet", "other", "o"), false))
		}, []string{"shop/web"}, 1, 1},
		{"of another kind of that name", func(h cache.ResourceEventHandler) {
			h.OnAdd(pod("1", labels, lab.OwnedBy("Job", "web", "r"), false), false)
		}, nil, 1, 1},
		{"released and relabelled while going", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, owner, false), pod("2", nil, nil, true))
		}, []string{"shop/web"}, 1, 0},
		{"released while going", func(h cache.ResourceEventHandler) {
			h.OnUpdate(pod("1", labels, owner, false), pod("2", labels, nil, true))
		}, nil, 1, 1},
		{"gone", func(h cache.ResourceEventHandler) { h.OnDelete(pod("1", labels, owner, false)) }, []string{"shop/web"}, 1, 0},
		{"a tombstone of something else", func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: "?"}) }, nil, 1, 1},
		{"orphan gone", func(h cache.ResourceEventHandler) { h.OnDelete(pod("1", labels, nil, false)) }, nil, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			caches := newReplicaSetCaches(t)
			caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", labels, nil), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}})
			e := caches.replicaSets.Expectations()
			e.Expect("shop/web", 1, "p")
			c.send(caches.replicaSets.podHandler())
			if diff := cmp.Diff(c.want, lab.Queued(caches.replicaSets.Loop)); diff != "" {
				t.Error(diff)
			}
			if got := e.Outstanding("shop/web"); got.Creates != c.creates || got.Deletes != c.deletes {
				t.Errorf("%d creates and %d deletes expected, want %d and %d", got.Creates, got.Deletes, c.creates, c.deletes)
			}
		})
	}
}

// A pod that becomes ready has its owner looked at again when it will have been so for long
// enough.
func TestReadyPodsSetATimer(t *testing.T) {
	for _, c := range []struct {
		name     string
		was, is  bool
		minReady int32
		want     time.Duration
	}{
		{"becomes ready", false, true, 7, 7 * time.Second},
		{"becomes ready, and need not be for long", false, true, 0, 0},
		{"stays ready", true, true, 7, 0},
		{"is not ready", false, false, 7, 0},
	} {
		clock := testclock.NewFakeClock(lab.At)
		caches := newReplicaSetCachesWith(t, engine.Options{Clock: clock})
		caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "r", "1", nil, nil), Spec: appsv1.ReplicaSetSpec{MinReadySeconds: c.minReady}})
		of := func(rv string, ready bool) *corev1.Pod {
			p := lab.Pod(corev1.PodRunning, "", ready)
			p.ObjectMeta = lab.Object("p", "p", rv, nil, lab.OwnedBy("ReplicaSet", "web", "r"))
			return p
		}
		caches.replicaSets.podHandler().OnUpdate(of("1", c.was), of("2", c.is))
		state, queued := lab.KeyState(caches.replicaSets.Loop, "shop/web")
		if got := state.Due.Sub(lab.At); !queued || state.Due.IsZero() != (c.want == 0) || c.want > 0 && got != c.want {
			t.Errorf("%s: queued %v, due %s", c.name, queued, state.Due)
		}
	}
}

// [E-5]: a ReplicaSet that was deleted and made again between two looks keeps
// nothing of the old one.
func TestReplacedReplicaSetForgetsTheOldOne(t *testing.T) {
	caches := newReplicaSetCaches(t)
	b := caches.replicaSets
	b.Expectations().Expect("shop/web", 5)
	b.opts.Ledger.Written(engine.Entry{UID: "old", Resource: family.ResourceReplicaSets, RV: "9"})
	old := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "old", "1", nil, nil)}
	b.ownerHandler().OnUpdate(old, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "new", "2", nil, nil)})
	if b.Expectations().Outstanding("shop/web").Creates != 0 || len(b.opts.Ledger.All()) != 0 {
		t.Error("expectations or writes of the old ReplicaSet are kept")
	}
	if diff := cmp.Diff([]string{"shop/web"}, lab.Queued(b.Loop)); diff != "" {
		t.Error(diff)
	}
}

// A change of an owner is told with the field that changed and both of its values.
func TestCauseOfAChangedReplicaSet(t *testing.T) {
	b := newReplicaSetCaches(t).replicaSets
	sized := func(rv string, n int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: lab.Object("web", "u", rv, nil, nil), Spec: appsv1.ReplicaSetSpec{Replicas: &n}}
	}
	b.ownerHandler().OnUpdate(sized("1", 3), sized("2", 5))
	state, queued := lab.KeyState(b.Loop, "shop/web")
	if !queued || len(state.Causes) != 1 {
		t.Fatalf("the key has %d causes, want 1", len(state.Causes))
	}
	want := []decision.Change{{Field: "spec.replicas", From: "3", To: "5"}}
	if diff := cmp.Diff(want, state.Causes[0].Fields); diff != "" {
		t.Errorf("fields of the cause (-want +got):\n%s", diff)
	}
}

// What a pod's change is told as where it wakes its ReplicaSet.
func TestCausesOfPods(t *testing.T) {
	caches := newReplicaSetCaches(t)
	waiting := func(rv, reason string) *corev1.Pod {
		p := lab.Pod(corev1.PodPending, reason, false)
		p.ObjectMeta = lab.Object("web-1-a", "p", rv, nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))
		return p
	}
	caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "2", nil, lab.OwnedBy("Deployment", "web", "d"))})
	caches.replicaSets.podHandler().OnUpdate(waiting("3", "ContainerCreating"), waiting("4", "ErrImagePull"))
	state, _ := lab.KeyState(caches.replicaSets.Loop, "shop/web-1")
	for i := range state.Causes {
		state.Causes[i].At = time.Time{}
	}
	want := []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "Pod web-1-a", OldRV: "3", NewRV: "4", Fields: []decision.Change{{Field: "status.reason", From: "ContainerCreating", To: "ErrImagePull"}}}}
	if diff := cmp.Diff(want, state.Causes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pod that its ReplicaSet lets go of is one cause for it, though it matches its selector still.
func TestReleasedPodIsOneCause(t *testing.T) {
	caches := newReplicaSetCaches(t)
	labels := map[string]string{"app": "web"}
	for _, name := range []string{"web", "other"} {
		caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object(name, name, "1", labels, nil), Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}})
	}
	pod := func(rv string, owner *metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: lab.Object("p", "p", rv, labels, owner)}
	}
	caches.replicaSets.podHandler().OnUpdate(pod("2", lab.OwnedBy("ReplicaSet", "web", "web")), pod("3", nil))
	for _, key := range []string{"shop/web", "shop/other"} {
		if state, _ := lab.KeyState(caches.replicaSets.Loop, key); len(state.Causes) != 1 {
			t.Errorf("%s has the causes %+v", key, state.Causes)
		}
	}
}

// The same for what keeps pods.
func TestGoneReplicaSetLeavesNothing(t *testing.T) {
	b := newReplicaSetCaches(t).replicaSets
	b.Hold("shop/web", "u", b.now())
	b.MarkUnresolved("shop/web")
	if _, err := b.Observe(t.Context(), "shop/web"); err != nil {
		t.Fatal(err)
	}
	if b.Unresolved("shop/web") || !b.HeldSince("shop/web", "u").IsZero() {
		t.Error("a key that is gone is remembered")
	}
}

// What is no object of its kind wakes nobody, whatever handler it comes to.
func TestHandlersPassOverOtherObjects(t *testing.T) {
	caches := newReplicaSetCachesWith(t, engine.Options{Logger: slog.New(slog.DiscardHandler)})
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, nil)}
	for name, h := range map[string]cache.ResourceEventHandler{
		"owner": caches.replicaSets.ownerHandler(), "Pod of an owner": caches.replicaSets.podHandler(), "ReplicationController": caches.controllers.ownerHandler(),
	} {
		var one, other any = rs, "?"
		switch name {
		case "Pod of an owner":
			one = podOf("p", nil)
		case "ReplicationController":
			one = lab.ReplicationController("web", "r", "1", 1)
		}
		h.OnAdd(other, false)
		h.OnUpdate(one, other)
		h.OnUpdate(other, one)
		h.OnDelete(other)
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: other})
		for _, l := range []*engine.Loop{caches.replicaSets.Loop, caches.controllers.Loop} {
			if keys := lab.Queued(l); len(keys) != 0 {
				t.Errorf("%s: it woke %v", name, keys)
			}
		}
	}
}

// An orphan without labels belongs to nobody, though a selector of what is missing matches it,
// and what selects everything, or cannot be read, adopts nothing.
func TestOrphansWithoutLabels(t *testing.T) {
	caches := newReplicaSetCaches(t)
	missing := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	d := lab.Deployment("web", "d", "")
	d.Spec.Selector = missing
	caches.Add(t, d, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, nil), Spec: appsv1.ReplicaSetSpec{Selector: missing}})
	all, odd := &metav1.LabelSelector{}, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	for name, selector := range map[string]*metav1.LabelSelector{"all": all, "odd": odd} {
		d := lab.Deployment(name, name, "")
		d.Spec.Selector = selector
		caches.Add(t, d, &appsv1.ReplicaSet{ObjectMeta: lab.Object(name, name, "1", nil, nil), Spec: appsv1.ReplicaSetSpec{Selector: selector}})
	}
	for want, of := range []map[string]string{nil, {"tier": "x"}} {
		caches.replicaSets.podHandler().OnAdd(&corev1.Pod{ObjectMeta: lab.Object("orphan", "o", "1", of, nil)}, false)
		if woken := lab.Queued(caches.replicaSets.Loop); len(woken) != want {
			t.Errorf("labels %v wake %v", of, woken)
		}
	}
}
