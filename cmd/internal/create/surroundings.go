package create

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/loopscope/loopscope/telemetry/redact"
)

// input is what the input itself has of what the objects in it need.
type input struct {
	namespaces map[string]int     // the position of each
	accounts   map[[2]string]bool // ServiceAccounts by namespace and name
	classes    map[string]bool    // PriorityClasses
	quotas     []corev1.ResourceQuota
	limits     []corev1.LimitRange
	workloads  []*workload
	at         map[int]*workload // the same by position
	unnamed    map[int]string    // what stands for the names that the API server makes up, by position
}

// add notes an object at a position of the input. What cannot be read the API server refuses.
func (in *input) add(info *resource.Info, position int) {
	if in.namespaces == nil {
		in.namespaces, in.accounts, in.at = map[string]int{}, map[[2]string]bool{}, map[int]*workload{}
	}
	switch kind := info.Mapping.GroupVersionKind; {
	case kind.Group == "" && kind.Kind == "Namespace":
		in.namespaces[info.Name] = position
	case kind.Group == "" && kind.Kind == "ResourceQuota":
		var q corev1.ResourceQuota
		if readInto(info.Object, &q) == nil {
			q.Namespace = info.Namespace
			in.quotas = append(in.quotas, q)
		}
	case kind.Group == "" && kind.Kind == "LimitRange":
		var l corev1.LimitRange
		if readInto(info.Object, &l) == nil {
			l.Namespace = info.Namespace
			in.limits = append(in.limits, l)
		}
	case kind.Group == "" && kind.Kind == "ServiceAccount":
		in.accounts[[2]string{info.Namespace, info.Name}] = true
	case kind.Group == "scheduling.k8s.io" && kind.Kind == "PriorityClass":
		if in.classes == nil {
			in.classes = map[string]bool{}
		}
		in.classes[info.Name] = true
	case registrationOf(kind) != nil:
		if w, err := workloadOf(kind.Kind, info.Object); err == nil { // Otherwise the API server says what is wrong with it.
			in.name(w, position)
			in.workloads, in.at[position] = append(in.workloads, w), w
		}
	}
}

// order is the positions of so many objects in the order in which they are looked at: that of the input, but for
// ReplicaSets that come after the Deployment that adopts them, which is planned beside their pods.
func (in *input) order(n int) []int {
	list, done := make([]int, 0, n), make([]bool, n)
	add := func(i int) {
		if !done[i] {
			list, done[i] = append(list, i), true
		}
	}
	for i := range n {
		for j := i + 1; j < n && in.at[i] != nil; j++ {
			if rs := in.at[j]; rs != nil && in.at[i].adopts(rs) {
				add(j)
			}
		}
		add(i)
	}
	return list
}

// adopts reports whether a Deployment of the input adopts a ReplicaSet.
func (in *input) adopts(rs *workload) bool {
	return slices.ContainsFunc(in.workloads, func(d *workload) bool { return d.adopts(rs) })
}

// name gives a workload whose name the API server makes up one that nothing else has: web-… for one of generateName web-.
func (in *input) name(w *workload, position int) {
	if w.meta.GetName() != "" {
		return
	}
	name := w.meta.GetGenerateName() + "…"
	w.meta.SetName(name)
	for n := 2; slices.ContainsFunc(in.workloads, w.same); n++ {
		w.meta.SetName(fmt.Sprintf("%s(%d)", name, n))
	}
	if in.unnamed == nil {
		in.unnamed = map[int]string{}
	}
	in.unnamed[position] = w.meta.GetName()
}

func readInto(o runtime.Object, typed any) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed)
}

// surroundings are what is in a namespace already, and what of the input bounds its pods.
type surroundings struct {
	workloads []*workload
	pods      []corev1.Pod
	quotas    []corev1.ResourceQuota
	limits    []corev1.LimitRange
	class     string          // the PriorityClass of pods that name none
	accounts  map[string]bool // nil where they could not be read
	before    []claim         // of the workloads of the input that were looked at
	// blind says why no verdict can be told, unread what else could not be looked at.
	blind  error
	unread []string
}

// surroundings reads a namespace, once. One that is fresh has nothing but what the input brings,
// and the ServiceAccount that every namespace gets.
func (f *foreseer) surroundings(ctx context.Context, namespace string, fresh bool) *surroundings {
	if s := f.around[namespace]; s != nil {
		return s
	}
	s := &surroundings{accounts: map[string]bool{"default": true}}
	f.around[namespace] = s
	if !fresh {
		f.read(ctx, namespace, s)
	}
	if !f.current {
		s.bring(&f.input, namespace)
		f.readDefaultClass(ctx, s)
	}
	return s
}

func (f *foreseer) read(ctx context.Context, namespace string, s *surroundings) {
	s.accounts = nil
	apps, core := f.client.AppsV1(), f.client.CoreV1()
	var all metav1.ListOptions
	for _, x := range []struct {
		what string
		list func() (runtime.Object, error)
	}{
		{"Deployments", func() (runtime.Object, error) { return apps.Deployments(namespace).List(ctx, all) }},
		{"ReplicaSets", func() (runtime.Object, error) { return apps.ReplicaSets(namespace).List(ctx, all) }},
		{"ReplicationControllers", func() (runtime.Object, error) { return core.ReplicationControllers(namespace).List(ctx, all) }},
	} {
		list, err := x.list()
		if err != nil {
			s.blind = fmt.Errorf("list %s: %w", x.what, redact.Error(err))
			return
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			s.workloads = append(s.workloads, workloadIn(o))
			return nil
		})
	}
	pods, err := core.Pods(namespace).List(ctx, all)
	if err != nil {
		s.blind = fmt.Errorf("list pods: %w", redact.Error(err))
		return
	}
	s.pods = pods.Items
	if !f.current {
		f.readLimits(ctx, namespace, s)
	}
}

// readLimits reads what bounds pods, without which the rest can be told.
func (f *foreseer) readLimits(ctx context.Context, namespace string, s *surroundings) {
	core := f.client.CoreV1()
	var all metav1.ListOptions
	if quotas, err := core.ResourceQuotas(namespace).List(ctx, all); err != nil {
		s.unread = append(s.unread, "ResourceQuotas: "+redact.Line(err.Error()))
	} else {
		s.quotas = quotas.Items
	}
	if limits, err := core.LimitRanges(namespace).List(ctx, all); err != nil {
		s.unread = append(s.unread, "LimitRanges: "+redact.Line(err.Error()))
	} else {
		s.limits = limits.Items
	}
	accounts, err := core.ServiceAccounts(namespace).List(ctx, all)
	if err != nil {
		s.unread = append(s.unread, "ServiceAccounts: "+redact.Line(err.Error()))
		return
	}
	s.accounts = map[string]bool{}
	for i := range accounts.Items {
		s.accounts[accounts.Items[i].Name] = true
	}
}

// joins has what comes later in the input find a ReplicaSet there with so many pods more, as the Deployment does
// that adopts it.
func (s *surroundings) joins(w *workload, pods int64) {
	set, is := w.object.(*appsv1.ReplicaSet)
	if !is {
		return
	}
	set = set.DeepCopy()
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(w.kind))
	for range pods {
		p := s.podOf(&w.template)
		p.Namespace, p.Name, p.Labels, p.OwnerReferences = set.Namespace, fmt.Sprintf("%s-%d", set.Name, len(s.pods)), w.template.Labels, []metav1.OwnerReference{owner}
		s.pods = append(s.pods, *p)
		set.Status.Replicas++
	}
	s.workloads = append(slices.DeleteFunc(s.workloads, w.same), workloadIn(set))
}
