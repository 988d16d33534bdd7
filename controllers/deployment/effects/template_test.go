package effects

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// [N-2]: the hash depends on the template and the collision count, and a
// count of zero is not the same as none.
func TestTemplateHash(t *testing.T) {
	a := lab.Template(map[string]string{"app": "web"}, "nginx:1.27")
	zero, one := int32(0), int32(1)
	seen := map[string]string{}
	for name, h := range map[string]string{
		"no count": TemplateHash(a, nil), "zero": TemplateHash(a, &zero), "one": TemplateHash(a, &one),
		"other image": TemplateHash(lab.Template(map[string]string{"app": "web"}, "nginx:1.28"), nil),
	} {
		if other, taken := seen[h]; taken {
			t.Errorf("%s and %s have the same hash %s", name, other, h)
		}
		seen[h] = name
		if strings.Trim(h, "bcdfghjklmnpqrstvwxz2456789") != "" {
			t.Errorf("%s: hash %q has letters outside the safe alphabet", name, h)
		}
	}
	if TemplateHash(a, nil) != TemplateHash(a.DeepCopy(), nil) {
		t.Error("equal templates have different hashes")
	}
}

// [N-3]
func TestReplicaSetName(t *testing.T) {
	if got := ReplicaSetName("web", "7d4b9c6f5x"); got != "web-7d4b9c6f5x" {
		t.Errorf("name = %s", got)
	}
	long := ReplicaSetName(strings.Repeat("w", 253), "7d4b9c6f5x")
	if len(long) != 253 || !strings.HasSuffix(long, "w-7d4b9c6f5x") {
		t.Errorf("a long name is cut to %d characters: %s", len(long), long)
	}
}

func TestSameTemplate(t *testing.T) {
	base := lab.Template(map[string]string{"app": "web"}, "nginx:1.27")
	hashed := lab.Template(map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "x"}, "nginx:1.27")
	empty := base.DeepCopy()
	empty.Spec.Volumes = []corev1.Volume{}
	quantity := func(s string) *corev1.PodTemplateSpec {
		c := base.DeepCopy()
		c.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(s)}
		return c
	}
	onlyHash := lab.Template(map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "x"}, "i")
	for _, c := range []struct {
		name string
		a, b *corev1.PodTemplateSpec
		want bool
	}{
		{"itself", base, base, true},
		{"the hash label aside", base, hashed, true},
		{"a nil and an empty list", base, empty, true},
		{"the same quantity written otherwise", quantity("1000m"), quantity("1"), true},
		{"another quantity", quantity("1"), quantity("2"), false},
		{"another image", base, lab.Template(map[string]string{"app": "web"}, "nginx:1.28"), false},
		{"no labels but the hash", onlyHash, lab.Template(nil, "i"), true},
	} {
		if got := sameTemplate(c.a, c.b); got != c.want {
			t.Errorf("%s: same = %v, want %v", c.name, got, c.want)
		}
	}
	if len(hashed.Labels) != 2 {
		t.Error("comparing changed the template")
	}
}

// TestTemplatesAreOfOneGeneration: what was computed holds for one generation
// of one object, and for one generation of each ReplicaSet.
func TestTemplatesAreOfOneGeneration(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Generation: 1}, Spec: appsv1.DeploymentSpec{Template: *lab.Template(nil, "shop:v1")}}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{UID: "rs", Generation: 1}, Spec: appsv1.ReplicaSetSpec{Template: *lab.Template(nil, "shop:v1")}}
	var m templates
	known := m.get("shop/web", d)
	first := known.hash(&d.Spec.Template, nil)
	if first != TemplateHash(&d.Spec.Template, nil) || !known.sameAs(&d.Spec.Template, rs) {
		t.Fatal("the first answer is wrong")
	}
	if m.get("shop/web", d) != known {
		t.Error("it is computed again for the same generation")
	}
	rs.Spec.Template, rs.Generation = *lab.Template(nil, "shop:v2"), 2
	if known.sameAs(&d.Spec.Template, rs) {
		t.Error("the ReplicaSet of before is remembered")
	}
	d.Spec.Template, d.Generation = *lab.Template(nil, "shop:v2"), 2
	if again := m.get("shop/web", d); again.hash(&d.Spec.Template, nil) == first || !again.sameAs(&d.Spec.Template, rs) {
		t.Error("the template of before is remembered")
	}
	m.forget("shop/web")
	if len(m.of) != 0 {
		t.Error("it is remembered after it went")
	}
}
