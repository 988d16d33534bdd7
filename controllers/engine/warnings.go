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
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// MaxWarnings bounds the events that Warnings returns.
	MaxWarnings = 5
	// eventsOfPage and pagesOfPod bound the events that are read of one pod.
	eventsOfPage = 50
	pagesOfPod   = 10
)

// Warnings reads the newest Warning events of some pods, the newest first, redacted as
// everything that is recorded. It asks the API server for each pod, and page by page where one
// has many: it is for somebody who looks, and no sync waits for it. Of a pod that has more
// than pagesOfPod pages it may miss the newest.
func Warnings(ctx context.Context, client kubernetes.Interface, namespace string, pods []string) ([]telemetry.Warning, error) {
	var list []telemetry.Warning
	for _, pod := range pods {
		of, err := warningsOf(ctx, client.CoreV1().Events(namespace), pod)
		if err != nil {
			return nil, fmt.Errorf("read the events of pod %s: %w", pod, redact.Error(err))
		}
		list = append(list, of...)
	}
	slices.SortFunc(list, func(a, b telemetry.Warning) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	list = slices.CompactFunc(list, func(a, b telemetry.Warning) bool { return a.Reason == b.Reason && a.Message == b.Message })
	return list[:min(len(list), MaxWarnings)], nil
}

// warningsOf reads those of one pod. They come in the order of their names, which says nothing of
// their times: the newest may be on the last page.
func warningsOf(ctx context.Context, from typedcorev1.EventInterface, pod string) ([]telemetry.Warning, error) {
	var list []telemetry.Warning
	opts := metav1.ListOptions{Limit: eventsOfPage, FieldSelector: fieldselector.Set{
		"type": corev1.EventTypeWarning, "involvedObject.kind": "Pod", "involvedObject.name": pod,
	}.String()}
	for range pagesOfPod {
		events, err := from.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range events.Items {
			list = append(list, warning(&events.Items[i]))
		}
		if opts.Continue = events.Continue; opts.Continue == "" {
			break
		}
	}
	return list, nil
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
