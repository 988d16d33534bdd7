package create

import (
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
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

// unlabelled is a ReplicaSet that has no labels itself.
func unlabelled(name string, selector map[string]string) *workload {
	w := setOf(name, selector, "")
	w.meta.SetLabels(nil)
	return w
}

func controllerOf(name string, labels map[string]string) *workload {
	return workloadIn(&corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}, Spec: corev1.ReplicationControllerSpec{
		Selector: labels, Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}}})
}

// migrated is a ReplicationController whose pods a Deployment has taken over, at a size that somebody has given it.
func migrated(labels map[string]string, size int32) *workload {
	marked := maps.Clone(labels)
	marked["loopscope.dev/migrated-to"] = "1"
	w := controllerOf("web", marked)
	w.meta.SetAnnotations(map[string]string{rollingupdate.AnnotationMigration: "{}"})
	w.object.(*corev1.ReplicationController).Spec.Replicas = &size
	return w
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
	ended := func(name string, phase corev1.PodPhase) corev1.Pod {
		p := pod(name, web)
		p.Status.Phase = phase
		return p
	}
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
		{"a ReplicaSet of the same input", deploymentOf("web", web, web), surroundings{accounts: accounts}, input{workloads: []*workload{setOf("joins", web, "")}}, "it adopts 1 ReplicaSet, which nobody owns and its selector matches: joins"},
		{"one of the same input that is there and its own", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{setOf("theirs", web, "web")}}, input{workloads: []*workload{setOf("theirs", web, "")}}, ""},
		{"a ReplicaSet that a Deployment takes over", setOf("joins", web, ""), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("ct", web, web)}}, input{}, "Deployment ct adopts it and decides on its size from then on"},
		{"one that a Deployment of the same input takes over", setOf("joins", web, ""), surroundings{accounts: accounts}, input{workloads: []*workload{deploymentOf("ct", web, web)}}, "Deployment ct adopts it and decides on its size from then on"},
		{"one that its Deployment has", setOf("theirs", web, "ct"), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("ct", web, web)}}, input{}, ""},
		{"a ReplicaSet of other labels than its selector", unlabelled("joins", web), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("ct", web, web)}}, input{}, "Deployment ct: their selectors overlap, so one may adopt pods that the other leaves behind"},
		{"a Deployment beside that", deploymentOf("ct", web, web), surroundings{accounts: accounts, workloads: []*workload{unlabelled("joins", web)}}, input{}, "ReplicaSet joins: their selectors overlap"},
		{"a ReplicationController beside a Deployment", controllerOf("web", web), surroundings{accounts: accounts, workloads: []*workload{deploymentOf("web", more, more)}}, input{}, "Deployment web: their selectors overlap"},
		{"a Deployment beside a ReplicationController", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{controllerOf("web", web)}}, input{}, "ReplicationController web: their selectors overlap"},
		{"a Deployment beside the ReplicationController that it was", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{migrated(web, 0)}}, input{}, ""},
		{"a Deployment beside that, with pods again", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{migrated(web, 1)}}, input{}, "ReplicationController web: their selectors overlap"},
		{"a ReplicaSet with one", deploymentOf("web", web, web), surroundings{accounts: accounts, workloads: []*workload{setOf("theirs", web, "old")}}, input{}, ""},
		{"pods without an owner", setOf("web", web, ""), surroundings{accounts: accounts, pods: []corev1.Pod{pod("a", web), pod("b", more), pod("c", api)}}, input{}, "it adopts 2 pods, which nobody owns and its selector matches: a, b"},
		{"pods without an owner that have ended", setOf("web", web, ""), surroundings{accounts: accounts, pods: []corev1.Pod{pod("a", web), ended("b", corev1.PodFailed), ended("c", corev1.PodSucceeded)}}, input{}, "it adopts 1 pod, which nobody owns and its selector matches: a"},
		{"pods beside a Deployment", deploymentOf("web", web, web), surroundings{accounts: accounts, pods: []corev1.Pod{pod("a", web)}}, input{}, ""},
		{"no ServiceAccount", robot, surroundings{accounts: accounts}, input{}, "ServiceAccount robot is not there"},
		{"a ServiceAccount of the same input", robot, surroundings{accounts: map[string]bool{"default": true}}, input{accounts: map[[2]string]bool{{"shop", "robot"}: true}}, ""},
		{"ServiceAccounts that may not be read", robot, surroundings{}, input{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.bring(&c.in, "shop")
			got := strings.Join(clashes(c.of, &c.s, &c.in), "\n")
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("clashes %q, want %q", got, c.want)
			}
		})
	}
}
