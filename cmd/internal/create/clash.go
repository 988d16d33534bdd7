package create

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
			if p := &s.pods[i]; orphan(p, w) {
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

// room is how many more pods of a template the quotas leave room for, and which of them says
// so; "" where there is room for all that are wanted.
func (s *surroundings) room(template *corev1.PodTemplateSpec, wanted int64) (room int64, clash string) {
	room = wanted
	for i := range s.quotas {
		q := &s.quotas[i]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // It is of some pods alone, and which these are is not for us to say.
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			each, said := perPod(template, name)
			if !said && !s.defaults() && wanted > 0 {
				return 0, fmt.Sprintf("ResourceQuota %s wants every pod to say how much %s it needs, and a container of the template does not: no pod can be created", q.Name, name)
			}
			if each.Sign() <= 0 {
				continue
			}
			hard, used := q.Status.Hard[name], q.Status.Used[name]
			if n := fits(hard, used, each); n < room {
				room = n
				clash = fmt.Sprintf("ResourceQuota %s leaves room for %d of %s that may have to be created: %s of %s are used for %s",
					q.Name, n, prose.Count(wanted, "pod"), used.String(), hard.String(), name)
			}
		}
	}
	return room, clash
}

// defaults reports whether a LimitRange may set what a template leaves out.
func (s *surroundings) defaults() bool {
	for i := range s.limits {
		for _, item := range s.limits[i].Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				return true
			}
		}
	}
	return false
}

// fits is how many times each goes into what is left.
func fits(hard, used, each resource.Quantity) int64 {
	left := hard.DeepCopy()
	left.Sub(used)
	if left.Sign() <= 0 {
		return 0
	}
	return int64(left.AsApproximateFloat64()/each.AsApproximateFloat64() + 1e-9)
}

// perPod is what one pod takes of a resource of a quota, 0 for what pods do not take. said is
// false where a container leaves it open.
func perPod(template *corev1.PodTemplateSpec, name corev1.ResourceName) (each resource.Quantity, said bool) {
	if name == corev1.ResourcePods || name == "count/pods" {
		return *resource.NewQuantity(1, resource.DecimalSI), true
	}
	of, limits := corev1.ResourceName(strings.TrimPrefix(string(name), "requests.")), false
	if text, is := strings.CutPrefix(string(name), "limits."); is {
		of, limits = corev1.ResourceName(text), true
	}
	if of != corev1.ResourceCPU && of != corev1.ResourceMemory {
		return each, true
	}
	for i := range template.Spec.Containers {
		q, found := amount(&template.Spec.Containers[i].Resources, of, limits)
		if !found {
			return resource.Quantity{}, false
		}
		each.Add(q)
	}
	return each, true
}

// amount is the limit of a container, or its request; one without a request has its limit as that.
func amount(r *corev1.ResourceRequirements, of corev1.ResourceName, limits bool) (q resource.Quantity, found bool) {
	if q, found = r.Requests[of]; found && !limits {
		return q, true
	}
	q, found = r.Limits[of]
	return q, found
}
