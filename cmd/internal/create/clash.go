package create

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// mostNames is how many objects a clash names.
const mostNames = 5

// clashes are what would be in the way of a workload, or what it would take to itself.
func clashes(w *workload, s *surroundings, in *input) []string {
	list := overlaps(w, s, in)
	list = append(list, adoptions(w, s)...)
	if account := accountOf(&w.template.Spec); s.accounts != nil && !s.accounts[account] && !in.accounts[[2]string{w.meta.GetNamespace(), account}] {
		list = append(list, fmt.Sprintf("ServiceAccount %s is not there: no pod can be created before it is", account))
	}
	return list
}

func accountOf(spec *corev1.PodSpec) string {
	if spec.ServiceAccountName == "" {
		return "default"
	}
	return spec.ServiceAccountName
}

// selects reports whether a selector takes in what has these labels; one that is empty or
// broken takes in nothing here.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return false
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(set))
}

// overlaps are other objects of the kind whose selector takes in the pods of this one, or the
// other way round.
func overlaps(w *workload, s *surroundings, in *input) []string {
	var names []string
	for _, other := range slices.Concat(s.workloads, in.workloads) {
		switch {
		case other.kind != w.kind || other.owned() || other.meta.GetNamespace() != w.meta.GetNamespace(),
			other.meta.GetName() == w.meta.GetName(), slices.Contains(names, other.meta.GetName()):
		case selects(other.selector, w.template.Labels), selects(w.selector, other.template.Labels):
			names = append(names, other.meta.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s %s: their selectors overlap, so each may adopt what the other leaves behind, and Services and autoscalers count the pods of both: give this one a label of its own in its selector and its template",
		prose.Plural(len(names), w.kind, w.kind+"s"), prose.Some(names, mostNames))}
}

// adoptions are what has no owner and matches the selector.
func adoptions(w *workload, s *surroundings) []string {
	var names []string
	what := "ReplicaSet"
	if w.kind == what || w.kind == "ReplicationController" {
		what = "pod"
		for i := range s.pods {
			if p := &s.pods[i]; orphan(p, w) && !finished(p) {
				names = append(names, p.Name)
			}
		}
	} else {
		for _, rs := range s.workloads {
			if rs.kind == what && orphan(rs.meta, w) {
				names = append(names, rs.meta.GetName())
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("it adopts %s, which nobody owns and its selector matches: %s", prose.Count(len(names), what), prose.Some(names, mostNames))}
}

func orphan(o metav1.Object, of *workload) bool {
	return metav1.GetControllerOf(o) == nil && o.GetDeletionTimestamp() == nil && o.GetUID() != types.UID("") && selects(of.selector, o.GetLabels())
}
