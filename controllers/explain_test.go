package controllers

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry"
)

// Explaining decides on what a sync would: its own ReplicaSets, and the orphans
// that it would adopt, but nobody else's.
func TestExplainSeesWhatASyncSees(t *testing.T) {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d", Generation: 1},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *template(labels, "shop:v1")}}
	set := func(name string, owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels, OwnerReferences: owners},
			Spec: appsv1.ReplicaSetSpec{Template: d.Spec.Template}}
	}
	by := func(uid types.UID) metav1.OwnerReference {
		return *metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web", UID: uid}, appsv1.SchemeGroupVersion.WithKind(kindDeployment))
	}
	client := fake.NewClientset(d, set("own", by("d")), set("orphan"), set("foreign", by("other")))
	trace, err := ExplainDeployment(t.Context(), client, "shop", "web", Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := telemetry.SnapshotAs[deployment.Snapshot](trace.Snapshot)
	if err != nil {
		t.Fatalf("result %s, snapshot: %v", trace.Result, err)
	}
	if len(s.ReplicaSets) != 2 || s.ReplicaSets[0].Name != "orphan" || s.ReplicaSets[1].Name != "own" || s.ReplicaSets[0].Mine || !s.ReplicaSets[1].Mine {
		t.Fatalf("ReplicaSets %+v", s.ReplicaSets)
	}
}
