package effects

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// A snapshot describes the newest that were ended lately.
func TestDisruptedPodsOfASnapshot(t *testing.T) {
	caches := newReplicaSetCaches(t)
	caches.Add(t, &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", "1", nil, lab.OwnedBy("Deployment", "web", "d"))})
	now := caches.replicaSets.now()
	for i := range 30 {
		p := &corev1.Pod{ObjectMeta: lab.Object(fmt.Sprintf("web-%02d", i), fmt.Sprint(i), "1", nil, lab.OwnedBy("ReplicaSet", "web-1", "r"))}
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(i*25) * time.Second))}}}
		caches.Add(t, p)
	}
	of, err := caches.replicaSets.Observe(t.Context(), "shop/web-1")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, p := range of.(*replicaSetSync).s.Pods {
		if p.Disruption != nil {
			told++
		}
	}
	if told != 24 { // One every 25 seconds, for ten minutes.
		t.Errorf("the ReplicaSet knows of %d", told)
	}
}

// [P-6]
func TestDeletionCost(t *testing.T) {
	for value, want := range map[string]int64{
		"": 0, "-": 0, "0": 0, "-0": 0, "100": 100, "-5": -5, "-05": -5, "-0010": -10, "+5": 0, "+0": 0, "05": 0, "007": 0, "00": 0, "1e3": 0, "1_0": 0, " 5": 0, "--5": 0, "-+5": 0,
		"2147483647": 2147483647, "2147483648": 0, "-2147483648": -2147483648, "-2147483649": 0, "99999999999999999999": 0,
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.PodDeletionCost: value}}}
		if got := deletionCost(p); got != want {
			t.Errorf("cost of %q = %d, want %d", value, got, want)
		}
	}
}
