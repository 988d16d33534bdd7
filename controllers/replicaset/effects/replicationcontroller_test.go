package effects

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func podOf(name string, owner *metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: lab.Object(name, "uid-"+name, "1", lab.AppWeb, owner)}
}

// [RM-1]: events of ReplicationControllers and of their pods wake the same way
// as those of ReplicaSets ([E-5], [E-6]), and only this loop.
func TestEventsWakeReplicationControllers(t *testing.T) {
	mine := lab.OwnedBy(family.KindReplicationController, "web", "r")
	rc := func(uid, rv string) *corev1.ReplicationController {
		return lab.ReplicationController("web", uid, rv, 1)
	}
	for _, c := range []struct {
		name             string
		owner            func(h cache.ResourceEventHandler)
		pod              func(h cache.ResourceEventHandler)
		want             []string
		kind             telemetry.CauseKind
		creates, deletes int64 // still expected, of one each
	}{
		{name: "added", owner: func(h cache.ResourceEventHandler) { h.OnAdd(rc("r", "1"), false) }, want: []string{"shop/web"}, kind: telemetry.CauseAdded, creates: 1, deletes: 1},
		{name: "resync", owner: func(h cache.ResourceEventHandler) { h.OnUpdate(rc("r", "1"), rc("r", "1")) }, want: []string{"shop/web"}, kind: telemetry.CauseResync, creates: 1, deletes: 1},
		{name: "another object of that name", owner: func(h cache.ResourceEventHandler) { h.OnUpdate(rc("r", "1"), rc("new", "2")) }, want: []string{"shop/web"}, kind: telemetry.CauseDeleted},
		{name: "deleted", owner: func(h cache.ResourceEventHandler) { h.OnDelete(rc("r", "1")) }, want: []string{"shop/web"}, kind: telemetry.CauseDeleted},
		{name: "tombstone", owner: func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: rc("r", "1")})
		}, want: []string{"shop/web"}, kind: telemetry.CauseTombstone},
		{name: "tombstone of a pod", owner: func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: podOf("p", mine)})
		}, creates: 1, deletes: 1},
		{name: "tombstone of nothing", owner: func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{}) }, creates: 1, deletes: 1},
		{name: "own pod added", pod: func(h cache.ResourceEventHandler) { h.OnAdd(podOf("p", mine), false) }, want: []string{"shop/web"}, kind: telemetry.CauseAdded, deletes: 1},
		{name: "orphan that matches", pod: func(h cache.ResourceEventHandler) { h.OnAdd(podOf("p", nil), false) }, want: []string{"shop/web"}, kind: telemetry.CauseAdded, creates: 1, deletes: 1},
		{name: "pod of a ReplicaSet of that name", pod: func(h cache.ResourceEventHandler) {
			h.OnAdd(podOf("p", lab.OwnedBy(family.KindReplicaSet, "web", "r")), false)
		}, creates: 1, deletes: 1},
		{name: "pod of an earlier one", pod: func(h cache.ResourceEventHandler) {
			h.OnAdd(podOf("p", lab.OwnedBy(family.KindReplicationController, "web", "old")), false)
		}, creates: 1, deletes: 1},
		{name: "own pod gone", pod: func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: podOf("p", mine)}) }, want: []string{"shop/web"}, kind: telemetry.CauseTombstone, creates: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			caches := newReplicaSetCaches(t)
			b := caches.controllers
			caches.Add(t, rc("r", "1"))
			b.Expectations().Expect("shop/web", 1, "uid-p")
			if c.owner != nil {
				c.owner(b.ownerHandler())
			} else {
				c.pod(b.podHandler())
				c.pod(caches.replicaSets.podHandler())
			}
			if diff := cmp.Diff(c.want, lab.Queued(b.Loop)); diff != "" {
				t.Error(diff)
			}
			if len(c.want) > 0 && b.State().Queue.Keys[0].Causes[0].Kind != c.kind {
				t.Errorf("woken by %+v, want %s", b.State().Queue.Keys[0].Causes, c.kind)
			}
			if got := b.Expectations().Outstanding("shop/web"); got.Creates != c.creates || got.Deletes != c.deletes {
				t.Errorf("%d creates and %d deletes expected, want %d and %d", got.Creates, got.Deletes, c.creates, c.deletes)
			}
			if other := lab.Queued(caches.replicaSets.Loop); other != nil {
				t.Errorf("the ReplicaSet loop was woken for %v", other)
			}
		})
	}
}

// turnOf observes shop/web of the ReplicationController loop.
func turnOf(t *testing.T, c *replicaSetCaches) *replicaSetSync {
	t.Helper()
	target, err := c.controllers.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	return target.(*replicaSetSync)
}

// The snapshot is of the ReplicationController; its pods are those of its own
// kind and orphans, and it has no siblings even where it has a controller ([P-7]).
func TestReplicationControllerSnapshot(t *testing.T) {
	caches := newReplicaSetCaches(t)
	rc := lab.ReplicationController("web", "r", "8", 1)
	rc.OwnerReferences = []metav1.OwnerReference{*lab.OwnedBy("DeploymentConfig", "web", "dc")}
	rc.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: "True", Reason: "FailedCreate"}}
	caches.Add(t, rc, podOf("a", lab.OwnedBy(family.KindReplicationController, "web", "r")), podOf("b", nil), podOf("c", lab.OwnedBy(family.KindReplicaSet, "web", "r")))
	s := turnOf(t, caches).s
	if s.Kind != family.KindReplicationController || !s.Found || s.Want != 1 || s.MinReady != 7 || s.Selector != "app=web" || s.RV != "8" {
		t.Errorf("snapshot of %s %s at %s: wants %d, min ready %d, selector %q", s.Kind, s.UID, s.RV, s.Want, s.MinReady, s.Selector)
	}
	if s.Owner != "" || s.Siblings != nil {
		t.Errorf("owner %q, siblings %v, want none of a kind that is no Deployment", s.Owner, s.Siblings)
	}
	if len(s.Status.Conditions) != 1 || s.Status.Conditions[0].Type != "ReplicaFailure" {
		t.Errorf("conditions %+v", s.Status.Conditions)
	}
	var pods []string
	for _, p := range s.Pods {
		pods = append(pods, p.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, pods); diff != "" {
		t.Error(diff)
	}
}

// What is written is a ReplicationController: the status with its conditions,
// pods and adoptions with a reference to v1, and the object of its events ([RM-1], [P-2]).
func TestReplicationControllerWrites(t *testing.T) {
	caches := newReplicaSetCaches(t)
	rc := lab.ReplicationController("web", "r", "8", 3)
	caches.Add(t, rc, podOf("orphan", nil))
	client := caches.controllers.client.(*fake.Clientset)
	for _, o := range []runtime.Object{rc, podOf("orphan", nil)} {
		if err := client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	target := turnOf(t, caches)
	adopt := decision.Action{Kind: decision.Adopt, Target: decision.Ref{Kind: family.KindPod, Namespace: "shop", Name: "orphan", UID: "uid-orphan"}}
	if o, _ := target.Do(t.Context(), adopt); o.State != decision.Written {
		t.Errorf("adoption %s: %+v", o.State, o.Failure)
	}
	if o, _ := target.Do(t.Context(), decision.Action{Kind: decision.CreatePods, Count: 1}); o.State != decision.Written {
		t.Errorf("creation %s: %+v", o.State, o.Failure)
	}
	target.Core()
	settled := target.sync.Report()
	settled.Status.Replicas, settled.Status.ObservedGeneration = 2, 4
	settled.Status.Terminating = new(int64)
	settled.Status.Conditions = []decision.Condition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "quota"}}
	if o := target.Publish(t.Context()); o.State != decision.Written {
		t.Errorf("status %s: %+v", o.State, o.Failure)
	}
	checkWritten(t, client)
	want := &corev1.ObjectReference{APIVersion: "v1", Kind: family.KindReplicationController, Namespace: "shop", Name: "web", UID: "r", ResourceVersion: "8"}
	if diff := cmp.Diff(runtime.Object(want), target.Object()); diff != "" {
		t.Error(diff)
	}
}

// checkWritten looks at the requests that the client sent.
func checkWritten(t *testing.T, client *fake.Clientset) {
	t.Helper()
	controller := true
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: family.KindReplicationController, Name: "web", UID: "r", Controller: &controller, BlockOwnerDeletion: &controller}
	verbs := map[string]int{}
	for _, a := range client.Actions() {
		verbs[a.GetVerb()+" "+a.GetResource().Resource+"/"+a.GetSubresource()]++
		switch a := a.(type) {
		case clienttesting.CreateActionImpl:
			if diff := cmp.Diff([]metav1.OwnerReference{ref}, a.Object.(*corev1.Pod).OwnerReferences); diff != "" {
				t.Error(diff)
			}
		case clienttesting.PatchActionImpl:
			var patch struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			}
			if err := json.Unmarshal(a.Patch, &patch); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]metav1.OwnerReference{ref}, patch.Metadata.OwnerReferences); diff != "" {
				t.Error(diff)
			}
		case clienttesting.UpdateActionImpl:
			rc := a.Object.(*corev1.ReplicationController)
			if rc.ResourceVersion != "8" || rc.Status.Replicas != 2 || rc.Status.ObservedGeneration != 4 || len(rc.Status.Conditions) != 1 ||
				rc.Status.Conditions[0].Message != "quota" || !cmp.Equal(lab.AppWeb, rc.Labels) {
				t.Errorf("status written: %+v of %+v", rc.Status, rc.ObjectMeta)
			}
		}
	}
	want := map[string]int{"get replicationcontrollers/": 1, "patch pods/": 1, "create pods/": 1, "update replicationcontrollers/status": 1}
	if diff := cmp.Diff(want, verbs); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A template that is nil, which no API server lets through, asks for nothing and
// says why.
func TestReplicationControllerWithoutATemplate(t *testing.T) {
	caches := newReplicaSetCaches(t)
	rc := lab.ReplicationController("web", "r", "8", 3)
	rc.Spec.Template = nil
	caches.Add(t, rc)
	target := turnOf(t, caches)
	v := target.Core().Decide()
	if len(v.Actions) != 1 || v.Actions[0].Count != 3 {
		t.Fatalf("decided %+v", v.Actions)
	}
	o, _ := target.Do(t.Context(), v.Actions[0])
	if o.State != decision.Refused || o.Failure.Message != "unable to create pods, no labels" || o.Untried != 3 {
		t.Errorf("creation %s, %d untried: %+v", o.State, o.Untried, o.Failure)
	}
	if sent := caches.controllers.client.(*fake.Clientset).Actions(); len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
	if got := caches.controllers.Expectations().Outstanding("shop/web"); got.Creates != 0 {
		t.Errorf("%d creations are waited for", got.Creates)
	}
}

// A panic under one of many requests is that request's failure. Whether it was
// committed is unknown, so that the next sync reads live before it decides, and a
// deletion is waited for until then.
func TestPanickingRequestsAreFailures(t *testing.T) {
	for _, c := range []struct {
		verb    string
		action  decision.Action
		deletes int64
	}{
		{"create", decision.Action{Kind: decision.CreatePods, Count: 2}, 0},
		{"delete", decision.Action{Kind: decision.DeletePods, Count: 1, Victims: []decision.Victim{{Name: "p", UID: "uid-p"}}}, 1},
	} {
		t.Run(c.verb, func(t *testing.T) {
			caches := newReplicaSetCaches(t)
			caches.Add(t, lab.ReplicationController("web", "r", "8", 3))
			client := caches.controllers.client.(*fake.Clientset)
			client.PrependReactor(c.verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) { panic(errors.New("no such codec")) })
			o, _ := turnOf(t, caches).Do(t.Context(), c.action)
			if o.State != decision.Unknown || o.Failed != 1 || o.Failure.Reason != "Panic" {
				t.Errorf("outcome %s, %d failed: %+v", o.State, o.Failed, o.Failure)
			}
			if got := caches.controllers.Expectations().Outstanding("shop/web"); got.Creates != 0 || got.Deletes != c.deletes {
				t.Errorf("%d creations and %d deletions are waited for", got.Creates, got.Deletes)
			}
		})
	}
}
