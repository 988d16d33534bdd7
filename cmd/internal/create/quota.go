package create

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"
	"k8s.io/kubectl/pkg/util/qos"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

// bring adds what the input has of ServiceAccounts, quotas and limits for a namespace. A quota that is there already
// is changed by it, and keeps what is used of it.
func (s *surroundings) bring(in *input, namespace string) {
	for account := range in.accounts {
		if account[0] == namespace && s.accounts != nil {
			s.accounts[account[1]] = true
		}
	}
	for i := range in.limits {
		if l := &in.limits[i]; l.Namespace == namespace {
			s.limits = slices.DeleteFunc(s.limits, func(x corev1.LimitRange) bool { return x.Name == l.Name })
			s.limits = append(s.limits, *l)
		}
	}
	for i := range in.quotas {
		q := in.quotas[i].DeepCopy()
		if q.Namespace != namespace {
			continue
		}
		q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: s.used(q)}
		s.quotas = slices.DeleteFunc(s.quotas, func(x corev1.ResourceQuota) bool { return x.Name == q.Name })
		s.quotas = append(s.quotas, *q)
	}
}

// used is what the pods that are there take of a quota that nobody has counted yet.
func (s *surroundings) used(q *corev1.ResourceQuota) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range s.pods {
		p := &s.pods[i]
		if finished(p) || !counts(q, p) {
			continue
		}
		for name := range q.Spec.Hard {
			total := sum[name]
			total.Add(perPod(p, name))
			sum[name] = total
		}
	}
	return sum
}

// readDefaultClass reads which PriorityClass pods get that name none, where a quota asks for it.
func (f *foreseer) readDefaultClass(ctx context.Context, s *surroundings) {
	if !slices.ContainsFunc(s.quotas, func(q corev1.ResourceQuota) bool {
		return slices.ContainsFunc(scopesOf(&q), func(r scopeRule) bool { return r.ScopeName == corev1.ResourceQuotaScopePriorityClass })
	}) {
		return
	}
	list, err := f.client.SchedulingV1().PriorityClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		s.unread = append(s.unread, "PriorityClasses: "+redact.Line(err.Error()))
		return
	}
	for i := range list.Items {
		if list.Items[i].GlobalDefault {
			s.class = list.Items[i].Name
		}
	}
}

// room is how many more pods of a template the quotas leave room for, and which of them says
// so; "" where there is room for all that are wanted.
func (s *surroundings) room(template *corev1.PodTemplateSpec, wanted int64) (room int64, clash string) {
	room = wanted
	for _, b := range s.boundsOf(template) {
		if n := fits(b.hard, b.used, b.each); n < room {
			room = n
			clash = fmt.Sprintf("ResourceQuota %s%s leaves room for %d of %s that may have to be created: %s of %s %s used for %s%s",
				b.quota.Name, counting(b.quota), n, prose.Count(wanted, "pod"), b.used.String(), b.hard.String(), would(b.before), b.name, b.before)
		}
	}
	return room, clash
}

// hardOf is what a quota allows, also where it was not counted yet.
func hardOf(q *corev1.ResourceQuota) corev1.ResourceList {
	if len(q.Status.Hard) == 0 {
		return q.Spec.Hard
	}
	return q.Status.Hard
}

// barred says what refuses every pod of a template, however many there are; "" for nothing.
func (s *surroundings) barred(template *corev1.PodTemplateSpec) string {
	if text := s.withoutAccount(template); text != "" && accountOf(&template.Spec) != "default" { // Which every namespace gets soon.
		return text
	}
	pod := s.podOf(template)
	if text := s.outOfRange(pod); text != "" {
		return text
	}
	for i := range s.quotas {
		q := &s.quotas[i]
		if !counts(q, pod) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(hardOf(q))) {
			if leavesOpen(pod, name) {
				return fmt.Sprintf("ResourceQuota %s wants every pod%s to say how much %s it needs, and a container of the template does not: no pod can be created", q.Name, ofScopes(q), name)
			}
		}
	}
	return ""
}

// claim is the pods that a workload of the input will make.
type claim struct {
	of   *workload
	pod  *corev1.Pod
	pods int64
}

// claims writes down that a workload makes so many pods, so that what is looked at after it is judged
// beside them.
func (s *surroundings) claims(w *workload, pods int64) {
	if pods > 0 {
		s.before = append(s.before, claim{w, s.podOf(&w.template), pods})
	}
}

// drops takes back what a workload claims.
func (s *surroundings) drops(w *workload) {
	s.before = slices.DeleteFunc(s.before, func(c claim) bool { return c.of == w })
}

// sheds takes back what ReplicaSets of the input claim where the Deployment that adopts them has so many pods with
// theirs, and scales down at once to what it keeps.
func (s *surroundings) sheds(d *workload, pods, keeps int64) {
	excess := pods - keeps
	for i := range s.before {
		if c := &s.before[i]; excess > 0 && d.adopts(c.of) {
			less := min(excess, c.pods)
			c.pods, excess = c.pods-less, excess-less
		}
	}
	s.before = slices.DeleteFunc(s.before, func(c claim) bool { return c.pods == 0 })
}

// would is the verb of an amount that others of the input have yet to take.
func would(before string) string {
	if before == "" {
		return "are"
	}
	return "would be"
}

// claimed is what is used of a resource of a quota when the workloads of the input have their pods that
// were looked at before, and a clause that names these.
func (s *surroundings) claimed(q *corev1.ResourceQuota, name corev1.ResourceName) (used resource.Quantity, clause string) {
	was := q.Status.Used[name]
	used = was.DeepCopy()
	var names []string
	for _, c := range s.before {
		each := perPod(c.pod, name)
		if each.Sign() <= 0 || !counts(q, c.pod) {
			continue
		}
		each.Mul(c.pods)
		used.Add(each)
		names = append(names, c.of.meta.GetName())
	}
	if len(names) > 0 {
		clause = ", counting what others of the same input take first: " + prose.Some(names, mostNames)
	}
	return used, clause
}

// podOf is a pod of a template as the API server would have it, as far as quotas count it: a limit
// stands for a request that is missing, and then LimitRanges and the default PriorityClass fill in.
func (s *surroundings) podOf(template *corev1.PodTemplateSpec) *corev1.Pod {
	p := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	if p.Spec.PriorityClassName == "" {
		p.Spec.PriorityClassName = s.class
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			r.Requests = filled(r.Requests, r.Limits)
			for j := range s.limits {
				for k := range s.limits[j].Spec.Limits {
					if item := &s.limits[j].Spec.Limits[k]; item.Type == corev1.LimitTypeContainer {
						limit := filled(item.Default, item.Max)
						r.Requests = filled(filled(filled(r.Requests, item.DefaultRequest), limit), item.Min)
						r.Limits = filled(r.Limits, limit)
					}
				}
			}
		}
	}
	return p
}

// filled is a list with what it lacks of another one.
func filled(list, from corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(from)
	if out == nil {
		return list
	}
	maps.Copy(out, list)
	return out
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

// perPod is what one pod takes of a resource of a quota, 0 for what pods do not take.
func perPod(p *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourcePods || name == "count/pods" {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	if of, limits := strings.CutPrefix(string(name), "limits."); limits {
		return podresources.PodLimits(p, podresources.PodResourcesOptions{})[corev1.ResourceName(of)]
	}
	return podresources.PodRequests(p, podresources.PodResourcesOptions{})[corev1.ResourceName(strings.TrimPrefix(string(name), "requests."))]
}

// leavesOpen reports whether a container does not say how much it needs of processors or memory
// of which a quota counts the requests or limits. The API server refuses such a pod.
func leavesOpen(p *corev1.Pod, name corev1.ResourceName) bool {
	text, limits := strings.CutPrefix(string(name), "limits.")
	of := corev1.ResourceName(strings.TrimPrefix(text, "requests."))
	if of != corev1.ResourceCPU && of != corev1.ResourceMemory || podresources.IsPodLevelResourcesSet(p) {
		return false
	}
	return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c corev1.Container) bool {
		list := c.Resources.Requests
		if limits {
			list = c.Resources.Limits
		}
		_, said := list[of]
		return !said
	})
}

type scopeRule = corev1.ScopedResourceSelectorRequirement

// scopesOf are the conditions of a quota, which hold for a pod that it counts all at once.
func scopesOf(q *corev1.ResourceQuota) []scopeRule {
	var list []scopeRule
	for _, scope := range q.Spec.Scopes {
		list = append(list, scopeRule{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists})
	}
	if q.Spec.ScopeSelector != nil {
		list = append(list, q.Spec.ScopeSelector.MatchExpressions...)
	}
	return list
}

// counts reports whether a quota counts a pod.
func counts(q *corev1.ResourceQuota, p *corev1.Pod) bool {
	return !slices.ContainsFunc(scopesOf(q), func(r scopeRule) bool { return !inScope(&r, p) })
}

func inScope(r *scopeRule, p *corev1.Pod) bool {
	ends := p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds >= 0
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return ends
	case corev1.ResourceQuotaScopeNotTerminating:
		return !ends
	case corev1.ResourceQuotaScopeBestEffort:
		return qos.ComputePodQOS(p) == corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return qos.ComputePodQOS(p) != corev1.PodQOSBestEffort
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(p.Spec.Affinity)
	case corev1.ResourceQuotaScopePriorityClass:
		return hasClass(r, p.Spec.PriorityClassName)
	}
	return false // It is not of pods.
}

func hasClass(r *scopeRule, class string) bool {
	switch r.Operator {
	case corev1.ScopeSelectorOpExists:
		return class != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(r.Values, class)
	}
	return slices.Contains(r.Values, class)
}

// crossesNamespaces reports whether a term is of pods of other namespaces.
func crossesNamespaces(a *corev1.Affinity) bool {
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for i := range preferred {
			terms = append(terms, preferred[i].PodAffinityTerm)
		}
	}
	if a != nil && a.PodAffinity != nil {
		add(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a != nil && a.PodAntiAffinity != nil {
		add(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}

// counting says which pods a quota counts; "" where it counts all.
func counting(q *corev1.ResourceQuota) string {
	if of := ofScopes(q); of != "" {
		return ", which counts only pods" + of + ","
	}
	return ""
}

// ofScopes is what the pods of a quota have in common.
func ofScopes(q *corev1.ResourceQuota) string {
	var list []string
	for _, r := range scopesOf(q) {
		list = append(list, scopeText(&r))
	}
	if len(list) == 0 {
		return ""
	}
	return " " + prose.And(list)
}

func scopeText(r *scopeRule) string {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return "with activeDeadlineSeconds"
	case corev1.ResourceQuotaScopeNotTerminating:
		return "without activeDeadlineSeconds"
	case corev1.ResourceQuotaScopeBestEffort:
		return "without requests and limits"
	case corev1.ResourceQuotaScopeNotBestEffort:
		return "with requests or limits"
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return "with an affinity to pods of other namespaces"
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpExists:
		return "with a PriorityClass"
	case corev1.ScopeSelectorOpDoesNotExist:
		return "without a PriorityClass"
	case corev1.ScopeSelectorOpNotIn:
		return "of another PriorityClass than " + strings.Join(r.Values, " or ")
	}
	return "of PriorityClass " + strings.Join(r.Values, " or ")
}
