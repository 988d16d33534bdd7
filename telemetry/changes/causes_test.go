package changes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopscope/loopscope/telemetry"
)

func TestCauses(t *testing.T) {
	now := time.Unix(100, 0)
	old := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "1"}}
	same, newer := old.DeepCopy(), old.DeepCopy()
	newer.ResourceVersion = "2"
	for _, c := range []struct {
		name string
		got  telemetry.Cause
		want telemetry.Cause
	}{
		{"added", Added("ReplicaSet", old, false, now), telemetry.Cause{Kind: "added", At: now, Object: "ReplicaSet web", NewRV: "1"}},
		{"first list", Added("ReplicaSet", old, true, now), telemetry.Cause{Kind: "start", At: now, Object: "ReplicaSet web", NewRV: "1"}},
		{"resync", Modified("ReplicaSet", old, same, nil, "", now), telemetry.Cause{Kind: "resync", At: now, Object: "ReplicaSet web", OldRV: "1", NewRV: "1"}},
		{"modified", Modified("ReplicaSet", old, newer, nil, "helm", now), telemetry.Cause{Kind: "modified", At: now, Object: "ReplicaSet web", OldRV: "1", NewRV: "2", Manager: "helm"}},
		{"deleted", Deleted("ReplicaSet", old, false, now), telemetry.Cause{Kind: "deleted", At: now, Object: "ReplicaSet web", OldRV: "1"}},
		{"tombstone", Deleted("ReplicaSet", old, true, now), telemetry.Cause{Kind: "tombstone", At: now, Object: "ReplicaSet web", OldRV: "1"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// [E-1]: a delete may come as a tombstone, with anything or nothing in it.
func TestUnwrap(t *testing.T) {
	rs := &appsv1.ReplicaSet{}
	for _, c := range []struct {
		name          string
		obj           any
		tombstone, ok bool
	}{
		{"object", rs, false, true},
		{"tombstone", cache.DeletedFinalStateUnknown{Obj: rs}, true, true},
		{"empty tombstone", cache.DeletedFinalStateUnknown{}, true, false},
		{"another kind in a tombstone", cache.DeletedFinalStateUnknown{Obj: &corev1.Pod{}}, true, false},
		{"another kind", &corev1.Pod{}, false, false},
		{"nothing", nil, false, false},
	} {
		_, tombstone, ok := Unwrap[*appsv1.ReplicaSet](c.obj)
		if tombstone != c.tombstone || ok != c.ok {
			t.Errorf("%s: tombstone %v, ok %v, want %v, %v", c.name, tombstone, ok, c.tombstone, c.ok)
		}
	}
}

func TestManagersStripOnlyManagedFields(t *testing.T) {
	m := NewManagers()
	early, late := metav1.Unix(1, 0), metav1.Unix(2, 0)
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		UID: "u", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "helm", Time: &late}, {Manager: "kubectl", Time: &early}},
	}}
	want := rs.DeepCopy()
	want.ManagedFields = nil
	got, err := m.Strip(rs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if entries := m.at("u", ""); len(entries) != 2 || entries[0].by.Value().manager != "helm" {
		t.Errorf("what was signed: %v, want helm and kubectl", entries)
	}
	m.Forget("u")
	if m.at("u", "") != nil {
		t.Error("a forgotten object still has a writer")
	}
}
