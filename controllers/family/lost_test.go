package family

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestLost: young pods that were made for the owner that its selector does not match, as soon as they are more than a
// few, and the label that they lack.
func TestLost(t *testing.T) {
	now := time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)
	pods := func(n int, owner, name string, age time.Duration, labels map[string]string) []*corev1.Pod {
		list := make([]*corev1.Pod, n)
		for i := range list {
			list[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), GenerateName: owner + "-", Labels: labels, CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		}
		return list
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "tier": "front"}}
	other := map[string]string{"app": "web", "tier": "back"}
	for name, c := range map[string]struct {
		own, free []*corev1.Pod
		selector  *metav1.LabelSelector
		want      *decision.LostPods
	}{
		"own and free":      {pods(1, "web", "web", time.Second, other), pods(2, "web", "web", 59*time.Second, other), selector, &decision.LostPods{Count: 3, Label: "tier"}},
		"by the first name": {pods(3, "web", "web-b", 0, other), pods(1, "web", "web-a", 0, map[string]string{"tier": "front"}), selector, &decision.LostPods{Count: 4, Label: "app"}},
		"too few":           {pods(2, "web", "web", 0, other), nil, selector, nil},
		"too old":           {pods(5, "web", "web", time.Minute, other), nil, selector, nil},
		"of another owner":  {nil, pods(5, "web-canary", "web-canary", 0, other), selector, nil},
		"as they should be": {pods(5, "web", "web", 0, selector.MatchLabels), nil, selector, nil},
		"an odd selector":   {pods(5, "web", "web", 0, other), nil, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}, nil},
	} {
		if got := Lost("web", c.selector, now, c.own, c.free); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
