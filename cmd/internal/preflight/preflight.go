// Package preflight finds who would undo what a command does to a ReplicationController.
package preflight

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scalers are the names of those in a list that scale the ReplicationController of a name.
func Scalers(list []autoscalingv2.HorizontalPodAutoscaler, name string) (names []string) {
	for i := range list {
		if ref := list[i].Spec.ScaleTargetRef; ref.Kind == "ReplicationController" && ref.Name == name {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// Owner says which object controls a ReplicationController and would put back what is changed
// there; "" for none.
func Owner(rc *corev1.ReplicationController) string {
	ref := metav1.GetControllerOf(rc)
	if ref == nil {
		return ""
	}
	return fmt.Sprintf("%s %s controls ReplicationController %s and would put back what is changed", ref.Kind, ref.Name, rc.Name)
}
