package effects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// What a selector asks the API server and the caches for; one that cannot be read asks for
// all there is, and matches nothing.
func TestWhatSelectorsAskFor(t *testing.T) {
	caches := newReplicaSetCaches(t)
	hashed := map[string]string{"app": "web", "pod-template-hash": "h"}
	caches.Add(t, podOf("other", nil), &corev1.Pod{ObjectMeta: lab.Object("web", "w", "1", hashed, nil)}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "web", UID: "b", Labels: hashed}})
	for name, c := range map[string]struct {
		selector *metav1.LabelSelector
		asks     string
		matches  int
	}{
		"labels":     {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, "app=web", 2},
		"a hash":     {&metav1.LabelSelector{MatchLabels: hashed}, "app=web,pod-template-hash=h", 1},
		"everything": {&metav1.LabelSelector{}, "", 2},
		"nothing":    {nil, "", 0},
		"odd":        {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}, "", 0},
	} {
		if got := engine.Selecting(c.selector); got.LabelSelector != c.asks {
			t.Errorf("%s asks for %q", name, got.LabelSelector)
		}
		if got := podsMatching(caches.replicaSets.pods, "shop", c.selector); len(got) != c.matches {
			t.Errorf("%s matches %d pods, want %d", name, len(got), c.matches)
		}
	}
}
