package effects

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// revisionOf is a ReplicaSet of a revision, with a template of its own.
func revisionOf(revision, image string, change func(*corev1.Container)) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "hash" + revision}
	rs := &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-"+revision, "r-"+revision, "1", labels, nil)}
	rs.Annotations = map[string]string{AnnotationRevision: revision}
	rs.Spec.Template = *lab.Template(labels, image)
	change(&rs.Spec.Template.Spec.Containers[0])
	return rs
}

// TestTemplateChange compares the two highest revisions: images and quantities
// are shown, and what may be a secret is only named.
func TestTemplateChange(t *testing.T) {
	with := func(cpu, url string) func(*corev1.Container) {
		return func(c *corev1.Container) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
			c.Env = []corev1.EnvVar{{Name: "CACHE_URL", Value: url}}
			c.Args = []string{"--token", url}
		}
	}
	own := []*appsv1.ReplicaSet{
		revisionOf("10", "shop/web:3.4.0", with("500m", "redis://one")), revisionOf("8", "shop/web:1", with("1m", "x")),
		revisionOf("9", "shop/web:3.3.2", with("250m", "redis://two")), revisionOf("", "none", with("1m", "x")),
	}
	known := &knownTemplate{}
	got := known.change(own)
	want := []decision.Change{
		{Field: "containers[web].image", From: "shop/web:3.3.2", To: "shop/web:3.4.0"}, {Field: "containers[web].args"},
		{Field: "containers[web].env[CACHE_URL]"}, {Field: "containers[web].resources.requests[cpu]", From: "250m", To: "500m"},
	}
	if got == nil || got.From != "9" || got.To != "10" || got.More != 0 || !slices.Equal(got.Fields, want) {
		t.Errorf("%+v", got)
	}
	if known.change(own) != got {
		t.Error("the same two ReplicaSets are compared once more")
	}
	own[1].Annotations[AnnotationRevision] = "11" // A rollback gives an old template a new revision.
	if again := known.change(own); again.From != "10" || again.To != "11" {
		t.Errorf("after a rollback it is of %s to %s", again.From, again.To)
	}
	if one := known.change(own[:1]); one != nil {
		t.Errorf("one revision changed %+v", one)
	}
}

// TestTemplateChangeIsBounded holds what a change of a template may add to a trace.
func TestTemplateChangeIsBounded(t *testing.T) {
	with := func(value string) func(*corev1.Container) {
		return func(c *corev1.Container) {
			for i := range 200 {
				c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_NUMBER_%d", i), Value: value})
			}
		}
	}
	c := (&knownTemplate{}).change([]*appsv1.ReplicaSet{revisionOf("1", "a", with("1")), revisionOf("2", "b", with("2"))})
	if len(c.Fields) != deployment.MaxChanged || c.More != 201-deployment.MaxChanged || c.Fields[0].From != "a" {
		t.Errorf("%d paths and %d more, the first is %+v", len(c.Fields), c.More, c.Fields[0])
	}
	raw, err := json.Marshal(c)
	lab.Check(t, err)
	small, err := json.Marshal((&knownTemplate{}).change([]*appsv1.ReplicaSet{revisionOf("1", "shop/web:3.3.2", func(*corev1.Container) {}), revisionOf("2", "shop/web:3.4.0", func(*corev1.Container) {})}))
	lab.Check(t, err)
	t.Logf("a changed image adds %d bytes to a trace, 201 changed paths add %d", len(small), len(raw))
	if len(raw) > 1024 || len(small) > 160 {
		t.Error("that is too much")
	}
}
