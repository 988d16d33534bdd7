package effects

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/changes"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// [E-3]: which Deployments a ReplicaSet's event concerns.
func TestReplicaSetEventsWakeDeployments(t *testing.T) {
	app := func(name string) map[string]string { return map[string]string{"app": name} }
	rs := func(rv string, labels map[string]string, owner *metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: lab.Object("rs", "r", rv, labels, owner)}
	}
	dying := rs("1", app("web"), lab.OwnedBy("Deployment", "web", "d"))
	now := metav1.Now()
	dying.DeletionTimestamp = &now
	for _, c := range []struct {
		name string
		send func(h cache.ResourceEventHandler)
		want []string
	}{
		{"added, owned", func(h cache.ResourceEventHandler) {
			h.OnAdd(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), false)
		}, []string{"shop/web"}},
		{"added, of another object of that name", func(h cache.ResourceEventHandler) {
			h.OnAdd(rs("1", nil, lab.OwnedBy("Deployment", "web", "other")), false)
		}, nil},
		{"added, of one that is gone", func(h cache.ResourceEventHandler) {
			h.OnAdd(rs("1", app("web"), lab.OwnedBy("Deployment", "gone", "g")), false)
		}, nil},
		{"added, of another kind", func(h cache.ResourceEventHandler) {
			h.OnAdd(rs("1", app("web"), lab.OwnedBy("Rollout", "web", "d")), false)
		}, nil},
		{"added, orphan that matches one", func(h cache.ResourceEventHandler) { h.OnAdd(rs("1", app("web"), nil), false) }, []string{"shop/web"}},
		{"added, orphan without labels", func(h cache.ResourceEventHandler) { h.OnAdd(rs("1", nil, nil), false) }, nil},
		{"added, being deleted", func(h cache.ResourceEventHandler) { h.OnAdd(dying, false) }, []string{"shop/web"}},
		{"resync", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), rs("1", nil, lab.OwnedBy("Deployment", "web", "d")))
		}, nil},
		{"changed", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), rs("2", nil, lab.OwnedBy("Deployment", "web", "d")))
		}, []string{"shop/web"}},
		{"moved from one owner to another", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), rs("2", nil, lab.OwnedBy("Deployment", "api", "e")))
		}, []string{"shop/api", "shop/web"}},
		{"said to be of another kind", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), rs("2", nil, lab.OwnedBy("Rollout", "web", "d")))
		}, []string{"shop/web"}},
		{"said to be of another name", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), rs("2", nil, lab.OwnedBy("Deployment", "shop", "d")))
		}, []string{"shop/web"}},
		{"made again under its owner's name", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, lab.OwnedBy("Deployment", "web", "d")), rs("2", nil, lab.OwnedBy("Deployment", "web", "d-2")))
		}, []string{"shop/web"}},
		{"adopted", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", nil, nil), rs("2", nil, lab.OwnedBy("Deployment", "web", "d")))
		}, []string{"shop/web"}},
		{"released", func(h cache.ResourceEventHandler) {
			h.OnUpdate(rs("1", app("api"), lab.OwnedBy("Deployment", "web", "d")), rs("2", app("api"), nil))
		}, []string{"shop/api", "shop/web"}},
		{"orphan, same labels", func(h cache.ResourceEventHandler) { h.OnUpdate(rs("1", app("web"), nil), rs("2", app("web"), nil)) }, nil},
		{"orphan, new labels", func(h cache.ResourceEventHandler) { h.OnUpdate(rs("1", nil, nil), rs("2", app("web"), nil)) }, []string{"shop/web"}},
		{"deleted", func(h cache.ResourceEventHandler) { h.OnDelete(rs("1", nil, lab.OwnedBy("Deployment", "web", "d"))) }, []string{"shop/web"}},
		{"deleted orphan", func(h cache.ResourceEventHandler) { h.OnDelete(rs("1", app("web"), nil)) }, nil},
		{"tombstone", func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/rs", Obj: rs("1", nil, lab.OwnedBy("Deployment", "web", "d"))})
		}, []string{"shop/web"}},
		{"tombstone of something else", func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: "?"}) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			caches := newDeploymentCaches(t)
			caches.Add(t, lab.Deployment("web", "d", "RollingUpdate"), lab.Deployment("api", "e", "RollingUpdate"))
			c.send(caches.deployments.replicaSetHandler())
			if diff := cmp.Diff(c.want, lab.Queued(caches.deployments.Loop)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// [E-4]: the last pod of a Recreate wakes its Deployment, an earlier one does not.
func TestPodsLeft(t *testing.T) {
	for _, c := range []struct {
		strategy appsv1.DeploymentStrategyType
		left     int
		phase    corev1.PodPhase
		want     []string
	}{
		{"Recreate", 0, "", []string{"shop/web"}}, {"Recreate", 1, corev1.PodRunning, nil}, {"RollingUpdate", 0, "", nil},
		{"Recreate", 2, corev1.PodFailed, []string{"shop/web"}},
	} {
		t.Run(fmt.Sprint(c.strategy, c.left, c.phase), func(t *testing.T) {
			caches := newDeploymentCaches(t)
			caches.Add(t, lab.Deployment("web", "d", c.strategy), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
			for i := range c.left {
				caches.Add(t, &corev1.Pod{ObjectMeta: lab.Object(fmt.Sprint("left", i), fmt.Sprint(i), "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r")), Status: corev1.PodStatus{Phase: c.phase}})
			}
			caches.deployments.podHandler().OnDelete(&corev1.Pod{ObjectMeta: lab.Object("gone", "g", "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))})
			if diff := cmp.Diff(c.want, lab.Queued(caches.deployments.Loop)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A change that one object wakes another by is told in the same way: which object, from what
// version to what, which fields, and by whom, as far as that is known.
func TestCausesOfWhatBelongsToOthers(t *testing.T) {
	caches := newDeploymentCaches(t)
	sized := func(rv string, n int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", rv, nil, lab.OwnedBy("Deployment", "web", "d")), Spec: appsv1.ReplicaSetSpec{Replicas: &n}}
	}
	waiting := func(rv, reason string) *corev1.Pod {
		p := lab.Pod(corev1.PodPending, reason, false)
		p.ObjectMeta = lab.Object("web-1-a", "p", rv, nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))
		return p
	}
	caches.Add(t, lab.Deployment("web", "d", ""), sized("2", 5))
	for rv, manager := range map[string]string{"1": "helm", "2": "kubectl"} {
		seenByInformers(t, caches.deployments.opts.Managers, "r", rv, []metav1.ManagedFieldsEntry{lab.SignedBy(manager, "", 1, `{"f:spec":{"f:replicas":{}}}`)})
	}
	reason := decision.Change{Field: "status.reason", From: "ContainerCreating", To: "ErrImagePull"}
	caches.deployments.replicaSetHandler().OnUpdate(sized("1", 3), sized("2", 5))
	caches.deployments.podHandler().OnUpdate(waiting("3", "ContainerCreating"), waiting("4", "ErrImagePull"))
	want := map[string][]telemetry.Cause{
		"shop/web": {
			{Kind: telemetry.CauseModified, Object: "ReplicaSet web-1", OldRV: "1", NewRV: "2", Manager: "kubectl", Fields: []decision.Change{{Field: "spec.replicas", From: "3", To: "5"}}},
			{Kind: telemetry.CausePodReason, Object: "Pod web-1-a", OldRV: "3", NewRV: "4", Fields: []decision.Change{reason}},
		},
	}
	for key, l := range map[string]*engine.Loop{"shop/web": caches.deployments.Loop} {
		state, _ := lab.KeyState(l, key)
		for i := range state.Causes {
			state.Causes[i].At = time.Time{}
		}
		if diff := cmp.Diff(want[key], state.Causes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

// The same for a Deployment, and for what a sync under way notes after the
// delete event: a key that is gone leaves nothing behind.
func TestGoneDeploymentLeavesNothing(t *testing.T) {
	b := newDeploymentCaches(t).deployments
	b.opts.Ledger.Written(engine.Entry{UID: "old", Resource: family.ResourceDeployments, RV: "9"})
	seenByInformers(t, b.opts.Managers, "old", "8", []metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	b.deploymentHandler().OnUpdate(lab.Deployment("web", "old", ""), lab.Deployment("web", "new", ""))
	if len(b.opts.Ledger.All()) != 0 || b.opts.Managers.Len() != 0 {
		t.Error("writes or managers of the old Deployment are kept")
	}
	b.MarkUnresolved("shop/web")
	b.progress.note("shop/web", [4]int64{1}, b.now(), b.now())
	b.wakes.delay("shop/web", b.now())
	b.Hold("shop/web", "u", b.now())
	if _, err := b.Observe(t.Context(), "shop/web"); err != nil {
		t.Fatal(err)
	}
	if len(b.progress.seen)+len(b.wakes.next) != 0 || b.Unresolved("shop/web") || !b.HeldSince("shop/web", "u").IsZero() {
		t.Error("a key that is gone is remembered")
	}
}

// The same for a ReplicaSet that was deleted and created again between two looks.
func TestReplacedReplicaSetLeavesNothing(t *testing.T) {
	b := newDeploymentCaches(t).deployments
	b.opts.Ledger.Written(engine.Entry{UID: "old", Resource: family.ResourceReplicaSets, RV: "9"})
	seenByInformers(t, b.opts.Managers, "old", "8", []metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	of := func(uid, rv string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", uid, rv, nil, lab.OwnedBy("Deployment", "web", "d"))}
	}
	b.replicaSetHandler().OnUpdate(of("old", "8"), of("new", "11"))
	if len(b.opts.Ledger.All()) != 0 || b.opts.Managers.Len() != 0 {
		t.Error("writes or managers of the old ReplicaSet are kept")
	}
}

// What is no object of its kind wakes nobody, whatever handler it comes to.
func TestDeploymentHandlersPassOverOtherObjects(t *testing.T) {
	caches := newDeploymentCachesWith(t, engine.Options{Logger: slog.New(slog.DiscardHandler)})
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, nil)}
	for name, h := range map[string]cache.ResourceEventHandler{
		"Deployment": caches.deployments.deploymentHandler(), "ReplicaSet": caches.deployments.replicaSetHandler(), "Pod": caches.deployments.podHandler(),
	} {
		var one, other any = rs, "?"
		switch name {
		case "Deployment":
			one = lab.Deployment("web", "d", "")
		case "Pod":
			one = &corev1.Pod{ObjectMeta: lab.Object("p", "p", "1", nil, nil)}
		}
		h.OnAdd(other, false)
		h.OnUpdate(one, other)
		h.OnUpdate(other, one)
		h.OnDelete(other)
		h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: other})
		for _, l := range []*engine.Loop{caches.deployments.Loop} {
			if keys := lab.Queued(l); len(keys) != 0 {
				t.Errorf("%s: it woke %v", name, keys)
			}
		}
	}
}

// An orphan without labels belongs to nobody, though a selector of what is missing matches it,
// and what selects everything, or cannot be read, adopts nothing.
func TestOrphanReplicaSetsWithoutLabels(t *testing.T) {
	caches := newDeploymentCaches(t)
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
		caches.deployments.replicaSetHandler().OnAdd(&appsv1.ReplicaSet{ObjectMeta: lab.Object("orphan", "o", "1", of, nil)}, false)
		if woken := lab.Queued(caches.deployments.Loop); len(woken) != want {
			t.Errorf("labels %v wake %v", of, woken)
		}
	}
}

// A pod wakes the Deployment of its ReplicaSet, and no other.
func TestPodsOfOthersWakeNoDeployment(t *testing.T) {
	for _, c := range []struct {
		name  string
		owner *metav1.OwnerReference
		want  []string
	}{
		{"its own", lab.OwnedBy("ReplicaSet", "web-1", "r"), []string{"shop/web"}},
		{"an orphan", nil, nil},
		{"of another kind", lab.OwnedBy("Job", "web-1", "r"), nil},
		{"of a ReplicaSet that is gone", lab.OwnedBy("ReplicaSet", "web-0", "r0"), nil},
		{"of another ReplicaSet of that name", lab.OwnedBy("ReplicaSet", "web-1", "r0"), nil},
		{"of a ReplicaSet of nobody", lab.OwnedBy("ReplicaSet", "web-2", "r2"), nil},
	} {
		caches := newDeploymentCaches(t)
		caches.Add(t, lab.Deployment("web", "d", appsv1.RecreateDeploymentStrategyType), &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))},
			&appsv1.ReplicaSet{ObjectMeta: lab.Object("web-2", "r2", "1", nil, nil)})
		p := lab.Pod(corev1.PodPending, "ContainerCreating", false)
		p.ObjectMeta = lab.Object("p", "p", "1", nil, c.owner)
		failing := p.DeepCopy()
		failing.Status = lab.Pod(corev1.PodPending, "ErrImagePull", false).Status
		h := caches.deployments.podHandler()
		h.OnUpdate(p, p)
		if keys := lab.Queued(caches.deployments.Loop); len(keys) != 0 {
			t.Errorf("%s: that nothing changed wakes %v", c.name, keys)
		}
		h.OnUpdate(p, failing)
		if diff := cmp.Diff(c.want, lab.Queued(caches.deployments.Loop)); diff != "" {
			t.Errorf("%s, and waits for something else: %s", c.name, diff)
		}
		h.OnDelete(p)
		if diff := cmp.Diff(c.want, lab.Queued(caches.deployments.Loop)); diff != "" {
			t.Errorf("%s, and goes: %s", c.name, diff)
		}
	}
}

// A cause names who made an object, unless it was there at the start, or we made it.
func TestWhoMadeAnObject(t *testing.T) {
	for _, c := range []struct {
		name          string
		initial, ours bool
		want          string
	}{{"made", false, false, "helm"}, {"there at the start", true, false, ""}, {"made by us", false, true, ""}} {
		b := newDeploymentCaches(t).deployments
		d := lab.Deployment("web", "d", "")
		seenByInformers(t, b.opts.Managers, "d", "1", []metav1.ManagedFieldsEntry{lab.SignedBy("helm", "", 1, "{}")})
		if c.ours {
			b.opts.Ledger.Written(deploymentEntry(d))
		}
		if got := b.Added(family.KindDeployment, d, c.initial).Manager; got != c.want {
			t.Errorf("%s: by %q, want %q", c.name, got, c.want)
		}
	}
}

// seenByInformers has loops know who signed a version of an object.
func seenByInformers(t *testing.T, managers *changes.Managers, uid types.UID, rv string, entries []metav1.ManagedFieldsEntry) {
	t.Helper()
	_, err := managers.Strip(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: rv, ManagedFields: entries}})
	lab.Check(t, err)
}

// A ReplicaSet that its Deployment lets go of is one cause for it, though it matches its selector still.
func TestReleasedReplicaSetIsOneCause(t *testing.T) {
	caches := newDeploymentCaches(t)
	labels := map[string]string{"app": "web"}
	for _, name := range []string{"web", "other"} {
		caches.Add(t, &appsv1.Deployment{ObjectMeta: lab.Object(name, name, "1", labels, nil), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}})
	}
	set := func(rv string, owner *metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", rv, labels, owner)}
	}
	caches.deployments.replicaSetUpdated(set("2", lab.OwnedBy("Deployment", "web", "web")), set("3", nil))
	for _, key := range []string{"shop/web", "shop/other"} {
		if state, _ := lab.KeyState(caches.deployments.Loop, key); len(state.Causes) != 1 {
			t.Errorf("%s has the causes %+v", key, state.Causes)
		}
	}
}
