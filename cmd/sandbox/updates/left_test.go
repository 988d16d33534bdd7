package updates

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// fixture is where kubectl was interrupted, as section by section it goes on: each one does
// what the ones before it did, too.
type fixture struct {
	name string
	do   func(r *run)
}

// The labels that kubectl gives.
var (
	splitOld = map[string]string{"app": "web", "deployment": "aaa-orig"}
	splitNew = map[string]string{"app": "web", "deployment": "bbb"}
)

// fixtures are the steps of kubectl's rolling-update --image, in their order.
func fixtures() []fixture {
	return []fixture{
		{"nothing but the name", func(r *run) { r.annotate("web", rollingupdate.AnnotationNext, "web-2") }},
		{"label on the template", func(r *run) {
			r.edit("web", func(rc *corev1.ReplicationController) { rc.Spec.Template.Labels = maps.Clone(splitOld) })
		}},
		{"labels on the pods", func(r *run) {
			pods, err := r.client.CoreV1().Pods(r.namespace).List(r.t.Context(), metav1.ListOptions{})
			if err != nil {
				r.t.Fatal(err)
			}
			for _, pod := range pods.Items {
				if _, err := r.client.CoreV1().Pods(r.namespace).Patch(r.t.Context(), pod.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"deployment":"aaa-orig"}}}`), metav1.PatchOptions{}); err != nil {
					r.t.Fatal(err)
				}
			}
		}},
		{"label on the selector", func(r *run) {
			r.edit("web", func(rc *corev1.ReplicationController) { rc.Spec.Selector = maps.Clone(splitOld) })
		}},
		{"new one created", func(r *run) {
			old, err := r.get("web")
			if err != nil {
				r.t.Fatal(err)
			}
			r.next(old, splitNew)
		}},
		{"size written down", func(r *run) { r.annotate("web", rollingupdate.AnnotationOriginal, "3") }},
		{"scaled up", func(r *run) { r.scale("web-2", 1) }},
		{"scaled down", func(r *run) {
			r.available("web-2", 1)
			r.scale("web", 2)
		}},
		{"all scaled", func(r *run) {
			r.scale("web-2", 2)
			r.available("web-2", 2)
			r.scale("web", 1)
			r.scale("web-2", 3)
			r.available("web-2", 3)
			r.scale("web", 0)
		}},
		{"notes removed", func(r *run) {
			r.edit("web-2", func(rc *corev1.ReplicationController) { rc.Annotations = nil })
		}},
	}
}

func (r *run) edit(name string, change func(*corev1.ReplicationController)) {
	r.t.Helper()
	testplane.Until(r.t, limit, "an edit of "+name, func() error {
		rc, err := r.get(name)
		if err != nil {
			return err
		}
		change(rc)
		_, err = r.client.CoreV1().ReplicationControllers(r.namespace).Update(r.t.Context(), rc, metav1.UpdateOptions{})
		return err
	})
}

func (r *run) scale(name string, n int32) {
	r.t.Helper()
	r.edit(name, func(rc *corev1.ReplicationController) { rc.Spec.Replicas = &n })
}

// testLeft has the loop finish what kubectl left, as soon as somebody asks for it, and not
// before ([RU-3]).
func testLeft(t *testing.T, plane plane) {
	steps := fixtures()
	picked := sample(t, "left", len(steps))
	for last := range steps {
		if !picked(last) {
			continue
		}
		t.Run(steps[last].name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, plane, 3)
			r.loops(&killer{})
			r.old(appWeb)
			r.watches(3, 4)
			for _, step := range steps[:last+1] {
				step.do(r)
			}
			before := r.sizes()
			r.says("web", "half-done")
			request := `{` + fast + `,"to":"web-2","cleanup":"delete"}`
			if last < 4 { // There is no new one yet.
				request = `{` + fast + `,"to":"web-2","image":"web:2","cleanup":"delete"}`
			}
			if after := r.sizes(); before != after {
				t.Errorf("%s became %s, and nobody asked", before, after)
			}
			r.ask(request)
			r.left("web:2", map[string]int32{"web-2": 3})
			tally.add("finished for kubectl", 1)
		})
	}
	t.Run("in the middle of a rename", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, plane, 3)
		r.loops(&killer{})
		r.create("web-2", "web:2", 3, splitNew, map[string]string{rollingupdate.AnnotationSource: "web:gone", rollingupdate.AnnotationDesired: "3"})
		r.available("web-2", 3)
		r.watches(3, 3)
		r.annotate("web-2", rollingupdate.AnnotationRequest, `{`+fast+`,"to":"web-2","cleanup":"rename"}`)
		r.ended("web", "r1", rollingupdate.Complete)
		r.left("web:2", map[string]int32{"web": 3})
	})
}

func (r *run) sizes() string {
	list, err := r.client.CoreV1().ReplicationControllers(r.namespace).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	text := ""
	for i := range list.Items {
		text += fmt.Sprintf("%s %d, ", list.Items[i].Name, *list.Items[i].Spec.Replicas)
	}
	return text
}
