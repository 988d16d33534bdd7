package create

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"
)

// TestOverruled: who has scaled to 0 what was asked for is named, and a size of 0 that was asked
// for is what it should be.
func TestOverruled(t *testing.T) {
	labels := map[string]string{"app": "ct"}
	for _, c := range []struct {
		name  string
		owner string
		asked int64
		is    int32
		want  string // "" for nothing
	}{
		{"as asked for", "", 2, 2, ""},
		{"resized", "ct", 2, 1, ""},
		{"none wanted", "", 0, 0, ""},
		{"taken over", "ct", 2, 0, "Needs action: 2 pods were asked for, and Deployment ct, which owns it, has scaled it to 0: give it labels that the Deployment does not select."},
		{"scaled by hand", "", 1, 0, "Needs action: 1 pod was asked for, and somebody has scaled it to 0 since: scale it up again."},
	} {
		w := setOf("joins", labels, c.owner)
		set, ok := w.object.(*appsv1.ReplicaSet)
		if !ok {
			t.Fatal("it is no ReplicaSet")
		}
		set.Spec.Replicas, set.Spec.Template.Spec.Containers = new(c.is), nil
		f := &foreseer{client: fake.NewClientset(set), around: map[string]*surroundings{}, current: true}
		s, err := f.now(t.Context(), Object{Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Namespace: "shop", Name: "joins", UID: "joins", Pods: c.asked})
		if err != nil || s.Overruled != c.want {
			t.Errorf("%s: %v, %q", c.name, err, s.Overruled)
		}
	}
}

// What was written says how many pods were asked for.
func TestPodsAskedIn(t *testing.T) {
	for text, want := range map[string]int64{
		`{"kind": "ReplicaSet", "apiVersion": "apps/v1", "spec": {"replicas": 3}}`:       3,
		`{"kind": "ReplicaSet", "apiVersion": "apps/v1", "spec": {}}`:                    1,
		`{"kind": "ReplicationController", "apiVersion": "v1", "spec": {"replicas": 0}}`: 0,
		`{"kind": "Deployment", "apiVersion": "apps/v1", "spec": {"replicas": 3}}`:       0,
		`{"kind": "ConfigMap", "apiVersion": "v1"}`:                                      0,
		`{"kind": "ReplicaSet", "apiVersion": "apps/v1", "spec": []}`:                    0,
	} {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		info := &resource.Info{Object: o, Mapping: &meta.RESTMapping{GroupVersionKind: o.GroupVersionKind()}}
		if got := podsAskedIn(info); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// A watch of what a Deployment takes over and scales to 0 is not complete.
func TestFollowWhatIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := Follow(t.Context(), []Object{objectOf("web")}, func() Look {
			return func(context.Context, Object) (State, error) {
				return State{Sentence: zero, Overruled: "Needs action: 2 pods were asked for."}, nil
			}
		}, func(Object, string) {})
		if err == nil || !strings.HasSuffix(err.Error(), "Needs action: 2 pods were asked for.") || time.Since(began) != stuckFor {
			t.Errorf("it ends with %v after %s", err, time.Since(began))
		}
	})
}
