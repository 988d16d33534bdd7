package create

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// refusesPods says what nothing else here knows of and the API server refuses pods of a workload for, by a
// dry run of one of them; "" for nothing. Who may not create pods learns nothing by it.
func refusesPods(ctx context.Context, client kubernetes.Interface, w *workload, in *input) string {
	how := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	_, err := client.CoreV1().Pods(w.meta.GetNamespace()).Create(ctx, w.trial(), how)
	if err == nil {
		return ""
	}
	f := diagnosis.OfRefusal(diagnosis.Refusal{Namespace: w.meta.GetNamespace(), Message: err.Error(), Count: 1})
	_, labelled := in.namespaces[w.meta.GetNamespace()]
	as := ""
	switch f.Code {
	case diagnosis.PriorityClass:
		if in.classes[w.template.Spec.PriorityClassName] {
			return ""
		}
	case diagnosis.PodSecurity:
		if labelled { // The input may set another level.
			return ""
		}
	case diagnosis.Webhook, diagnosis.Policy: // They may treat users differently.
		as = ", as a dry run of one with your credentials shows"
	default:
		return ""
	}
	return slices.Concat(f.Before, decision.Words{}.Say("its pods"), f.After).At(time.Time{}) + as
}

// trial is a pod as the loops make it of the template.
func (w *workload) trial() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: *w.template.ObjectMeta.DeepCopy(), Spec: *w.template.Spec.DeepCopy()}
	owner := metav1.NewControllerRef(w.meta, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"})
	if w.kind == "ReplicationController" {
		owner.APIVersion, owner.Kind = "v1", w.kind
	}
	owner.Name, owner.UID, owner.BlockOwnerDeletion = "dry-run", "dry-run", nil // It need not be there.
	p.Name, p.GenerateName, p.Namespace, p.OwnerReferences = "", "loopscope-dry-run-", w.meta.GetNamespace(), []metav1.OwnerReference{*owner}
	return p
}
