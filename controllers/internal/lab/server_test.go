package lab

import (
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An answer is encoded, which writes into it, while others read and change what is stored: they
// have nothing in common.
func TestAnswersAreCopies(t *testing.T) {
	set := func(rv string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: Object("web-1", "u", rv, map[string]string{"app": "web"}, nil)}
	}
	const one = "/apis/apps/v1/namespaces/shop/replicasets/web-1"
	for name, c := range map[string]struct {
		sent   Sent
		object runtime.Object
		body   string
	}{
		"read":      {sent: Sent{Method: http.MethodGet, Path: one}},
		"listed":    {sent: Sent{Method: http.MethodGet, Path: "/apis/apps/v1/namespaces/shop/replicasets"}},
		"created":   {sent: Sent{Method: http.MethodPost, Path: "/apis/apps/v1/namespaces/shop/replicasets"}, object: set("")},
		"written":   {sent: Sent{Method: http.MethodPut, Path: one}, object: set("9")},
		"unchanged": {sent: Sent{Method: http.MethodPut, Path: one}, object: set("1")},
		"patched":   {sent: Sent{Method: http.MethodPatch, Path: one}, body: `{"spec":{"replicas":3}}`},
	} {
		s := NewServer(t, true)
		s.Store(set("1"))
		answer := s.take(&c.sent, c.object, []byte(c.body)).object
		answered, ok := answer.(metav1.Object)
		if list, is := answer.(*appsv1.ReplicaSetList); is && len(list.Items) == 1 {
			answered, ok = &list.Items[0], true
		}
		if !ok {
			t.Fatalf("%s: it answers %+v", name, answer)
		}
		answered.GetLabels()["app"] = "encoded"
		s.Change(func(o runtime.Object) {
			if o == answer || Accessor(o).GetLabels()["app"] != "web" {
				t.Errorf("%s: what is stored is the answer: %+v", name, o)
			}
		})
	}
}
