package changes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func change(path string, values ...string) decision.Change {
	c := decision.Change{Field: path}
	if len(values) == 2 {
		c.From, c.To = values[0], values[1]
	}
	return c
}

// statefulSet is an object of a kind that no loop knows.
func statefulSet() *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: map[string]string{"team": "a"}}}
	s.Spec.Replicas, s.Spec.ServiceName = new(int32(3)), "hunter2"
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "db", Image: "postgres:16", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}}}
	s.Status.ReadyReplicas = 1
	s.Status.Conditions = []appsv1.StatefulSetCondition{{Type: "Ready", Status: "False", Reason: "Starting", Message: "hunter2"}, {Type: "Old", Status: "True"}}
	return s
}

// edits are changes of a StatefulSet, and what is told of each, typed or not.
var edits = map[string]struct {
	edit func(*appsv1.StatefulSet)
	want []decision.Change
}{
	"nothing":       {func(*appsv1.StatefulSet) {}, nil},
	"a number":      {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(5)) }, []decision.Change{change("spec.replicas", "3", "5")}},
	"a number goes": {func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil }, []decision.Change{change("spec.replicas", "3", "")}},
	"a text":        {func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "correct" }, []decision.Change{change("spec.serviceName")}},
	"an image first": {func(s *appsv1.StatefulSet) {
		s.Spec.Replicas, s.Spec.Template.Spec.Containers[0].Image = new(int32(1)), "u:hunter2@postgres:17"
	}, []decision.Change{change("spec.template.containers[db].image", "postgres:16", "…@postgres:17"), change("spec.replicas", "3", "1"), change("spec.template")}},
	"a variable": {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Env[0].Value = "correct" },
		[]decision.Change{change("spec.template"), change("spec.template.containers[db].env[PASSWORD]")}},
	"a quantity": {func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}
	}, []decision.Change{change("spec.template"), change("spec.template.containers[db].resources.requests[cpu]", "100m", "2"), change("spec.template.containers[db].resources.requests[memory]", "", "1Gi")}},
	"a container": {func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers = append(s.Spec.Template.Spec.Containers, corev1.Container{Name: "log", Image: "log:1"})
	}, []decision.Change{change("spec.template.containers[log].image", "", "log:1"), change("spec.template"), change("spec.template.containers[log]")}},
	"a template's annotation": {func(s *appsv1.StatefulSet) {
		s.Spec.Template.Annotations = map[string]string{"a.example/b": "hunter2", "c": "x"}
	},
		[]decision.Change{change("spec.template"), change("spec.template.metadata.annotations[a.example/b]"), change("spec.template.metadata.annotations[c]")}},
	"metadata before the status": {func(s *appsv1.StatefulSet) {
		s.Labels, s.Status.ReadyReplicas = map[string]string{"team": "hunter2"}, 2
	}, []decision.Change{change("metadata.labels[team]"), change("status.readyReplicas", "1", "2")}},
	"a condition": {func(s *appsv1.StatefulSet) { s.Status.Conditions[0].Status, s.Status.Conditions[0].Reason = "True", "" },
		[]decision.Change{change("status.conditions[Ready]", "False Starting", "True")}},
	"what a condition says": {func(s *appsv1.StatefulSet) { s.Status.Conditions[0].Message = "correct" }, []decision.Change{change("status.conditions[Ready]")}},
	"a reason that is none": {func(s *appsv1.StatefulSet) { s.Status.Conditions[0].Reason = "it is hunter2" },
		[]decision.Change{change("status.conditions[Ready]", "False Starting", "False")}},
	"one condition for another": {func(s *appsv1.StatefulSet) { s.Status.Conditions[1].Type = "New" },
		[]decision.Change{change("status.conditions[Old]", "True", ""), change("status.conditions[New]", "", "True")}},
	"two of one type": {func(s *appsv1.StatefulSet) { s.Status.Conditions[1].Type = "Ready" }, []decision.Change{change("status.conditions")}},
	"one of no type":  {func(s *appsv1.StatefulSet) { s.Status.Conditions[1].Type = "" }, []decision.Change{change("status.conditions")}},
	"a deletion":      {func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} }, []decision.Change{change("metadata.deletionTimestamp")}},
}

func TestBetween(t *testing.T) {
	for name, c := range edits {
		t.Run(name, func(t *testing.T) {
			old, is := statefulSet(), statefulSet()
			c.edit(is)
			if diff := cmp.Diff(c.want, Between(old, is)); diff != "" {
				t.Errorf("typed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, Between(asUnstructured(t, old), asUnstructured(t, is))); diff != "" {
				t.Errorf("unstructured (-want +got):\n%s", diff)
			}
		})
	}
}

// Where the API server says that the spec stands, it is not compared.
func TestBetweenOfOneGeneration(t *testing.T) {
	for name, c := range map[string]struct {
		generation int64
		uid        types.UID
		want       []decision.Change
	}{
		"the same":                       {1, "u", []decision.Change{change("status.readyReplicas", "1", "2")}},
		"another":                        {2, "u", []decision.Change{change("spec.replicas", "3", "5"), change("status.readyReplicas", "1", "2")}},
		"the same one of another object": {1, "v", []decision.Change{change("spec.replicas", "3", "5"), change("status.readyReplicas", "1", "2")}},
	} {
		old, is := statefulSet(), statefulSet()
		old.Generation, old.UID, is.Generation, is.UID = 1, "u", c.generation, c.uid
		is.Spec.Replicas, is.Status.ReadyReplicas = new(int32(5)), 2
		if diff := cmp.Diff(c.want, Between(old, is)); diff != "" {
			t.Errorf("%s, typed (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.want, Between(asUnstructured(t, old), asUnstructured(t, is))); diff != "" {
			t.Errorf("%s, unstructured (-want +got):\n%s", name, diff)
		}
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	next := config.DeepCopy()
	next.Data = map[string]string{"a": "hunter2"}
	if diff := cmp.Diff([]decision.Change{change("data[a]")}, Between(config, next)); diff != "" {
		t.Errorf("what has no spec (-want +got):\n%s", diff)
	}
}

// Conditions that could not be told apart before are named as a whole.
func TestBetweenOfConditionsThatWereNone(t *testing.T) {
	old, is := statefulSet(), statefulSet()
	old.Status.Conditions[1].Type = "Ready"
	for name, got := range map[string][]decision.Change{"typed": Between(old, is), "unstructured": Between(asUnstructured(t, old), asUnstructured(t, is))} {
		if diff := cmp.Diff([]decision.Change{change("status.conditions")}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func asUnstructured(t *testing.T, o runtime.Object) *unstructured.Unstructured {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	check(t, err)
	return &unstructured.Unstructured{Object: m}
}

// What is beside spec and status is told, too, and of secrets the keys alone.
func TestBetweenOfOtherFields(t *testing.T) {
	old := &corev1.Secret{Data: map[string][]byte{"a": []byte("hunter2"), "b": []byte("x")}, Type: "Opaque"}
	is := &corev1.Secret{Data: map[string][]byte{"a": []byte("correct"), "c": []byte("x")}, Type: "hunter2", Immutable: new(true)}
	want := []decision.Change{change("immutable", "", "true"), change("data[a]"), change("data[b]"), change("data[c]"), change("type")}
	if diff := cmp.Diff(want, Between(old, is)); diff != "" {
		t.Errorf("Secret (-want +got):\n%s", diff)
	}
	config := &corev1.ConfigMap{Data: map[string]string{"a": "hunter2"}}
	if diff := cmp.Diff([]decision.Change{change("data[a]")}, Between(config, &corev1.ConfigMap{})); diff != "" {
		t.Errorf("ConfigMap (-want +got):\n%s", diff)
	}
	job := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "@hourly", Suspend: new(false)}}
	next := job.DeepCopy()
	next.Spec.Schedule, next.Spec.Suspend, next.Spec.JobTemplate.Spec.BackoffLimit = "hunter2", new(true), new(int32(3))
	next.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "a:1"}}
	want = []decision.Change{change("spec.jobTemplate.spec.template.containers[a].image", "", "a:1"), change("spec.schedule"), change("spec.suspend", "false", "true"),
		change("spec.jobTemplate.spec.backoffLimit", "", "3"), change("spec.jobTemplate.spec.template"), change("spec.jobTemplate.spec.template.containers[a]")}
	if diff := cmp.Diff(want, Between(job, next)); diff != "" {
		t.Errorf("CronJob (-want +got):\n%s", diff)
	}
}

// A resource of somebody's own: what a schema would say of it is not known.
func TestBetweenOfACustomResource(t *testing.T) {
	object := func(text string) *unstructured.Unstructured {
		var u unstructured.Unstructured
		check(t, utiljson.Unmarshal([]byte(text), &u.Object)) // Whole numbers as Kubernetes reads them.
		return &u
	}
	for _, c := range []struct {
		name, old, is string
		want          []decision.Change
	}{
		{"numbers and switches", `{"spec":{"share":0.5,"on":true}}`, `{"spec":{"share":0.25,"on":false,"more":2}}`,
			[]decision.Change{change("spec.more", "", "2"), change("spec.on", "true", "false"), change("spec.share", "0.5", "0.25")}},
		{"a text for a number", `{"spec":{"a":1}}`, `{"spec":{"a":"hunter2"}}`, []decision.Change{change("spec.a")}},
		{"a text that could be a quantity", `{"spec":{"a":"1"}}`, `{"spec":{"a":"2"}}`, []decision.Change{change("spec.a")}},
		{"a number for a text", `{"spec":{"a":"hunter2"}}`, `{"spec":{"a":1}}`, []decision.Change{change("spec.a")}},
		{"an object for a list", `{"spec":{"a":[]}}`, `{"spec":{"a":{"b":"hunter2"}}}`, []decision.Change{change("spec.a")}},
		{"a list for an object", `{"spec":{"a":{}}}`, `{"spec":{"a":["hunter2"]}}`, []decision.Change{change("spec.a")}},
		{"keys that are no fields", `{"spec":{"a.b/c":1}}`, `{"spec":{"a.b/c":2,"password=hunter2":"x"}}`, []decision.Change{change("spec[a.b/c]", "1", "2"), change("spec[password=…]")}},
		{"an image that is none", `{"spec":{"image":"a:1"}}`, `{"spec":{"image":"hunter2 and more"}}`, []decision.Change{change("spec.image")}},
		{"an image", `{"spec":{"image":"a:1"}}`, `{"spec":{"image":"a:2"}}`, []decision.Change{change("spec.image", "a:1", "a:2")}},
		{"an image for something else", `{"spec":{"image":{"name":"x"}}}`, `{"spec":{"image":"a:1"}}`, []decision.Change{change("spec.image")}},
		{"something else for an image", `{"spec":{"image":"a:1"}}`, `{"spec":{"image":{"name":"x"}}}`, []decision.Change{change("spec.image")}},
		{"a request that was none", `{"spec":{"requests":{"cpu":"hunter2"}}}`, `{"spec":{"requests":{"cpu":"1"}}}`, []decision.Change{change("spec.requests[cpu]")}},
		{"a request as a number goes", `{"spec":{"requests":{"cpu":1}}}`, `{"spec":{"requests":{}}}`, []decision.Change{change("spec.requests[cpu]", "1", "")}},
		{"a request as a number comes", `{"spec":{"requests":{}}}`, `{"spec":{"requests":{"cpu":1}}}`, []decision.Change{change("spec.requests[cpu]", "", "1")}},
		{"one limit of two", `{"spec":{"limits":{"cpu":"1","memory":"1Gi"}}}`, `{"spec":{"limits":{"cpu":"1","memory":"2Gi"}}}`, []decision.Change{change("spec.limits[memory]", "1Gi", "2Gi")}},
		{"the first label", `{"spec":{}}`, `{"spec":{"labels":{"a":"hunter2"}}}`, []decision.Change{change("spec.labels[a]")}},
		{"a label that is a number", `{"spec":{}}`, `{"spec":{"labels":{"a":1}}}`, []decision.Change{change("spec.labels[a]", "", "1")}},
		{"a request that is none", `{"spec":{"requests":{"cpu":"1"}}}`, `{"spec":{"requests":{"cpu":"hunter2"}}}`, []decision.Change{change("spec.requests[cpu]")}},
		{"a quantity in other words", `{"spec":{"limits":{"cpu":"1000m"}}}`, `{"spec":{"limits":{"cpu":"1"}}}`, []decision.Change{change("spec.limits[cpu]")}},
		{"a list without names", `{"spec":{"a":[{"b":1}]}}`, `{"spec":{"a":[{"b":2}]}}`, []decision.Change{change("spec.a")}},
		{"a list that had no names", `{"spec":{"a":[{"b":1}]}}`, `{"spec":{"a":[{"name":"x"}]}}`, []decision.Change{change("spec.a")}},
		{"a first element", `{"spec":{"a":[]}}`, `{"spec":{"a":[{"name":"x"}]}}`, []decision.Change{change("spec.a[x]")}},
		{"two of one name", `{"spec":{"a":[{"name":"x","b":1}]}}`, `{"spec":{"a":[{"name":"x","b":2},{"name":"x","b":3}]}}`, []decision.Change{change("spec.a")}},
		{"the order alone", `{"spec":{"a":[{"name":"x"},{"name":"y"}]}}`, `{"spec":{"a":[{"name":"y"},{"name":"x"}]}}`, []decision.Change{change("spec.a")}},
		{"an element goes", `{"spec":{"a":[{"name":"x"},{"name":"y","b":1}]}}`, `{"spec":{"a":[{"name":"y","b":2}]}}`, []decision.Change{change("spec.a[y].b", "1", "2"), change("spec.a[x]")}},
		{"a generation that stands", `{"metadata":{"uid":"u","generation":1},"spec":{"a":1},"x":1}`, `{"metadata":{"uid":"u","generation":1},"spec":{"a":2},"x":2}`, []decision.Change{change("x", "1", "2")}},
		{"the first status", `{"spec":{}}`, `{"spec":{},"status":{"n":1,"conditions":[{"type":"Ready","status":"True"}]}}`, []decision.Change{change("status.conditions"), change("status.n", "", "1")}},
		{"a template of another name", `{"spec":{"other":{"spec":{"containers":[{"name":"c","image":"a:1"}]}}}}`, `{"spec":{"other":{"spec":{"containers":[{"name":"c","image":"a:2"}]}}}}`,
			[]decision.Change{change("spec.other.spec.containers[c].image", "a:1", "a:2")}},
		{"a template that loses its containers", `{"spec":{"template":{"spec":{"containers":[]}}}}`, `{"spec":{"template":{"spec":{"n":1}}}}`,
			[]decision.Change{change("spec.template"), change("spec.template.containers"), change("spec.template.n", "", "1")}},
		{"a template that gets containers", `{"spec":{"template":{"spec":{"n":1}}}}`, `{"spec":{"template":{"spec":{"containers":[]}}}}`,
			[]decision.Change{change("spec.template"), change("spec.template.containers"), change("spec.template.n", "1", "")}},
		{"no body", `{}`, `{"spec":"hunter2","status":["hunter2"]}`, []decision.Change{change("spec"), change("status")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Between(object(c.old), object(c.is))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// foreign has what no API of Kubernetes has.
type foreign struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta
	When    hidden            `json:"when"`
	Then    hidden            `json:"then"` // It does not change.
	Image   string            `json:"image"`
	Skipped int               `json:"-"`
	Any     any               `json:"any"`
	Meta    map[string]string `json:"meta"`
	quiet   int
}

type hidden struct{ at int }

// value is an object that is no pointer.
type value struct{ *metav1.ObjectMeta }

// pictured has an image that is no text.
type pictured struct {
	metav1.ObjectMeta `json:"metadata"`
	Image             picture `json:"image"`
}

type picture struct {
	Width int `json:"width"`
}

// wordy has conditions that are words.
type wordy struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []string `json:"conditions"`
	} `json:"status"`
}

// embedding has conditions whose types are in a struct that they embed, or not.
type embedding struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []embedded `json:"conditions"`
	} `json:"status"`
}

type embedded struct {
	*Kind
	Status string
}

// Kind is exported, as what is embedded has to be.
type Kind struct{ Type string }

type chained struct {
	Next *chained `json:"next"`
	N    int      `json:"n"`
}

// Objects of whatever type are compared as far as that goes.
func TestBetweenOfStrangers(t *testing.T) {
	old := &foreign{When: hidden{1}, Then: hidden{1}, Image: "a:1", Any: "hunter2", quiet: 1}
	is := &foreign{TypeMeta: metav1.TypeMeta{Kind: "Foreign"}, When: hidden{2}, Then: hidden{1}, Image: "a:2", Any: 2, Skipped: 2, Meta: map[string]string{"k": "hunter2"}, quiet: 2}
	if diff := cmp.Diff([]decision.Change{change("image", "a:1", "a:2"), change("when"), change("any"), change("meta[k]")}, Between(old, is)); diff != "" {
		t.Errorf("another type (-want +got):\n%s", diff)
	}
	labelled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{NodeName: "n"}}
	for name, other := range map[string]metav1.Object{"a Secret": &corev1.Secret{}, "an unstructured one": &unstructured.Unstructured{Object: map[string]any{"spec": int64(1)}}, "a value": value{&metav1.ObjectMeta{}}} {
		want := []decision.Change{change("metadata.labels[a]")}
		if diff := cmp.Diff(want, Between(other, labelled)); diff != "" {
			t.Errorf("a Pod after %s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, Between(labelled, other)); diff != "" {
			t.Errorf("a Pod before %s (-want +got):\n%s", name, diff)
		}
	}
	if structOf(new(1)).IsValid() {
		t.Error("a number is a struct")
	}
	if diff := cmp.Diff([]decision.Change{change("image.width", "1", "2")}, Between(&pictured{Image: picture{1}}, &pictured{Image: picture{2}})); diff != "" {
		t.Errorf("an image that is no text (-want +got):\n%s", diff)
	}
	words, none := &wordy{}, &embedding{}
	words.Status.Conditions, none.Status.Conditions = []string{"hunter2"}, []embedded{{Status: "True"}}
	for name, got := range map[string][]decision.Change{"words": Between(&wordy{}, words), "no types": Between(&embedding{}, none)} {
		if diff := cmp.Diff([]decision.Change{change("status.conditions")}, got); diff != "" {
			t.Errorf("conditions that are %s (-want +got):\n%s", name, diff)
		}
	}
	for name, pair := range map[string][2]metav1.Object{
		"nothing": {nil, labelled}, "nothing of a type": {labelled, (*corev1.Pod)(nil)}, "an empty one": {&unstructured.Unstructured{}, &unstructured.Unstructured{}},
	} {
		if got := Between(pair[0], pair[1]); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	deep := func(n int64) *unstructured.Unstructured {
		var at any = n
		for range 2 * deepest {
			at = map[string]any{"a": at}
		}
		return &unstructured.Unstructured{Object: map[string]any{"spec": at}}
	}
	if got := Between(deep(1), deep(2)); len(got) != 1 || strings.Count(got[0].Field, ".") != deepest || got[0].To != "" {
		t.Errorf("of what is deep: %v", got)
	}
	chain := func(n int) *chained {
		at := &chained{N: n}
		for range 2 * deepest {
			at = &chained{Next: at}
		}
		return at
	}
	var d diff // It goes down twice for each: to the pointer and to what that leads to.
	if d.value("top", reflect.ValueOf(chain(1)), reflect.ValueOf(chain(2))); len(d.others) != 1 || d.others[0].Field != "top"+strings.Repeat(".next", deepest/2) {
		t.Errorf("of a chain: %v", d.others)
	}
}

// No more fields than a cause may name.
func TestBetweenIsBounded(t *testing.T) {
	spec := map[string]any{}
	for i := range int64(100) {
		spec[fmt.Sprint("n", i)] = i
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if n := len(Between(&unstructured.Unstructured{Object: map[string]any{}}, u)); n != MaxFields {
		t.Errorf("%d fields, want %d", n, MaxFields)
	}
}

// secret is in every text that fuzzing plants.
const secret = "s3cr3tW0rd"

// FuzzBetween compares whatever JSON an API server may hold, with a secret in every text
// but those that may be shown. Nothing may panic, and none may be told.
func FuzzBetween(f *testing.F) {
	for _, c := range edits {
		old, is := statefulSet(), statefulSet()
		c.edit(is)
		a, errA := json.Marshal(old)
		b, errB := json.Marshal(is)
		if errA != nil || errB != nil {
			f.Fatal(errA, errB)
		}
		f.Add(a, b)
	}
	f.Add([]byte(`{"spec":{"requests":{"cpu":"1"},"image":"a"}}`), []byte(`{"spec":{"requests":{"cpu":2},"image":{"name":"x"}},"metadata":7}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var old, is map[string]any
		if json.Unmarshal(a, &old) != nil || json.Unmarshal(b, &is) != nil {
			return
		}
		for i, o := range []map[string]any{old, is} {
			for _, body := range slices.Sorted(func(yield func(string) bool) {
				for key := range o {
					if !yield(key) {
						return
					}
				}
			}) {
				if body != "metadata" {
					o[body] = planted(o[body], fmt.Sprint(secret, i))
				}
			}
		}
		got := Between(&unstructured.Unstructured{Object: old}, &unstructured.Unstructured{Object: is})
		if len(got) > MaxFields {
			t.Errorf("%d fields", len(got))
		}
		for _, c := range got {
			if strings.Contains(c.From+c.To, secret) {
				t.Errorf("%s tells a text: from %q to %q", c.Field, c.From, c.To)
			}
			if c.From == c.To && c.From != "" {
				t.Errorf("%s did not change: %q", c.Field, c.From)
			}
		}
		if again := Between(&unstructured.Unstructured{Object: old}, &unstructured.Unstructured{Object: is}); !reflect.DeepEqual(got, again) {
			t.Errorf("a second time it is %v, was %v", again, got)
		}
	})
}

// planted puts a secret into every text, but into what a condition, an image and a name
// may show.
func planted(v any, secret string) any {
	switch v := v.(type) {
	case string:
		return v + secret
	case []any:
		for i := range v {
			v[i] = planted(v[i], secret)
		}
	case map[string]any:
		for key, inner := range v {
			if _, is := inner.(string); is && slices.Contains([]string{"name", "image", "type", "status", "reason"}, key) {
				continue
			}
			v[key] = planted(inner, secret)
		}
	}
	return v
}
