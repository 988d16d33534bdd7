package create

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
)

var shop = map[string]string{"app": "web"}

// podSpec is one container that requests memory; "" for none.
func podSpec(memory string) corev1.PodSpec {
	main := corev1.Container{Name: "main", Image: "nginx:1.27"}
	if memory != "" {
		main.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return corev1.PodSpec{Containers: []corev1.Container{main}}
}

func readyPods(n int, owner *metav1.OwnerReference, memory string) (list []corev1.Pod) {
	for i := range n {
		p := pod(fmt.Sprintf("web-%d", i), shop)
		p.OwnerReferences, p.Spec = []metav1.OwnerReference{*owner}, podSpec(memory)
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		list = append(list, p)
	}
	return list
}

// running is a Deployment of 4 pods that request 1Gi, of which a new template is to request other memory.
func running(memory string, strategy appsv1.DeploymentStrategy) (*workload, surroundings) {
	four := int32(4)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d", Generation: 2},
		Spec: appsv1.DeploymentSpec{Replicas: &four, Selector: &metav1.LabelSelector{MatchLabels: shop}, Strategy: strategy, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: shop}, Spec: podSpec(memory)}}}
	d.Spec.Template.Spec.Containers[0].Image = "nginx:1.28"
	old := setOf("web-1", shop, "")
	rs := old.object.(*appsv1.ReplicaSet)
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	rs.Spec.Replicas, rs.Spec.Template.Spec = &four, podSpec("1Gi")
	rs.Status = appsv1.ReplicaSetStatus{Replicas: 4, ReadyReplicas: 4, AvailableReplicas: 4}
	return workloadIn(d), surroundings{workloads: []*workload{old}, pods: readyPods(4, metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")), "1Gi")}
}

// registrationFor is the loop of a workload.
func registrationFor(w *workload) *engine.Registration {
	i := slices.IndexFunc(controllers.Registered, func(r engine.Registration) bool { return r.Loop.Kind == w.kind })
	return &controllers.Registered[i]
}

// foreseen is what is told of a workload beside what is there.
func foreseen(t *testing.T, w *workload, s *surroundings) (out Forecast) {
	t.Helper()
	trace, err := s.look(t.Context(), fake.NewClientset(), registrationFor(w), w)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := trace.Decided(controllers.Loops)
	if err != nil {
		t.Fatal(err)
	}
	out.foresee(t.Context(), w, s, snapshot)
	return out
}

func (f *Forecast) complete() bool {
	if f.Plan == nil {
		return false
	}
	for _, r := range f.Plan.Rows {
		if r.Mark != nil && r.Mark.Word == "complete" {
			return true
		}
	}
	return false
}

// ends is how the plan ends, or why there is none.
func (f *Forecast) ends() string {
	switch {
	case f.complete():
		return "complete"
	case f.Plan != nil:
		return f.Plan.Sentence
	}
	return f.Unplanned
}

// What refuses the new pods of a Deployment is told, and no plan ends complete that cannot.
func TestForeseeUpdates(t *testing.T) {
	rolling := func(surge, unavailable string) appsv1.DeploymentStrategy {
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable))}}
	}
	recreate := appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	least := []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "bounds"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}}}}}
	for _, c := range []struct {
		name     string
		memory   string
		strategy appsv1.DeploymentStrategy
		quotas   []corev1.ResourceQuota
		limits   []corev1.LimitRange
		clash    string // "" for none
		ends     string // that of the plan, or why there is none
	}{
		{"free", "2Gi", rolling("25%", "25%"), nil, nil, "", "complete"},
		{"Recreate and a LimitRange", "512Mi", recreate, nil, least, "LimitRange bounds allows container main no request of memory below 1Gi, and it is 512Mi: no pod can be created", "no new pod could be created"},
		{"25 % and a LimitRange", "512Mi", rolling("25%", "25%"), nil, least, "LimitRange bounds allows container main", "no new pod could be created"},
		{"no surge and a LimitRange", "512Mi", rolling("0", "1"), nil, least, "LimitRange bounds allows container main", "no new pod could be created"},
		{"Recreate and a request that a quota wants", "", recreate, []corev1.ResourceQuota{quota("requests.memory", "8Gi", "4Gi")}, nil, "ResourceQuota few wants every pod to say how much requests.memory it needs", "no new pod could be created"},
		{"Recreate and more than the quota has", "2Gi", recreate, []corev1.ResourceQuota{quota("requests.memory", "5Gi", "4Gi")}, nil,
			"ResourceQuota few has no room for one more new pod beside 2 new pods and 0 old ones: 4Gi of 5Gi would be used for requests.memory, and it needs 2Gi", "quota few refuses 2 new pods (requests.memory: 4Gi of 5Gi used, 2Gi requested)"},
		{"Recreate and as much as the quota has", "2Gi", recreate, []corev1.ResourceQuota{quota("requests.memory", "8Gi", "4Gi")}, nil, "", "complete"},
		{"no surge and more than the quota has", "2Gi", rolling("0", "1"), []corev1.ResourceQuota{quota("requests.memory", "6Gi", "4Gi")}, nil,
			"ResourceQuota few has no room for one more new pod beside 2 new pods and 1 old one: 5Gi of 6Gi would be used", "quota few refuses 1 new pod (requests.memory: "},
		{"no pod less and no room at the end", "2Gi", rolling("1", "0"), []corev1.ResourceQuota{quota("requests.memory", "8Gi", "4Gi")}, nil, "ResourceQuota few has no room for one more new pod beside 3 new pods and 1 old one: 7Gi of 8Gi would be used", "quota few refuses 1 new pod"},
		{"no pod less and no room", "1Gi", rolling("1", "0"), []corev1.ResourceQuota{quota("pods", "4", "4")}, nil, "ResourceQuota few leaves room for 0 of 1 pod", "quota few refuses 1 new pod (pods: 4 of 4 used)"},
		{"25 % and no room for more", "2Gi", rolling("25%", "25%"), []corev1.ResourceQuota{quota("pods", "4", "4")}, nil, "ResourceQuota few leaves room for 0 of 1 pod", "complete"},
		{"no surge and no room for more", "2Gi", rolling("0", "1"), []corev1.ResourceQuota{quota("pods", "4", "4")}, nil, "", "complete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := running(c.memory, c.strategy)
			s.quotas, s.limits = c.quotas, c.limits
			f := foreseen(t, w, &s)
			said, ends := strings.Join(f.Clashes, "\n"), f.ends()
			if (said == "") != (c.clash == "") || !strings.HasPrefix(said, c.clash) || !strings.Contains(ends, c.ends) {
				t.Errorf("in the way %q, in the end %q\nwant       %q,            %q", said, ends, c.clash, c.ends)
			}
			if f.complete() != (c.ends == "complete") {
				t.Errorf("complete: %t", f.complete())
			}
		})
	}
}

// A ReplicationController gets as many pods as a quota leaves room for beside those that run, and none where
// something else refuses them.
func TestForeseeMorePods(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: shop}, Spec: podSpec("")}
	six := int32(6)
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "rc", Generation: 2}, Spec: corev1.ReplicationControllerSpec{Replicas: &six, Selector: shop, Template: &template}}
	owner := metav1.NewControllerRef(rc, corev1.SchemeGroupVersion.WithKind("ReplicationController"))
	pods := func(evicted int) []corev1.Pod {
		list := readyPods(3+evicted, owner, "")
		for i := 3; i < len(list); i++ {
			list[i].Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
		}
		return list
	}
	leaving := readyPods(6, owner, "")
	leaving[0].DeletionTimestamp = &metav1.Time{}
	least := []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "bounds"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypePod, Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}}}}}
	for _, c := range []struct {
		name        string
		s           surroundings
		clash, ends string
	}{
		{"room", surroundings{pods: pods(0), quotas: []corev1.ResourceQuota{quota("pods", "4", "3")}}, "ResourceQuota few leaves room for 1 of 3 pods", "shop/web has failed: quota few refuses 2 of 6 pods (pods: 4 of 4 used). Needs action: unblocks when the quota leaves room."},
		{"room beside evicted ones", surroundings{pods: pods(2), quotas: []corev1.ResourceQuota{quota("pods", "4", "3")}}, "ResourceQuota few leaves room for 1 of 3 pods", "shop/web has failed: quota few refuses 2 of 6 pods (pods: 4 of 4 used). Needs action: unblocks when the quota leaves room."},
		{"a request that a quota wants", surroundings{pods: pods(0), quotas: []corev1.ResourceQuota{quota("requests.cpu", "4", "3")}}, "ResourceQuota few wants every pod", "no new pod could be created"},
		{"a LimitRange, and one that is terminating", surroundings{pods: leaving, limits: least}, "LimitRange bounds wants a pod to request memory", "no new pod could be created"},
		{"no room, and one that is terminating", surroundings{pods: leaving, quotas: []corev1.ResourceQuota{quota("pods", "5", "6")}}, "ResourceQuota few has no room for one more pod beside 5 pods: 5 of 5 would be used for pods, and it needs 1", "shop/web has failed: quota few refuses 1 of 6 pods (pods: 6 of 5 used). Needs action: unblocks when the quota leaves room."},
		{"room for another in place of one that is terminating", surroundings{pods: leaving, quotas: []corev1.ResourceQuota{quota("pods", "6", "6")}}, "", "shop/web is settled: 6 of 6 pods are available."},
		{"none there", surroundings{quotas: []corev1.ResourceQuota{quota("requests.cpu", "4", "3")}}, "ResourceQuota few wants every pod", "no pod could be created"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := foreseen(t, workloadIn(rc), &c.s)
			ends := f.Unplanned
			if f.Plan != nil {
				ends = f.Plan.Sentence
			}
			if said := strings.Join(f.Clashes, "\n"); (said == "") != (c.clash == "") || !strings.HasPrefix(said, c.clash) || ends != c.ends {
				t.Errorf("in the way %q, in the end %q\nwant       %q,            %q", said, ends, c.clash, c.ends)
			}
		})
	}
}

// Without its ServiceAccount no pod is planned, but for that which every namespace gets.
func TestForeseeWithoutAccount(t *testing.T) {
	for account, c := range map[string]struct{ clash, ends string }{
		"robot":   {"ServiceAccount robot is not there: no pod can be created before it is", "no new pod could be created"},
		"default": {"", "complete"},
	} {
		w, s := running("1Gi", appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})
		w.template.Spec.ServiceAccountName, s.accounts = account, map[string]bool{}
		f := foreseen(t, w, &s)
		if said := strings.Join(f.Clashes, "\n"); said != c.clash || f.ends() != c.ends {
			t.Errorf("%s: in the way %q, in the end %q", account, said, f.ends())
		}
		f = Forecast{Clashes: clashes(w, &s, &input{})}
		if f.bar(f.Clashes[0], 0); len(f.Clashes) != 1 {
			t.Errorf("it is said twice: %q", f.Clashes)
		}
	}
}

// A quota in the way is told beside what bars every pod: somebody mends both at once.
func TestForeseeWithoutAccountAndRoom(t *testing.T) {
	const account = "ServiceAccount robot is not there: no pod can be created before it is"
	for _, c := range []struct {
		surge, unavailable string
		quota              corev1.ResourceQuota
		clash              string // of the quota; "" for none
	}{
		{"0", "1", quota("requests.memory", "6Gi", "4Gi"), "ResourceQuota few has no room for one more new pod beside 2 new pods and 1 old one: 5Gi of 6Gi would be used"},
		{"1", "0", quota("pods", "4", "4"), "ResourceQuota few leaves room for 0 of 1 pod"},
		{"0", "1", quota("pods", "4", "4"), ""},
	} {
		w, s := running("2Gi", appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.Parse(c.surge)), MaxUnavailable: new(intstr.Parse(c.unavailable))}})
		w.template.Spec.ServiceAccountName, s.accounts, s.quotas = "robot", map[string]bool{}, []corev1.ResourceQuota{c.quota}
		f := foreseen(t, w, &s)
		first, rest, _ := strings.Cut(strings.Join(f.Clashes, "\n"), "\n")
		if first != account || (rest == "") != (c.clash == "") || !strings.HasPrefix(rest, c.clash) || f.ends() != "no new pod could be created" {
			t.Errorf("in the way %q and %q, in the end %q; want %q", first, rest, f.ends(), c.clash)
		}
	}
}

// What old pods of unequal requests give back is what they took.
func TestForeseeUnequalPods(t *testing.T) {
	cpu := func(spec *corev1.PodSpec, request string) {
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
	}
	for _, c := range []struct{ hard, clash string }{
		{"600m", ""},
		{"599m", "ResourceQuota few has no room for one more new pod beside 2 new pods and 0 old ones: 400m of 599m would be used for requests.cpu, and it needs 200m"},
	} {
		w, s := running("", appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})
		d, rs := w.object.(*appsv1.Deployment), s.workloads[0].object.(*appsv1.ReplicaSet)
		*d.Spec.Replicas = 3 // Also that of the ReplicaSet.
		rs.Status = appsv1.ReplicaSetStatus{Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}
		s.pods = s.pods[:3]
		for i, request := range []string{"100m", "200m", "200m"} {
			cpu(&s.pods[i].Spec, request)
		}
		cpu(&w.template.Spec, "200m")
		s.quotas = []corev1.ResourceQuota{quota("requests.cpu", c.hard, "500m")}
		f := foreseen(t, w, &s)
		if said := strings.Join(f.Clashes, "\n"); said != c.clash || f.complete() != (c.clash == "") {
			t.Errorf("%s: in the way %q, complete %t", c.hard, said, f.complete())
		}
	}
}
