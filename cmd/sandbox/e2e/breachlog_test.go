package e2e_test

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// tellBreaches says each breach, and before the first one of a Deployment what led to it: what a
// race did is not seen again by running the test again.
func tellBreaches(changes []change, breaches []breach) string {
	var text strings.Builder
	told := map[string]bool{}
	for _, b := range breaches {
		if !told[b.deployment] {
			told[b.deployment] = true
			for _, line := range leadingTo(changes, b) {
				fmt.Fprintf(&text, "  %s\n", line)
			}
		}
		fmt.Fprintf(&text, "%s\n", b)
	}
	return text.String()
}

// leadingTo are the last changes in the family of a breach's Deployment until then. Of pods it has
// those that serve no longer.
func leadingTo(changes []change, b breach) []string {
	const most = 60
	serves := map[types.UID]bool{}
	var lines []string
	for _, c := range changes {
		if c.rv > b.rv {
			break
		}
		object, err := meta.Accessor(c.object)
		if err != nil || object.GetName() != b.deployment && object.GetLabels()["app"] != b.deployment {
			continue
		}
		did := serves[object.GetUID()]
		if pod, ok := c.object.(*corev1.Pod); ok {
			serves[pod.UID] = c.kind != watch.Deleted && pod.DeletionTimestamp == nil && podReady(pod)
		}
		if line := numbersOf(c.object, did && !serves[object.GetUID()]); line != "" {
			lines = append(lines, fmt.Sprintf("rv %d %s %s", c.rv, c.kind, line))
		}
	}
	return lines[max(0, len(lines)-most):]
}

func numbersOf(object runtime.Object, ended bool) string {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return fmt.Sprintf("Deployment, generation %d (%d observed): %d wanted, paused %t, status %d replicas, %d updated, %d available",
			o.Generation, o.Status.ObservedGeneration, *o.Spec.Replicas, o.Spec.Paused, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas)
	case *appsv1.ReplicaSet:
		return fmt.Sprintf("ReplicaSet %s, generation %d (%d observed): %d wanted, status %d replicas, %d available",
			o.Name, o.Generation, o.Status.ObservedGeneration, *o.Spec.Replicas, o.Status.Replicas, o.Status.AvailableReplicas)
	case *corev1.Pod:
		if ended {
			return fmt.Sprintf("pod %s serves no longer, being deleted %t", o.Name, o.DeletionTimestamp != nil)
		}
	}
	return ""
}
