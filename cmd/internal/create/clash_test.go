package create

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func deploymentOf(name string, selector, template map[string]string) *workload {
	return workloadIn(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template}}}})
}

func setOf(name string, labels map[string]string, owner string) *workload {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}}}
	if owner != "" {
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&metav1.ObjectMeta{Name: owner, UID: types.UID(owner)}, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	}
	return workloadIn(rs)
}

func pod(name string, labels map[string]string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels}}
}

// What clashes is named, and nothing else is.
func TestClashes(t *testing.T) {
	web, api := map[string]string{"app": "web"}, map[string]string{"app": "api"}
	more := map[string]string{"app": "web", "tier": "front"}
	elsewhere := deploymentOf("far", web, web)
	elsewhere.meta.SetNamespace("other")
	accounts := map[string]bool{"default": true}
	robot := deploymentOf("web", web, web)
	robot.template.Spec.ServiceAccountName = "robot"
	for _, c := range []struct {
		name string
		of   *workload
		s    surroundings
		in   input
		want string // "" for nothing
	}{
		{"alone", deploymentOf("web", web, web), surroundings{accounts: accounts}, input{}, ""},
		{"itself, that is applied", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("web", web, web)}}, input{}, ""},
		{"another one of the same labels", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("old", web, web)}}, input{}, "Deployment old: their selectors overlap"},
		{"one whose selector is wider", deploymentOf("web", more, more), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("old", web, web)}}, input{}, "Deployment old: their selectors overlap"},
		{"one whose selector is narrower", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("old", more, more)}}, input{}, "Deployment old: their selectors overlap"},
		{"one of the same input", deploymentOf("web", web, web), surroundings{accounts: accounts}, input{workloads: []*workload{deploymentOf("twin", web, web)}}, "Deployment twin: their selectors overlap"},
		{"one of other labels", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("api", api, api)}}, input{}, ""},
		{"one of another namespace", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{elsewhere}}, input{}, ""},
		{"a ReplicaSet without an owner", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{setOf("lone", web, "")}}, input{}, "it adopts 1 ReplicaSet, which nobody owns and its selector matches: lone"},
		{"a ReplicaSet with one", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{setOf("theirs", web, "old")}}, input{}, ""},
		{"pods without an owner", setOf("web", web, ""), surroundings{accounts: accounts, pods: []corev1.Pod{pod("a", web), pod("b", more), pod("c", api)}}, input{}, "it adopts 2 pods, which nobody owns and its selector matches: a, b"},
		{"pods beside a Deployment", deploymentOf("web", web, web), surroundings{accounts: accounts, pods: []corev1.Pod{pod("a", web)}}, input{}, ""},
		{"no ServiceAccount", robot, surroundings{accounts: accounts}, input{}, "ServiceAccount robot is not there"},
		{"a ServiceAccount of the same input", robot, surroundings{accounts: accounts}, input{accounts: map[[2]string]bool{{"shop", "robot"}: true}}, ""},
		{"ServiceAccounts that may not be read", robot, surroundings{}, input{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(clashes(c.of, &c.s, &c.in), "\n")
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("clashes %q, want %q", got, c.want)
			}
		})
	}
}

func quota(of, hard, used string) corev1.ResourceQuota {
	name := corev1.ResourceName(of)
	return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)}}}
}

func TestRoom(t *testing.T) {
	templateOf := func(requests, limits corev1.ResourceList) corev1.PodTemplateSpec {
		one := corev1.Container{Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{one, one}}}
	}
	cpu := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
	}
	scoped := quota("pods", "0", "0")
	scoped.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	ranges := []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer}}}}}
	for _, c := range []struct {
		name     string
		quotas   []corev1.ResourceQuota
		limits   []corev1.LimitRange
		template corev1.PodTemplateSpec
		wanted   int64
		room     int64
		says     string
	}{
		{"no quota", nil, nil, templateOf(nil, nil), 5, 5, ""},
		{"room for all", []corev1.ResourceQuota{quota("pods", "10", "5")}, nil, templateOf(nil, nil), 5, 5, ""},
		{"room for some", []corev1.ResourceQuota{quota("pods", "10", "7")}, nil, templateOf(nil, nil), 5, 3, "leaves room for 3 of 5 pods that may have to be created: 7 of 10 are used for pods"},
		{"more used than there is", []corev1.ResourceQuota{quota("count/pods", "1", "7")}, nil, templateOf(nil, nil), 5, 0, "room for 0 of 5"},
		{"the least counts", []corev1.ResourceQuota{quota("pods", "10", "7"), quota("pods", "3", "1")}, nil, templateOf(nil, nil), 5, 2, "room for 2 of 5"},
		{"processors of all containers", []corev1.ResourceQuota{quota("requests.cpu", "1", "200m")}, nil, templateOf(cpu("100m"), nil), 5, 4, "200m of 1 are used for requests.cpu"},
		{"a limit as a request", []corev1.ResourceQuota{quota("cpu", "1", "0")}, nil, templateOf(nil, cpu("250m")), 5, 2, "room for 2 of 5"},
		{"limits", []corev1.ResourceQuota{quota("limits.cpu", "1", "0")}, nil, templateOf(cpu("1m"), cpu("500m")), 5, 1, "for limits.cpu"},
		{"a request that is missing", []corev1.ResourceQuota{quota("requests.memory", "1Gi", "0")}, nil, templateOf(cpu("1"), nil), 5, 0, "wants every pod to say how much requests.memory it needs"},
		{"a request that a LimitRange may set", []corev1.ResourceQuota{quota("requests.memory", "1Gi", "0")}, ranges, templateOf(nil, nil), 5, 5, ""},
		{"of other objects", []corev1.ResourceQuota{quota("count/services", "0", "0"), quota("requests.storage", "0", "0")}, nil, templateOf(nil, nil), 5, 5, ""},
		{"of some pods alone", []corev1.ResourceQuota{scoped}, nil, templateOf(nil, nil), 5, 5, ""},
		{"nothing to create", []corev1.ResourceQuota{quota("pods", "1", "1")}, nil, templateOf(nil, nil), 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := surroundings{quotas: c.quotas, limits: c.limits}
			room, clash := s.room(&c.template, c.wanted)
			if room != c.room || (clash == "") != (c.says == "") || !strings.Contains(clash, c.says) {
				t.Errorf("room %d, %q, want %d, %q", room, clash, c.room, c.says)
			}
		})
	}
}
