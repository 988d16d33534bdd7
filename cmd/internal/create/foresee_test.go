package create

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Each kind is looked at by its own loop, beside the orphans that it would adopt.
func TestLook(t *testing.T) {
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "shop:v1"}}}}
	of := metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "w", Generation: 1}
	three := int32(3)
	lonePod, loneSet := pod("lone", labels), setOf("old", labels, "").object
	for _, c := range []struct {
		kind  string
		o     runtime.Object
		wants map[decision.ActionKind]int64 // how many of each
	}{
		{"Deployment", &appsv1.Deployment{ObjectMeta: of, Spec: appsv1.DeploymentSpec{Replicas: &three, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template, Strategy: appsv1.DeploymentStrategy{Type: "Recreate"}}},
			map[decision.ActionKind]int64{decision.Adopt: 1}},
		{"ReplicaSet", &appsv1.ReplicaSet{ObjectMeta: of, Spec: appsv1.ReplicaSetSpec{Replicas: &three, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}},
			map[decision.ActionKind]int64{decision.Adopt: 1, decision.CreatePods: 2}},
		{"ReplicationController", &corev1.ReplicationController{ObjectMeta: of, Spec: corev1.ReplicationControllerSpec{Replicas: &three, Selector: labels, Template: &template}},
			map[decision.ActionKind]int64{decision.Adopt: 1, decision.CreatePods: 2}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			client := fake.NewClientset(&lonePod, loneSet)
			f := &foreseer{client: client, around: map[string]*surroundings{}}
			w, err := workloadOf(c.kind, c.o)
			if err != nil {
				t.Fatal(err)
			}
			trace, err := f.surroundings(t.Context(), "shop", false).look(t.Context(), client, registrationFor(w), w)
			if err != nil || len(trace.Rounds) == 0 {
				t.Fatalf("%v, %+v", err, trace)
			}
			got := map[decision.ActionKind]int64{}
			for _, a := range trace.Rounds[0].Verdict.Actions {
				got[a.Kind] += max(1, a.Count)
			}
			for kind, n := range c.wants {
				if got[kind] != n {
					t.Errorf("%s: %d, want %d: %v", kind, got[kind], n, got)
				}
			}
			for _, a := range client.Actions() {
				if a.GetVerb() != "list" && a.GetVerb() != "get" {
					t.Errorf("a look sends %s %s", a.GetVerb(), a.GetResource().Resource)
				}
			}
		})
	}
}

// What may not be read is named: without pods there is no verdict, without quotas one that says so.
func TestSurroundingsThatMayNotBeRead(t *testing.T) {
	for resource, blind := range map[string]bool{"deployments": true, "replicasets": true, "replicationcontrollers": true, "pods": true, "resourcequotas": false, "limitranges": false, "serviceaccounts": false} {
		client := fake.NewClientset()
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
		s := (&foreseer{client: client, around: map[string]*surroundings{}}).surroundings(t.Context(), "shop", false)
		if (s.blind != nil) != blind || (len(s.unread) == 1) == blind {
			t.Errorf("%s: %v, %v", resource, s.blind, s.unread)
		}
		if text := strings.ToLower(strings.Join(s.unread, "")); !blind && !strings.HasPrefix(text, resource) {
			t.Errorf("%s: %q", resource, text)
		}
	}
}

// FuzzWorkloadOf proves that whatever an API server answers is read or refused, and that
// what is read can be held against anything.
func FuzzWorkloadOf(f *testing.F) {
	for _, s := range []string{`{}`, `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}}}`,
		`{"spec":{"selector":{"app":"web"}}}`, `{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Nothing"}]}}}`, `{"spec":{"template":null}}`, `{"spec":[]}`,
		`{"metadata":{"ownerReferences":[{"controller":true}]}}`, `{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"-1"}}}]}}}}`, `{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e999"}}}]}}}}`} {
		f.Add(s)
	}
	labels := map[string]string{"a": "b"}
	f.Fuzz(func(t *testing.T, text string) {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			return
		}
		for _, kind := range []string{"Deployment", "ReplicaSet", "ReplicationController"} {
			w, err := workloadOf(kind, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(numbers(fields))})
			if err != nil {
				continue
			}
			s := &surroundings{workloads: []*workload{deploymentOf("x", labels, labels), setOf("y", labels, "")}, pods: []corev1.Pod{pod("z", labels)},
				quotas: []corev1.ResourceQuota{quota("pods", "3", "1"), quota("cpu", "3", "1"), quota("limits.cpu", "3", "1")}}
			clashes(w, s, &input{workloads: []*workload{w}})
			s.barred(&w.template)
			if room, _ := s.room(&w.template, 5); room < 0 || room > 5 {
				t.Fatalf("room for %d of 5", room)
			}
		}
	})
}

// numbers are those of encoding/json as objects of Kubernetes have them.
func numbers(fields map[string]any) map[string]any {
	var o unstructured.Unstructured
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "X", "is": fields})
	if err != nil || o.UnmarshalJSON(text) != nil {
		return map[string]any{}
	}
	is, _ := o.Object["is"].(map[string]any)
	return is
}
