package preflight

import (
	"slices"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestScalers(t *testing.T) {
	var list []autoscalingv2.HorizontalPodAutoscaler
	for _, c := range [][3]string{{"a", "ReplicationController", "web"}, {"b", "Deployment", "web"}, {"c", "ReplicationController", "web-2"}, {"d", "ReplicationController", "web"}} {
		list = append(list, autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: c[0]},
			Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: c[1], Name: c[2]}},
		})
	}
	if got := Scalers(list, "web"); !slices.Equal(got, []string{"a", "d"}) {
		t.Errorf("web is scaled by %v", got)
	}
}

func TestOwner(t *testing.T) {
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web-1", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "x"}}}}
	if got := Owner(rc); got != "" {
		t.Errorf("one that controls nothing: %q", got)
	}
	rc.OwnerReferences = append(rc.OwnerReferences, metav1.OwnerReference{Kind: "DeploymentConfig", Name: "web", Controller: new(true)})
	if got, want := Owner(rc), "DeploymentConfig web controls ReplicationController web-1 and would put back what is changed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
