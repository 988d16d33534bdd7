package controllers

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	replicasets "github.com/loopscope/loopscope/controllers/replicaset/effects"
)

// A constructor that cannot add its indexes or its handlers says which, and of what.
func TestConstructorsSayWhatTheyLack(t *testing.T) {
	d, rs, rc, p := family.ResourceDeployments, family.ResourceReplicaSets, family.ResourceReplicationControllers, family.ResourcePods
	for _, c := range []struct {
		loop, stopped string
		indexes       []string // that are there already
		want          string
	}{
		{"deployment", p, nil, "add index podController"},
		{"deployment", p, []string{family.PodController}, "watch pods"},
		{"deployment", rs, nil, "add index controllerUID"},
		{"deployment", rs, []string{engine.ControllerUID}, "add index orphanSets"},
		{"deployment", rs, []string{engine.ControllerUID, family.OrphanSets}, "watch replicasets"},
		{"deployment", d, nil, "watch deployments"},
		{"replicaset", rs, nil, "add index controllerUID"},
		{"replicaset", rs, []string{engine.ControllerUID}, "watch replicasets"},
		{"replicaset", p, []string{family.PodController, cache.NamespaceIndex}, "add index podHash"},
		{"replicaset", p, []string{family.PodController, "podHash", cache.NamespaceIndex}, "watch pods"},
		{"replicationcontroller", rc, nil, "watch replicationcontrollers"},
	} {
		client := fake.NewClientset()
		f := informers.NewSharedInformerFactory(client, 0)
		ds, sets, controllers, pods := f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().ReplicationControllers(), f.Core().V1().Pods()
		stopped := map[string]cache.SharedIndexInformer{d: ds.Informer(), rs: sets.Informer(), rc: controllers.Informer(), p: pods.Informer()}[c.stopped]
		for _, name := range c.indexes {
			lab.Check(t, engine.AddIndex(stopped, name, family.IndexPod))
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		stopped.RunWithContext(ctx)
		var err error
		switch c.loop {
		case "deployment":
			_, err = deployments.New(t.Context(), ds, sets, pods, client, engine.Options{})
		case "replicaset":
			_, err = replicasets.New(t.Context(), sets, pods, client, engine.Options{})
		case "replicationcontroller":
			_, err = replicasets.NewReplicationController(t.Context(), controllers, pods, client, engine.Options{})
		}
		if got := fmt.Sprint(err); len(got) < len(c.want) || got[:len(c.want)] != c.want {
			t.Errorf("%s without %s: %v, want an error that begins with %q", c.loop, c.stopped, err, c.want)
		}
	}
}

// Indexes file what they know, each under its own key, and pass over the rest.
func TestIndexes(t *testing.T) {
	label := map[string]string{"pod-template-hash": "h"}
	owned := &corev1.Pod{ObjectMeta: lab.Object("p", "p", "1", label, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
	orphan := &corev1.Pod{ObjectMeta: lab.Object("o", "o", "1", nil, nil)}
	for _, c := range []struct {
		name  string
		index cache.IndexFunc
		want  [3]string // of the pod that is owned, of the orphan, of what is no object
	}{
		{"pods by controller", family.IndexPod, [3]string{"[shop/ReplicaSet/web-1/r]", "[shop]", "[]"}},
		{"by the UID of the controller", engine.IndexController, [3]string{"[r]", "[]", "[]"}},
		{"orphans", family.IndexOrphan, [3]string{"[]", "[shop]", "[]"}},
	} {
		for i, obj := range []any{owned, orphan, "?"} {
			if got, err := c.index(obj); fmt.Sprint(got) != c.want[i] || err != nil {
				t.Errorf("%s: %T %d is filed under %v, %v, want %s", c.name, obj, i, got, err, c.want[i])
			}
		}
	}
}

// What is not told has its default: a loop acts, and is recorded by nobody.
func TestDefaults(t *testing.T) {
	o := engine.Options{}.WithDefaults()
	if o.Mode != engine.Act || o.Burst != 500 || !o.TerminatingReplicas() || !o.PodDeletionCost() || o.Clock == nil || o.Ledger == nil || o.Managers == nil || o.Logger == nil {
		t.Errorf("%+v", o)
	}
	if seq, ok := o.Recorder.SyncOf("Deployment", "shop", "web", "1"); seq != 0 || ok {
		t.Errorf("nobody has recorded sync %d", seq)
	}
	if _, err := o.Managers.Strip(cache.DeletedFinalStateUnknown{Key: "shop/web"}); err != nil {
		t.Error(err)
	}
	plain := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p", ManagedFields: []metav1.ManagedFieldsEntry{lab.SignedBy("kubelet", "status", 1, "{}")}}}
	if _, err := o.Managers.Strip(plain); err != nil || plain.ManagedFields != nil || o.Managers.Len() != 0 {
		t.Errorf("of a pod is kept %v, and %d objects: %v", plain.ManagedFields, o.Managers.Len(), err)
	}
	if _, err := o.Managers.Strip(lab.Deployment("web", "d", "")); err != nil || o.Managers.Len() != 0 {
		t.Errorf("of what nobody signed %d objects are kept: %v", o.Managers.Len(), err)
	}
}
