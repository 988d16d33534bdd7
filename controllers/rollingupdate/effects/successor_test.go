package effects

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// What is foreseen of the new one is what the loop creates ([RU-7]).
func TestSuccessor(t *testing.T) {
	const request = `{"version":1,"image":"shop:v2","imagePullPolicy":"Always"}`
	r, err := rollingupdate.ParseRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	before := noted("web", notes{"request": request})
	before.Annotations["team"] = "shop"
	split := before.DeepCopy()
	split.Spec.Selector["deployment"], split.Spec.Template.Labels["deployment"] = "old", "old"
	c := newUpdateCaches(t)
	c.Add(t, split)
	for range 2 { // The notes, and the new one.
		seen, err := c.observe(context.Background(), "shop/web")
		if err != nil {
			t.Fatal(err)
		}
		a := seen.Core().Decide().Actions[0]
		if a.Size != nil {
			if outcome, _ := seen.Do(t.Context(), a); !outcome.OK() {
				t.Fatalf("%+v", outcome)
			}
			made, err := c.client.CoreV1().ReplicationControllers("shop").Get(t.Context(), a.Target.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			made.TypeMeta, made.ManagedFields = metav1.TypeMeta{}, nil // The API server adds these.
			if foreseen := Successor(before, r, a.Target.Name); !equality.Semantic.DeepEqual(foreseen, made) {
				t.Errorf("foreseen is\n%+v, made is\n%+v", foreseen, made)
			}
			return
		}
		seen.apply(split, a)
		c.Add(t, split)
	}
	t.Error("nothing was created")
}
