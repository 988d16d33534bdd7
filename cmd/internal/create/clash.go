package create

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// mostNames is how many objects a clash names.
const mostNames = 5

// clashes are what would be in the way of a workload, or what it would take to itself.
func clashes(w *workload, s *surroundings, in *input) []string {
	list := overlaps(w, s, in)
	if by := adopter(w, s, in); by != "" {
		list = append(list, "Deployment "+by+" adopts it and decides on its size from then on, as its selector matches the labels of this ReplicaSet: give it labels that no Deployment selects")
	}
	list = append(list, adoptions(w, s, in)...)
	if text := s.withoutAccount(&w.template); text != "" {
		list = append(list, text)
	}
	return list
}

// withoutAccount says that the ServiceAccount of a template is not there; "" where it is, or nobody knows.
func (s *surroundings) withoutAccount(template *corev1.PodTemplateSpec) string {
	account := accountOf(&template.Spec)
	if s.accounts == nil || s.accounts[account] {
		return ""
	}
	return fmt.Sprintf("ServiceAccount %s is not there: no pod can be created before it is", account)
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

// overlaps are other objects whose selector takes in the pods of this one, or the other way
// round, by their kinds. What one of them adopts is told as that.
func overlaps(w *workload, s *surroundings, in *input) (list []string) {
	names := map[string][]string{} // by kind
	for _, other := range slices.Concat(s.workloads, in.workloads) {
		name, alike := other.meta.GetName(), other.kind == w.kind
		switch {
		case other.owned() || other.meta.GetNamespace() != w.meta.GetNamespace(), slices.Contains(names[other.kind], name),
			w.same(other), !alike && w.owned(), other.adopts(w), w.adopts(other), other.replaced():
		case selects(other.selector, w.template.Labels), selects(w.selector, other.template.Labels):
			names[other.kind] = append(names[other.kind], name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(names)) {
		so := "each may adopt what the other leaves behind"
		if kind != w.kind {
			so = "one may adopt pods that the other leaves behind"
		}
		list = append(list, fmt.Sprintf("%s %s: their selectors overlap, so %s, and Services and autoscalers count the pods of both: give this one a label of its own in its selector and its template",
			prose.Plural(len(names[kind]), kind, kind+"s"), prose.Some(names[kind], mostNames), so))
	}
	return list
}

// adopter is the Deployment that takes a ReplicaSet to itself once it is there; "" for none.
func adopter(w *workload, s *surroundings, in *input) string {
	for _, other := range slices.Concat(s.workloads, in.workloads) {
		if other.adopts(w) {
			return other.meta.GetName()
		}
	}
	return ""
}

// replaced reports whether w is a ReplicationController that a migration has left without pods. Its selector
// has a label by then that no pod has.
func (w *workload) replaced() bool {
	return w.kind == "ReplicationController" && w.meta.GetAnnotations()[rollingupdate.AnnotationMigration] != "" && w.wanted() == 0
}

// wanted is how many pods a ReplicaSet or ReplicationController is to have; 0 of anything else.
func (w *workload) wanted() int64 {
	var n *int32
	switch x := w.object.(type) {
	case *appsv1.ReplicaSet:
		n = x.Spec.Replicas
	case *corev1.ReplicationController:
		n = x.Spec.Replicas
	default:
		return 0
	}
	if n == nil {
		return 1
	}
	return int64(*n)
}

// same reports whether both are one object.
func (w *workload) same(other *workload) bool {
	return w.kind == other.kind && w.meta.GetName() == other.meta.GetName() && w.meta.GetNamespace() == other.meta.GetNamespace()
}

// adopts reports whether w is a Deployment that makes a ReplicaSet its own that nobody owns.
func (w *workload) adopts(rs *workload) bool {
	return w.kind == "Deployment" && rs.kind == "ReplicaSet" && !rs.owned() && w.meta.GetNamespace() == rs.meta.GetNamespace() &&
		w.meta.GetDeletionTimestamp() == nil && rs.meta.GetDeletionTimestamp() == nil && selects(w.selector, rs.meta.GetLabels())
}

// adoptions are what has no owner and matches the selector.
func adoptions(w *workload, s *surroundings, in *input) []string {
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
		for _, rs := range in.workloads {
			if w.adopts(rs) && !slices.ContainsFunc(s.workloads, rs.same) {
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
