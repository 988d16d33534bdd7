package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fieldselector "k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// MaxWarnings bounds the events that Warnings returns.
	MaxWarnings = 5
	// eventsOfPod bounds the events that are read of one pod.
	eventsOfPod = 50
)

// Warnings reads the newest Warning events of some pods, the newest first, redacted as
// everything that is recorded. It asks the API server once for each pod: it is for
// somebody who looks, and no sync waits for it.
func Warnings(ctx context.Context, client kubernetes.Interface, namespace string, pods []string) ([]telemetry.Warning, error) {
	var list []telemetry.Warning
	for _, pod := range pods {
		events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{Limit: eventsOfPod, FieldSelector: fieldselector.Set{
			"type": corev1.EventTypeWarning, "involvedObject.kind": "Pod", "involvedObject.name": pod,
		}.String()})
		if err != nil {
			return nil, fmt.Errorf("read the events of pod %s: %w", pod, redact.Error(err))
		}
		for i := range events.Items {
			list = append(list, warning(&events.Items[i]))
		}
	}
	slices.SortFunc(list, func(a, b telemetry.Warning) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	list = slices.CompactFunc(list, func(a, b telemetry.Warning) bool { return a.Reason == b.Reason && a.Message == b.Message })
	return list[:min(len(list), MaxWarnings)], nil
}

// warning takes the time where whoever wrote the event has put it.
func warning(e *corev1.Event) telemetry.Warning {
	w := telemetry.Warning{At: e.LastTimestamp.UTC(), Count: int64(max(1, e.Count)), Object: e.InvolvedObject.Kind + " " + e.InvolvedObject.Name,
		Reason: redact.Message(e.Reason), Message: redact.Message(e.Message)}
	if e.Series != nil {
		w.At, w.Count = e.Series.LastObservedTime.UTC(), int64(e.Series.Count)
	}
	if w.At.IsZero() {
		w.At = e.EventTime.UTC()
	}
	return w
}
