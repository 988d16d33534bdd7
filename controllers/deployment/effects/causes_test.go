package effects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestDeploymentFields(t *testing.T) {
	two, four := int32(2), int32(4)
	base := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"token": "hunter2", "keep": "x"}},
		Spec:       appsv1.DeploymentSpec{Replicas: &two, Template: *lab.Template(nil, "nginx:1.27")},
	}
	for _, c := range []struct {
		name string
		edit func(*appsv1.Deployment)
		want []decision.Change
	}{
		{"nothing", func(*appsv1.Deployment) {}, nil},
		{"size", func(d *appsv1.Deployment) { d.Spec.Replicas = &four }, []decision.Change{{Field: "spec.replicas", From: "2", To: "4"}}},
		{"paused", func(d *appsv1.Deployment) { d.Spec.Paused = true }, []decision.Change{{Field: "spec.paused", From: "false", To: "true"}}},
		{"image", func(d *appsv1.Deployment) { d.Spec.Template = *lab.Template(nil, "nginx:404") }, []decision.Change{
			{Field: "spec.template.containers[web].image", From: "nginx:1.27", To: "nginx:404"}, {Field: "spec.template"}}},
		{"annotations are named, never shown", func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"token": "correct horse", "new": "secret"}
		}, []decision.Change{{Field: "metadata.annotations[keep]"}, {Field: "metadata.annotations[new]"}, {Field: "metadata.annotations[token]"}}},
		{"condition", func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Progressing", Status: "True", Reason: "ReplicaSetUpdated"}}
		}, []decision.Change{{Field: "status.conditions[Progressing]", To: "True ReplicaSetUpdated"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := base.DeepCopy()
			c.edit(d)
			if diff := cmp.Diff(c.want, deploymentFields(&base, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
