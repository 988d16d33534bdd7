package deploy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/loopscope/loopscope/controllers"
)

// build builds an overlay with these components, as kubectl apply -k does.
func build(t *testing.T, overlay string, components ...string) resmap.ResMap {
	t.Helper()
	path := "kustomize/overlays/" + overlay
	files := filesys.MakeFsOnDisk()
	if len(components) > 0 {
		path = t.TempDir()
		text, err := yaml.Marshal(map[string]any{"resources": []string{relative(t, path, "kustomize/overlays/"+overlay)}, "components": relatives(t, path, components)})
		if err != nil {
			t.Fatal(err)
		}
		if err := files.WriteFile(filepath.Join(path, "kustomization.yaml"), text); err != nil {
			t.Fatal(err)
		}
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, path)
	if err != nil {
		t.Fatalf("%s with %v: %v", overlay, components, err)
	}
	return all
}

func relatives(t *testing.T, from string, to []string) (list []string) {
	for _, path := range to {
		list = append(list, relative(t, from, path))
	}
	return list
}

func relative(t *testing.T, from, to string) string {
	t.Helper()
	to, err := filepath.Abs(to)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Rel(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// find reads the only object of a kind.
func find[T any](t *testing.T, all resmap.ResMap, kind string) (o T) {
	t.Helper()
	n := 0
	for _, r := range all.Resources() {
		if r.GetKind() != kind {
			continue
		}
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		n++
	}
	if n != 1 {
		t.Fatalf("there are %d of kind %s", n, kind)
	}
	return o
}

// kinds are the objects of a build, as "Kind namespace/name".
func kinds(all resmap.ResMap) (list []string) {
	for _, r := range all.Resources() {
		list = append(list, r.GetKind()+" "+r.GetNamespace()+"/"+r.GetName())
	}
	slices.Sort(list)
	return list
}

const (
	pvc      = "kustomize/components/history-pvc"
	pvcs     = "kustomize/components/history-pvc-manager"
	tls      = "kustomize/components/tls"
	operator = "kustomize/components/prometheus"
	handover = "kustomize/components/handover"
)

// workload is what runs the pods, of either kind.
type workload struct {
	Spec struct {
		Replicas int
		Strategy struct{ Type string }
		Template corev1.PodTemplateSpec

		VolumeClaimTemplates []corev1.PersistentVolumeClaim
	}
}

var workloads = map[string]string{"shadow": "Deployment", "manager": "StatefulSet", "namespaced": "Deployment"}

// TestOverlaysHold: selectors find the pods, ports have names, and no image is of a registry.
func TestOverlaysHold(t *testing.T) {
	for overlay, kind := range workloads {
		all := build(t, overlay, tls, operator, "dashboards")
		pod := find[workload](t, all, kind).Spec.Template
		service, budget, policy := find[corev1.Service](t, all, "Service"), find[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget"), find[networkingv1.NetworkPolicy](t, all, "NetworkPolicy")
		for what, selector := range map[string]*metav1.LabelSelector{"Service": {MatchLabels: service.Spec.Selector}, "PodDisruptionBudget": budget.Spec.Selector, "NetworkPolicy": &policy.Spec.PodSelector} {
			s, err := metav1.LabelSelectorAsSelector(selector)
			if err != nil || s.Empty() || !s.Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s: the %s selects %v: %v", overlay, what, s, err)
			}
		}
		c := pod.Spec.Containers[0]
		if strings.ContainsAny(c.Image, "./") {
			t.Errorf("%s: image %s is of a registry", overlay, c.Image)
		}
		for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if p.HTTPGet.Port.String() != c.Ports[0].Name || p.HTTPGet.Scheme != corev1.URISchemeHTTPS {
				t.Errorf("%s: a probe asks %v", overlay, p.HTTPGet)
			}
		}
		if !slices.Contains(c.Args, "--secure-port=10257") || c.Ports[0].ContainerPort != 10257 || slices.Contains(c.Args, "--watch") != (overlay != "manager") {
			t.Errorf("%s: it is started with %v", overlay, c.Args)
		}
	}
}

// TestNamespacedStaysInItsNamespace: whoever is admin of one namespace can apply it there.
func TestNamespacedStaysInItsNamespace(t *testing.T) {
	dir := t.TempDir()
	text := "namespace: shop\nresources: [" + relative(t, dir, "kustomize/overlays/namespaced") + "]\n"
	files := filesys.MakeFsOnDisk()
	if err := files.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text)); err != nil {
		t.Fatal(err)
	}
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range kinds(all) {
		if !strings.Contains(o, " shop/") {
			t.Errorf("%s is outside of the namespace", o)
		}
	}
	if who := find[rbacv1.RoleBinding](t, all, "RoleBinding").Subjects; len(who) != 1 || who[0].Namespace != "shop" || who[0].Name != "loopscope" {
		t.Errorf("its role is given to %v", who)
	}
	if rules := find[rbacv1.Role](t, all, "Role").Rules; len(rules) < 3 {
		t.Errorf("its rules are %v", rules)
	}
}

// TestComponents: what they add is there.
func TestComponents(t *testing.T) {
	shadow := find[workload](t, build(t, "shadow", pvc), "Deployment").Spec
	if volume := shadow.Template.Spec.Volumes[0]; volume.PersistentVolumeClaim == nil || volume.EmptyDir != nil || shadow.Strategy.Type != "Recreate" {
		t.Errorf("%s leaves %+v", pvc, shadow)
	}
	all := build(t, "manager", pvcs, handover)
	manager := find[workload](t, all, "StatefulSet").Spec
	if len(manager.VolumeClaimTemplates) != 1 || len(manager.Template.Spec.Volumes) != 0 || manager.Replicas != 2 {
		t.Errorf("%s leaves %+v", pvcs, manager)
	}
	if lease := find[rbacv1.Role](t, all, "Role").Rules[0].ResourceNames; !slices.Equal(lease, []string{"kube-controller-manager"}) || !slices.Contains(manager.Template.Spec.Containers[0].Args, "--leader-elect-resource-name=kube-controller-manager") {
		t.Errorf("%s leaves Lease %v and %v", handover, lease, manager.Template.Spec.Containers[0].Args)
	}
	data := find[corev1.ConfigMap](t, build(t, "shadow", "dashboards"), "ConfigMap").Data
	for file := range dashboards(t) {
		if data[filepath.Base(file)] == "" {
			t.Errorf("%s is not in the ConfigMap", file)
		}
	}
}

// TestRollingUpdateControllerRights: its role has nothing that its loop does not ask for.
func TestRollingUpdateControllerRights(t *testing.T) {
	var role rbacv1.ClusterRole
	text, _, _ := strings.Cut(read(t, "rollingupdate-controller.yaml"), "\n---\n")
	if err := yaml.Unmarshal([]byte(text), &role); err != nil {
		t.Fatal(err)
	}
	all := controllers.Rights()
	covers, missing := validation.Covers(slices.Concat(all.Decide, all.Cluster, all.Act), role.Rules)
	if !covers || len(role.Rules) == 0 {
		t.Errorf("nothing asks for %v", missing)
	}
}
