package effects

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// Pods are filed by the hash of their template, and what has none is not.
func TestIndexByHash(t *testing.T) {
	owned := &corev1.Pod{ObjectMeta: lab.Object("p", "p", "1", map[string]string{"pod-template-hash": "h"}, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
	orphan := &corev1.Pod{ObjectMeta: lab.Object("o", "o", "1", nil, nil)}
	want := []string{"[shop/h]", "[]", "[]"}
	for i, obj := range []any{owned, orphan, "?"} {
		if got, err := indexPodHash(obj); fmt.Sprint(got) != want[i] || err != nil {
			t.Errorf("%T %d is filed under %v, %v, want %s", obj, i, got, err, want[i])
		}
	}
}
