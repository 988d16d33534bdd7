package rolling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

func controller(name string, size int32, labels, notes map[string]string) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u-1", ResourceVersion: "1", Annotations: notes},
		Spec: corev1.ReplicationControllerSpec{Replicas: &size, Selector: labels, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}}},
	}
}

var (
	blue  = map[string]string{"app": "web", "colour": "blue"}
	green = map[string]string{"app": "web", "colour": "green"}
)

func clientOf(objects ...runtime.Object) (*Client, *fake.Clientset) {
	api := fake.NewClientset(objects...)
	return &Client{API: api, Namespace: "shop"}, api
}

func image(to string) Ask {
	return Ask{Old: "web", Request: rollingupdate.Request{Image: to}}
}

func file(rc *corev1.ReplicationController) Ask {
	rc.Namespace, rc.UID, rc.ResourceVersion = "", "", ""
	return Ask{Old: "web", New: rc}
}

// unsized leaves out how many pods it is to have.
func unsized(rc *corev1.ReplicationController) *corev1.ReplicationController {
	rc.Spec.Replicas = nil
	return rc
}

// What stands in the way is said, and nothing is written ([RU-4]).
func TestBeginRefuses(t *testing.T) {
	under := `{"version":1,"id":"x","image":"web:2"}`
	for _, c := range []struct {
		name, want string
		have       []runtime.Object
		ask        Ask
	}{
		{"nobody", "there is no ReplicationController web in namespace shop", nil, image("web:2")},
		{"bad image", `image "a b" is no name`, []runtime.Object{controller("web", 3, blue, nil)}, image("a b")},
		{"another one under way", "a rolling update to image web:2 of web is under way, and in the middle of it this cannot be changed: image web:2 to web:3. Watch it with", []runtime.Object{controller("web", 3, blue, map[string]string{rollingupdate.AnnotationRequest: under})}, image("web:3")},
		{"the way back under way", "the taking back of a rolling update to image web:2", []runtime.Object{controller("web", 3, blue, map[string]string{rollingupdate.AnnotationRequest: strings.TrimSuffix(under, "}") + `,"abort":true}`})}, image("web:2")},
		{"its own name", "web is the name of the old one", []runtime.Object{controller("web", 3, blue, nil)}, file(controller("web", 3, green, nil))},
		{"the same selector", "has no label that web has with another value", []runtime.Object{controller("web", 3, blue, nil)}, file(controller("web-2", 3, blue, nil))},
		{"no pods", "web has no pods, and the file asks for none", []runtime.Object{controller("web", 0, blue, nil)}, file(unsized(controller("web-2", 0, green, nil)))},
		{"a file for no pods", "the file asks for spec.replicas 0, and an update ends with one pod at least: give a higher number, or omit it to have as many as web", []runtime.Object{controller("web", 3, blue, nil)}, file(controller("web-2", 0, green, nil))},
		{"a file for fewer than none", "the file asks for spec.replicas -1", []runtime.Object{controller("web", 3, blue, nil)}, file(controller("web-2", -1, green, nil))},
		{"its pods are a Deployment's", "the pods of web belong to Deployment shop-web since 'loopscope migrate'", []runtime.Object{controller("web", 0, map[string]string{"app": "web", "loopscope.dev/migrated-to": "x"}, map[string]string{
			"loopscope.dev/migration": `{"v":1,"deployment":"shop-web","hash":"x","replicas":3,"selector":{"app":"web"},"templateLabels":{"app":"web"}}`})}, image("web:2")},
		{"somebody else's", "web-2 exists, and was not made to replace web", []runtime.Object{controller("web", 3, blue, nil), controller("web-2", 3, green, nil)}, file(controller("web-2", 3, green, nil))},
	} {
		client, api := clientOf(c.have...)
		if s, err := client.Begin(t.Context(), c.ask); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %s", c.name, s, err, c.want)
		}
		for _, a := range api.Actions() {
			if a.Matches("update", "replicationcontrollers") {
				t.Errorf("%s: it wrote %v", c.name, a)
			}
		}
	}
	other := controller("web-2", 3, green, nil)
	other.Namespace = "elsewhere"
	client, _ := clientOf(controller("web", 3, blue, nil))
	if _, err := client.Begin(t.Context(), Ask{Old: "web", New: other}); err == nil || !strings.Contains(err.Error(), "the file is of namespace elsewhere") {
		t.Errorf("another namespace: %v", err)
	}
}

// What the rules refuse is told from other errors, and what is wrong is named as it is given.
func TestBeginNamesFlags(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	_, err := client.Begin(t.Context(), image("web:1"))
	if stuck := new(Stuck); !errors.As(err, &stuck) || !strings.Contains(stuck.Sentence, "it has the image web:1 already, and the request has no pull policy. Give --image-pull-policy to have") {
		t.Errorf("the same image: %v", err)
	}
	for want, r := range map[string]rollingupdate.Request{
		"--update-period -1s: use 0s to a year":                                  {UpdatePeriod: new(rollingupdate.Period(-time.Second))},
		`--deployment-label-key "a b" is no key of a label`:                      {DeploymentKey: "a b"},
		`--image-pull-policy "Ever": use Always, IfNotPresent or Never`:          {ImagePullPolicy: "Ever"},
		"--surge -1: use 0 to 2147483647; --unavailable -2: use 0 to 2147483647": {Surge: rollingupdate.Amount("-1"), Unavailable: rollingupdate.Amount("-2")},
	} {
		r.Image = "web:2"
		_, err := client.Begin(t.Context(), Ask{Old: "web", Request: r})
		if err == nil || err.Error() != want || errors.As(err, new(*Stuck)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	wroteNothing(t, "a bad request", api)
}

// The new one of a file is made without pods and says whom it replaces ([RU-7]); asked for
// again, the same update is taken up.
func TestBegin(t *testing.T) {
	client, _ := clientOf(controller("web", 3, blue, nil))
	ask := file(unsized(controller("web-2", 0, green, nil)))
	s, err := client.Begin(t.Context(), ask)
	if err != nil || s.Again || s.ID == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	n, err := client.get(t.Context(), "web-2")
	if err != nil || *n.Spec.Replicas != 0 || n.Annotations[rollingupdate.AnnotationSource] != "web:u-1" || n.Annotations[rollingupdate.AnnotationDesired] != "3" {
		t.Errorf("the new one is %+v, %v", n, err)
	}
	old, err := client.get(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := requestOf(old); err != nil || r.To != "web-2" || r.ID != s.ID || r.Cleanup != rollingupdate.Delete {
		t.Errorf("the request is %+v, %v", r, err)
	}
	again, err := client.Begin(t.Context(), ask)
	if err != nil || !again.Again || again.ID != s.ID || !strings.HasSuffix(again.Told(), "web-2 stays as it was created: the file is not applied again.") {
		t.Errorf("asked for again: %+v, %v, %s", again, err, again.Told())
	}
	if err := client.Withdraw(t.Context(), Started{Old: "web", ID: "other", written: s.written}); err == nil {
		t.Error("the request of another one was withdrawn")
	}
	if err := client.Withdraw(t.Context(), s); err != nil {
		t.Errorf("withdraw: %v", err)
	}
	if old, err = client.get(t.Context(), "web"); err != nil || len(old.Annotations) != 0 {
		t.Errorf("what is left is %v, %v", old.Annotations, err)
	}
	if n, err := client.get(t.Context(), "web-2"); err == nil {
		t.Errorf("what was created for it is left: %v", n.Annotations)
	}
}

// Two who ask at once: one gets it, and the other is told ([RU-4]).
func TestBeginLoses(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	first := true
	api.PrependReactor("update", "replicationcontrollers", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !first {
			return false, nil, nil
		}
		first = false
		won := controller("web", 3, blue, map[string]string{rollingupdate.AnnotationRequest: `{"version":1,"id":"x","image":"web:3"}`})
		if err := api.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}, won, "shop"); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "replicationcontrollers"}, "web", errors.New("modified"))
	})
	if s, err := client.Begin(t.Context(), image("web:2")); err == nil || !strings.Contains(err.Error(), "a rolling update to image web:3 of web is under way") {
		t.Errorf("%+v, %v", s, err)
	}
}

// Where nobody reacts the request is withdrawn, and it is said how to start a manager.
func TestNobodyReacts(t *testing.T) {
	client, _ := clientOf(controller("web", 3, blue, nil))
	s, err := client.Begin(t.Context(), image("web:2"))
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	err = client.Follow(t.Context(), s, Watching{Every: time.Millisecond, Within: 20 * time.Millisecond, Tell: func(*Look) { told++ }})
	if nobody := new(NoManager); !errors.As(err, &nobody) || !nobody.Withdrawn || !strings.Contains(err.Error(), "loopscope manager --controllers=rollingupdate-controller") || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
}

// steered is what a command makes of what stands there.
func TestSteer(t *testing.T) {
	pause := func(r *rollingupdate.Request) error { r.Paused = true; return nil }
	request := func(text string) map[string]string {
		return map[string]string{rollingupdate.AnnotationRequest: text}
	}
	for _, c := range []struct {
		name, on, want, fails string
		have                  []runtime.Object
	}{
		{"under way", "web", `"image":"web:2"`, "", []runtime.Object{controller("web", 3, blue, request(`{"version":1,"id":"x","image":"web:2"}`))}},
		{"left with the name", "web", `"to":"web-2"`, "", []runtime.Object{controller("web", 3, blue, map[string]string{rollingupdate.AnnotationNext: "web-2"})}},
		{"left with the source", "web", `"to":"web-2"`, "", []runtime.Object{controller("web", 3, blue, nil), controller("web-2", 1, green, map[string]string{rollingupdate.AnnotationSource: "web:u-1"})}},
		{"left while it was renamed", "web-2", `"cleanup":"rename"`, "", []runtime.Object{controller("web-2", 1, green, map[string]string{rollingupdate.AnnotationSource: "web:u-0"})}},
		{"of an earlier one", "", "", "no rolling update of web is under way", []runtime.Object{controller("web", 3, blue, nil), controller("web-2", 1, green, map[string]string{rollingupdate.AnnotationSource: "web:u-0"})}},
		{"unreadable", "", "", "the request on web cannot be read", []runtime.Object{controller("web", 3, blue, request(`{`))}},
		{"nobody", "", "", "there is no ReplicationController web", nil},
	} {
		client, _ := clientOf(c.have...)
		_, err := client.Steer(t.Context(), "web", pause)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %s", c.name, err, c.fails)
			}
			continue
		}
		rc, getErr := client.get(t.Context(), c.on)
		if err != nil || getErr != nil || !strings.Contains(rc.Annotations[rollingupdate.AnnotationRequest], c.want) || !strings.Contains(rc.Annotations[rollingupdate.AnnotationRequest], `"paused":true`) {
			t.Errorf("%s: %v, %v, %v, want %s", c.name, err, getErr, rc, c.want)
		}
	}
}

func mix(notes ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range notes {
		maps.Copy(all, m)
	}
	return all
}

// How an update stands and ends is read from what the loop leaves ([RU-10]).
func TestOutcome(t *testing.T) {
	result := func(ended string) map[string]string {
		return map[string]string{rollingupdate.AnnotationResult: rollingupdate.Result{ID: "x", Ended: ended, From: "web", To: "web-2", At: time.Now()}.Text()}
	}
	asked := map[string]string{rollingupdate.AnnotationRequest: `{"version":1,"id":"x","to":"web-2"}`}
	going := map[string]string{rollingupdate.AnnotationNext: "web-2", rollingupdate.AnnotationOriginal: "3"}
	maps.Copy(going, asked)
	for _, c := range []struct {
		name string
		have []runtime.Object
		back bool
		want string // "" for not ended, "ok" or what is said
	}{
		{"complete", []runtime.Object{controller("web-2", 3, green, result("complete"))}, false, "ok"},
		{"the old one is still to go", []runtime.Object{controller("web", 0, blue, going), controller("web-2", 3, green, result("complete"))}, false, ""},
		{"taken back", []runtime.Object{controller("web", 3, blue, result("aborted"))}, true, "ok"},
		{"taken back by somebody else", []runtime.Object{controller("web", 3, blue, result("aborted"))}, false, "the update was taken back"},
		{"too late", []runtime.Object{controller("web-2", 3, green, result("complete"))}, true, "it was too late to take the update back"},
		{"of another request", []runtime.Object{controller("web", 3, blue, map[string]string{rollingupdate.AnnotationResult: rollingupdate.Result{ID: "y", Ended: "complete", From: "web", To: "web-2", At: time.Now()}.Text()})}, false, "somebody has removed or replaced it"},
		{"asked for anew since", []runtime.Object{controller("web", 3, blue, mix(result("complete"), map[string]string{rollingupdate.AnnotationRequest: `{"version":1,"id":"y","to":"web-2"}`}))}, false, "ok"},
		{"it takes over the name", []runtime.Object{controller("web", 0, map[string]string{"app": "web", rollingupdate.LabelParked: "true"}, map[string]string{rollingupdate.AnnotationParked: rollingupdate.Parked{Size: 3, From: "web-2", UID: "u-web-2", ID: "x"}.Text()})}, false, ""},
		{"invalid", []runtime.Object{controller("web", 3, blue, asked)}, false, "does not exist"},
	} {
		client, _ := clientOf(c.have...)
		l, err := client.Look(t.Context(), "web")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		done, end := l.outcome(Started{Old: "web", ID: "x", Back: c.back})
		if said := fmt.Sprint(end); done != (c.want != "") || c.want == "ok" && end != nil || c.want != "" && c.want != "ok" && !strings.Contains(said, c.want) {
			t.Errorf("%s: %v, %v, want %q", c.name, done, end, c.want)
		}
	}
	client, _ := clientOf()
	if _, err := client.Look(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "none that replaces it") {
		t.Errorf("nobody: %v", err)
	}
	client, _ = clientOf(controller("web", 3, blue, going))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Follow(ended, Started{Old: "web", ID: "x"}, Watching{Every: time.Hour, Tell: func(*Look) {}}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted watch: %v", err)
	}
}

// A file has one ReplicationController, and a list of one is unwrapped.
func TestRead(t *testing.T) {
	const one = "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: web-2}\n"
	for text, want := range map[string]string{
		one: "", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ReplicationController, metadata: {name: web-2}}\n": "",
		one + "---\n" + one: "has 2 objects", "apiVersion: v1\nkind: Pod\nmetadata: {name: web-2}\n": "has a Pod", "apiVersion: v1\nkind: ReplicationController\n": "has no name", "{": "error",
		strings.Replace(one, "kind", "spec: {replcas: 10, template: {spec: {containers: [{name: web, image: a, readinesProbe: {}}]}}}\nkind", 1): `next.yaml: unknown field "spec.replcas" and unknown field "spec.template.spec.containers[0].readinesProbe": correct or remove`,
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ReplicationController, metadata: {name: web-2, lables: {}}}\n":             `unknown field "metadata.lables"`,
		strings.Replace(one, "kind", "spec: {replicas: many}\nkind", 1):                                                                          "spec.replicas", strings.Replace(one, "v1", "apps/v1", 1): "has a ReplicationController of apps/v1",
	} {
		path := filepath.Join(t.TempDir(), "next.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rc, err := Read(genericclioptions.NewConfigFlags(false), path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && rc.Name != "web-2" {
			t.Errorf("%q: %v, %v, want %q", text, rc, err, want)
		}
	}
}
