package rolling

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

func scaler(name, of string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "ReplicationController", Name: of}},
	}
}

// Who would work against an update is found before anything is written, by a dry run, too.
func TestPreflight(t *testing.T) {
	owned := controller("web", 3, blue, nil)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "DeploymentConfig", Name: "shop", Controller: new(true)}}
	long := strings.Repeat("w", 250)
	for _, c := range []struct {
		name, want string
		have       []runtime.Object
		ask        Ask
	}{
		{"a scaler of the old one", "HorizontalPodAutoscaler a scales ReplicationController web, and would put back the sizes", []runtime.Object{controller("web", 3, blue, nil), scaler("a", "web"), scaler("b", "api")}, image("web:2")},
		{"scalers of the new one", "each of the HorizontalPodAutoscalers a and b scales ReplicationController web-2", []runtime.Object{controller("web", 3, blue, nil), scaler("a", "web-2"), scaler("b", "web-2")}, file(controller("web-2", 3, green, nil))},
		{"an owner", "it belongs to DeploymentConfig shop, which would undo the update", []runtime.Object{owned}, image("web:2")},
		{"a long name", "characters, and a name has 253 at most", []runtime.Object{controller(long, 3, blue, nil)}, Ask{Old: long, Request: rollingupdate.Request{Image: "web:2"}}},
	} {
		client, api := clientOf(c.have...)
		if s, err := client.Begin(t.Context(), c.ask); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %s", c.name, s, err, c.want)
		}
		if f, err := client.Foresee(t.Context(), c.ask, false); err == nil && !strings.Contains(f.Invalid(), c.want) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, as a dry run: %v, want %s", c.name, err, c.want)
		}
		wroteNothing(t, c.name, api)
	}
	client, _ := clientOf(controller(long, 3, blue, nil))
	if _, err := client.Begin(t.Context(), Ask{Old: long, Request: rollingupdate.Request{Image: "web:2", To: "web"}}); err != nil {
		t.Errorf("a long old name, and a new one: %v", err)
	}
}

// forbidScalers is a user who may not list HorizontalPodAutoscalers.
func forbidScalers(api *fake.Clientset) {
	api.PrependReactor("list", "horizontalpodautoscalers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}, "", errors.New("no"))
	})
}

func TestPreflightUnread(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	forbidScalers(api)
	s, err := client.Begin(t.Context(), image("web:2"))
	if err != nil || !strings.Contains(s.Unread, "HorizontalPodAutoscalers could not be listed, and one that scales web or web-") {
		t.Errorf("%+v, %v", s, err)
	}
}

// Both objects are foreseen as they would be written ([RU-7]).
func TestForesee(t *testing.T) {
	there := controller("web-2", 1, green, map[string]string{rollingupdate.AnnotationSource: "web:u-1", rollingupdate.AnnotationDesired: "3"})
	there.UID = "u-2"
	next := controller("web-2", 5, green, nil)
	next.Spec.Template.Spec.Containers[0].Image = "web:2"
	for _, c := range []struct {
		name string
		have []runtime.Object
		ask  Ask
		want string
		news string // parts of the new one
	}{
		{"an image", nil, Ask{Old: "web", Request: rollingupdate.Request{Image: "web:2", To: "web-v2"}}, "web has 3 pods of web:1; web-v2 would be created, for 3 of web:2", `"kubectl.kubernetes.io/update-source-id":"web:u-1"`},
		{"a file", nil, file(next), "web has 3 pods of web:1; web-2 would be created, for 5 of web:2", `"kubectl.kubernetes.io/desired-replicas":"5"`},
		{"one that is there", []runtime.Object{there}, file(controller("web-2", 3, green, nil)), "web has 3 pods of web:1; web-2 is there, with 1 pod, for 3 of web:1", `"uid":"u-2"`},
	} {
		for _, server := range []bool{false, true} {
			client, api := clientOf(append(c.have, controller("web", 3, blue, nil))...)
			manager := managers(t, api)
			f, err := client.Foresee(t.Context(), c.ask, server)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if got := f.Both(); got != c.want || len(f.Plan.Rows) == 0 {
				t.Errorf("%s: %q with %d steps, want %q", c.name, got, len(f.Plan.Rows), c.want)
			}
			text, err := json.Marshal(f.Objects())
			if err != nil || !strings.HasPrefix(string(text), `{"kind":"List","apiVersion":"v1","metadata":{},"items":[{"kind":"ReplicationController","apiVersion":"v1"`) ||
				!strings.Contains(string(text), rollingupdate.AnnotationRequest) || !strings.Contains(string(text), c.news) || strings.Contains(string(text), "not-created") {
				t.Errorf("%s: %s, %v", c.name, text, err)
			}
			if server != (len(*manager) > 0) {
				t.Errorf("%s: it wrote %v", c.name, *manager)
			}
		}
	}
	client, _ := clientOf(controller("web", 3, blue, nil))
	if f, err := client.Foresee(t.Context(), image("web:1"), true); err != nil || !strings.Contains(f.Invalid(), "it has the image web:1 already") || f.New != nil {
		t.Errorf("the same image: %+v, %v", f, err)
	}
}

// The way back is foreseen from where the two are, and the request is not changed.
func TestForeseeBack(t *testing.T) {
	old, n := half(asksX)
	for _, server := range []bool{false, true} {
		client, api := clientOf(old.DeepCopy(), n.DeepCopy())
		f, err := client.ForeseeSteered(t.Context(), "web", abort, server)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Both(); got != "web has 3 pods of web:1; web-2 has 1 pod of web:1" || len(f.Plan.Rows) == 0 || !strings.Contains(f.Sentence.At(f.Now), "moving back") {
			t.Errorf("%q with %d steps: %s", got, len(f.Plan.Rows), f.Sentence.At(f.Now))
		}
		text, err := json.Marshal(f.Objects())
		if err != nil || !strings.Contains(string(text), `\"abort\":true`) || !strings.Contains(string(text), `"uid":"u-2"`) {
			t.Errorf("%s, %v", text, err)
		}
		if !server {
			wroteNothing(t, "the way back", api)
		}
	}
	for want, have := range map[string][]runtime.Object{
		"no rolling update of web is under way": {controller("web", 3, blue, nil)},
		"there is no ReplicationController web": nil,
	} {
		client, _ := clientOf(have...)
		if f, err := client.ForeseeSteered(t.Context(), "web", abort, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v, want %s", f, err, want)
		}
	}
	n.Annotations[rollingupdate.AnnotationRequest] = asksX
	client, api := clientOf(n)
	if f, err := client.ForeseeSteered(t.Context(), "web", abort, false); err != nil || f.Both() != "web-2 has 1 pod of web:1" {
		t.Errorf("the old one is gone: %+v, %v", f, err)
	}
	wroteNothing(t, "the old one is gone", api)
}

// managers notes as whom every write is made: each is signed as this command's.
func managers(t *testing.T, api *fake.Clientset) *[]string {
	var list []string
	note := func(a clienttesting.Action) (bool, runtime.Object, error) {
		var signed string
		switch x := a.(type) {
		case clienttesting.CreateActionImpl:
			signed = x.CreateOptions.FieldManager
		case clienttesting.UpdateActionImpl:
			signed = x.UpdateOptions.FieldManager
		default:
			return false, nil, nil
		}
		list = append(list, fmt.Sprint(a.GetVerb(), " ", signed))
		if signed != "loopscope-rolling-update" {
			t.Errorf("%s is signed %q", a.GetVerb(), signed)
		}
		return false, nil, nil
	}
	api.PrependReactor("*", "replicationcontrollers", note)
	return &list
}

// All writes are signed, so that stories name who asked.
func TestWritesAreSigned(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	list := managers(t, api)
	s, err := client.Begin(t.Context(), file(unsized(controller("web-2", 0, green, nil))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Steer(t.Context(), "web", abort); err != nil {
		t.Error(err)
	}
	if err := client.Withdraw(t.Context(), s); err != nil {
		t.Error(err)
	}
	if len(*list) != 4 {
		t.Errorf("it wrote %v", *list)
	}
}

// What a file asks for is foreseen in the last steps of its update as well, whether or not
// the new one is there. Where it is, the file is not looked at.
func TestForeseeTheEnd(t *testing.T) {
	const asks = `{"version":1,"id":"x","to":"web-2","cleanup":"%s"}`
	parked := rollingupdate.Parked{Size: 3, From: "web-2", UID: "u-2", ID: "x"}.Text()
	taking := mix(green, map[string]string{rollingupdate.LabelParked: "true"}) // it has the selector of the new one
	last := func(size int32, labels map[string]string, cleanup string, notes ...string) *corev1.ReplicationController {
		rc := controller("web", size, labels, map[string]string{rollingupdate.AnnotationRequest: fmt.Sprintf(asks, cleanup), rollingupdate.AnnotationNext: "web-2"})
		for i := 0; i < len(notes); i += 2 {
			annotate(rc, notes[i], notes[i+1])
		}
		return rc
	}
	next := controller("web-2", 3, green, nil)
	next.UID = "u-2"
	sourced := next.DeepCopy()
	sourced.Annotations = map[string]string{rollingupdate.AnnotationSource: "web:u-1", rollingupdate.AnnotationDesired: "3"}
	for _, c := range []struct {
		name string
		have []runtime.Object
		ask  Ask
		want string
	}{
		{"it has done its part", []runtime.Object{last(0, taking, "rename", rollingupdate.AnnotationParked, parked)}, file(controller("web-2", 3, green, nil)), "web has 0 pods of web:1"},
		{"it is parked", []runtime.Object{last(0, taking, "rename", rollingupdate.AnnotationParked, parked), sourced}, file(controller("web-2", 3, green, nil)), "web has 0 pods of web:1; web-2 has 3 pods of web:1"},
		{"it is forgotten", []runtime.Object{last(0, blue, "delete", rollingupdate.AnnotationOriginal, "3"), next}, file(controller("web-2", 3, green, nil)), "web has 0 pods of web:1; web-2 has 3 pods of web:1"},
		{"the file was edited", []runtime.Object{last(1, blue, "delete", rollingupdate.AnnotationOriginal, "3"), sourced}, file(controller("web-2", 0, green, nil)), "web has 1 pod of web:1; web-2 has 3 pods of web:1"},
		{"it is gone before", []runtime.Object{last(1, blue, "delete", rollingupdate.AnnotationOriginal, "3")}, file(controller("web-2", 3, green, nil)), "web has 1 pod of web:1; web-2 would be created, for 3 of web:1"},
	} {
		for _, server := range []bool{false, true} {
			client, api := clientOf(c.have...)
			f, err := client.Foresee(t.Context(), c.ask, server)
			if err != nil || f.Invalid() != "" || f.Both() != c.want {
				t.Errorf("%s: %+v, %v, want %s", c.name, f, err, c.want)
				continue
			}
			if len(f.Objects().Items) != len(f.both()) || len(f.Rounds) == 0 {
				t.Errorf("%s: %d objects, %d rounds", c.name, len(f.Objects().Items), len(f.Rounds))
			}
			if !server {
				wroteNothing(t, c.name, api)
			}
		}
	}
}
