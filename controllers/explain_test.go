package controllers

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/deployment"
	deployments "github.com/loopscope/loopscope/controllers/deployment/effects"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Explaining decides on what a sync would: its own ReplicaSets, and the orphans
// that it would adopt, but nobody else's.
func TestExplainSeesWhatASyncSees(t *testing.T) {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d", Generation: 1},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *lab.Template(labels, "shop:v1")}}
	set := func(name string, owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels, OwnerReferences: owners},
			Spec: appsv1.ReplicaSetSpec{Template: d.Spec.Template}}
	}
	by := func(uid types.UID) metav1.OwnerReference {
		return *metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web", UID: uid}, appsv1.SchemeGroupVersion.WithKind(family.KindDeployment))
	}
	client := fake.NewClientset(d, set("own", by("d")), set("orphan"), set("foreign", by("other")))
	trace, err := deployments.Explain(t.Context(), client, "shop", "web", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := decided(trace)
	if err != nil {
		t.Fatalf("result %s, snapshot: %v", trace.Result, err)
	}
	if len(s.ReplicaSets) != 2 || s.ReplicaSets[0].Name != "orphan" || s.ReplicaSets[1].Name != "own" || s.ReplicaSets[0].Mine || !s.ReplicaSets[1].Mine {
		t.Fatalf("ReplicaSets %+v", s.ReplicaSets)
	}
}

// What cannot be read is named, and nothing is explained.
func TestExplainSaysWhatItCannotRead(t *testing.T) {
	for _, c := range []struct{ verb, resource, want string }{
		{"get", family.ResourceDeployments, "read Deployment: no"},
		{"list", family.ResourceReplicaSets, "list ReplicaSets: no"},
		{"list", family.ResourcePods, "list pods: no"},
	} {
		client := fake.NewClientset(lab.Deployment("web", "d", ""))
		client.PrependReactor(c.verb, c.resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
		if trace, err := deployments.Explain(t.Context(), client, "shop", "web", engine.Options{}); trace != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s %s: error %v, want %q", c.verb, c.resource, err, c.want)
		}
	}
}

// A namespace that is being deleted says why a Deployment there cannot go on, and writes
// are told as those that a sync would do.
func TestExplainKnowsOfATerminatingNamespace(t *testing.T) {
	labels := map[string]string{"app": "web"}
	d := lab.Deployment("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	d.Spec.Template = *lab.Template(labels, "shop:v1")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	for _, ends := range []bool{false, true} {
		if ends {
			ns.DeletionTimestamp = &metav1.Time{Time: lab.At}
		}
		trace, err := deployments.Explain(t.Context(), fake.NewClientset(ns, d), "shop", "web", engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := decided(trace)
		if err != nil {
			t.Fatal(err)
		}
		if s.NamespaceTerminating.Equal(lab.At) != ends {
			t.Errorf("terminating %v: since %s", ends, s.NamespaceTerminating)
		}
		if actions := trace.Rounds[0].Verdict.Actions; !ends && (len(actions) != 1 || actions[0].Kind != decision.CreateReplicaSet || trace.Rounds[0].Outcomes != nil) {
			t.Errorf("actions %+v with outcomes %+v", actions, trace.Rounds[0].Outcomes)
		}
	}
}

// decided is what a sync of a Deployment decided on.
func decided(x *telemetry.Trace) (*deployment.Snapshot, error) {
	s, err := x.Decided(Loops)
	if err != nil {
		return nil, err
	}
	return s.(*deployment.Snapshot), nil
}
