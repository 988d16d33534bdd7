package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// updateCaches are caches that a test fills, and the loop over them.
type updateCaches struct {
	*lab.Caches
	*controller
}

func newUpdateCaches(t testing.TB) *updateCaches {
	t.Helper()
	client := fake.NewClientset()
	c := lab.NewCaches(client)
	l, err := New(t.Context(), c.Factory, client, engine.Options{Clock: clocktesting.NewFakeClock(lab.At)})
	if err != nil {
		t.Fatal(err)
	}
	return &updateCaches{c, l.Does().(*controller)}
}

func (c *updateCaches) observe(ctx context.Context, key string) (*updateSync, error) {
	seen, err := c.Observe(ctx, key)
	if err != nil {
		return nil, err
	}
	return seen.(*updateSync), nil
}

// noted is a ReplicationController with annotations; those of kubectl go by their last part.
func noted(name string, notes map[string]string) *corev1.ReplicationController {
	rc := lab.ReplicationController(name, "u-"+name, "1", 3)
	rc.Annotations = map[string]string{}
	for k, v := range notes {
		prefix := "kubectl.kubernetes.io/"
		if slices.Contains([]string{"request", "parked", "result", "stepped", "size"}, k) {
			prefix = "rollingupdate.loopscope.dev/"
		}
		rc.Annotations[prefix+k] = v
	}
	return rc
}

type notes = map[string]string

// aParked is of one that takes over pods; parkedOne has the selector that goes with it.
const aParked = `{"size":1,"from":"web-2","uid":"u-web-2"}`

func parkedOne(name string) *corev1.ReplicationController {
	rc := noted(name, notes{"parked": aParked})
	rc.Spec.Selector = maps.Clone(rc.Spec.Selector)
	rc.Spec.Selector[rollingupdate.LabelParked] = "true"
	return rc
}

// An update is woken by everything that has a part in it, and by nothing else ([RU-1]).
func TestWhoIsWoken(t *testing.T) {
	const request = `{"version":1,"to":"web-2"}`
	for _, c := range []struct {
		name     string
		have     []*corev1.ReplicationController
		of, want string
	}{
		{"one that nobody updates", []*corev1.ReplicationController{noted("web", nil)}, "web", ""},
		{"one with a request", []*corev1.ReplicationController{noted("web", notes{"request": request})}, "web", "shop/web"},
		{"one with a request that cannot be read", []*corev1.ReplicationController{noted("web", notes{"request": "{"})}, "web", "shop/web"},
		{"what kubectl left", []*corev1.ReplicationController{noted("web", notes{"next-controller-id": "web-2"})}, "web", "shop/web"},
		{"the new one", []*corev1.ReplicationController{noted("web-2", notes{"update-source-id": "web:u-web"})}, "web-2", "shop/web"},
		{"one that a request names", []*corev1.ReplicationController{noted("web", notes{"request": request}), noted("web-2", nil)}, "web-2", "shop/web"},
		{"one that its notes name", []*corev1.ReplicationController{noted("web", notes{"next-controller-id": "web-2"}), noted("web-2", nil)}, "web-2", "shop/web"},
		{"one whose pods go over", []*corev1.ReplicationController{parkedOne("web"), noted("web-2", nil)}, "web-2", "shop/web"},
		{"one that finishes itself", []*corev1.ReplicationController{noted("web-2", notes{"update-source-id": "web:u-web", "request": request})}, "web-2", "shop/web"},
		{"one in the middle of two", []*corev1.ReplicationController{noted("a", notes{"request": `{"version":1,"to":"b"}`}), noted("b", notes{"request": `{"version":1,"to":"c"}`})}, "b", "shop/a shop/b"},
	} {
		caches := newUpdateCaches(t)
		for _, rc := range c.have {
			caches.Add(t, rc)
		}
		rc := caches.cached("shop", c.of)
		caches.controllerHandler().OnAdd(rc, false)
		queued := func() string { list := lab.Queued(caches.Loop); slices.Sort(list); return strings.Join(list, " ") }
		if got := queued(); got != c.want {
			t.Errorf("%s wakes %q, want %q", c.name, got, c.want)
		}
		// Its pods wake the same, and those of one with nothing but a result nobody.
		caches = newUpdateCaches(t)
		for _, rc := range c.have {
			caches.Add(t, rc)
		}
		pod := lab.Pod(corev1.PodRunning, "", true)
		pod.ObjectMeta = lab.Object("p", "p", "1", nil, lab.OwnedBy("ReplicationController", c.of, "u-"+c.of))
		caches.podHandler().OnAdd(pod, false)
		if got := queued(); got != c.want {
			t.Errorf("a pod of %s wakes %q, want %q", c.name, got, c.want)
		}
	}
}

// A ReplicationController that is gone leaves nothing behind, whether its deletion was seen or
// another one stands in its place.
func TestGoneLeavesNothing(t *testing.T) {
	for name, lose := range map[string]func(h cache.ResourceEventHandler, rc *corev1.ReplicationController){
		"deleted": func(h cache.ResourceEventHandler, rc *corev1.ReplicationController) { h.OnDelete(rc) },
		"replaced": func(h cache.ResourceEventHandler, rc *corev1.ReplicationController) {
			h.OnUpdate(rc, lab.ReplicationController("web", "new", "9", 3))
		},
	} {
		b := newUpdateCaches(t).controller
		rc := lab.ReplicationController("web", "old", "8", 3)
		rc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		_, err := b.opts.Managers.Strip(rc)
		lab.Check(t, err)
		b.opts.Ledger.Written(engine.Entry{UID: "old", Resource: family.ResourceReplicationControllers, RV: "8"})
		if b.opts.Managers.Len() != 1 || len(b.opts.Ledger.All()) != 1 {
			t.Fatalf("%s: nothing was remembered", name)
		}
		lose(b.controllerHandler(), rc)
		if managers, writes := b.opts.Managers.Len(), len(b.opts.Ledger.All()); managers != 0 || writes != 0 {
			t.Errorf("%s: the managers of %d and the writes to %d objects are kept", name, managers, writes)
		}
	}
}

// Whoever leads looks at every update, also where the old one is gone, and at nothing that
// nobody updates ([RU-1]).
func TestLeadWakesUpdates(t *testing.T) {
	const request = `{"version":1,"to":"web-2"}`
	caches := newUpdateCaches(t)
	caches.Add(t, noted("plain", nil), noted("a", notes{"request": request}), noted("b", notes{"next-controller-id": "b-2"}), noted("b-2", nil), parkedOne("c"),
		noted("web-2", notes{"update-source-id": "web:u-web", "request": request}))
	ended := noted("ended", notes{"request": request})
	caches.Add(t, ended)
	lab.Check(t, caches.StoreOf(ended).Delete(ended))
	caches.Lead(false)
	got := lab.Queued(caches.Loop)
	slices.Sort(got)
	if want := []string{"shop/a", "shop/b", "shop/c", "shop/web"}; !slices.Equal(got, want) {
		t.Errorf("it wakes %q, want %q", got, want)
	}
}

// A cause tells what is asked for, masked as everywhere.
func TestAsked(t *testing.T) {
	for request, want := range map[string]string{
		"": "", "{": "",
		`{"version":1,"to":"web-2"}`:                             "web-2",
		`{"version":1,"image":"web:2","paused":true}`:            "image web:2, paused",
		`{"version":1,"image":"web:2","abort":true}`:             "image web:2, taken back",
		`{"version":1,"image":"me:secret@reg/web:2?token=abcd"}`: "image …@reg/web:2?…",
	} {
		if got := asked(noted("web", notes{"request": request})); got != want {
			t.Errorf("%s is told as %q, want %q", request, got, want)
		}
	}
}

// A result wakes its update when it comes, and not with every pod from then on.
func TestResultsRest(t *testing.T) {
	caches := newUpdateCaches(t)
	was, is := noted("web", notes{"request": `{"version":1,"to":"web-2"}`}), noted("web", notes{"result": `{"ended":"complete","from":"web","to":"web-2","at":"2026-03-01T12:00:00Z"}`})
	is.ResourceVersion = "2"
	caches.Add(t, is)
	pod := lab.Pod(corev1.PodRunning, "", true)
	pod.ObjectMeta = lab.Object("p", "p", "1", nil, lab.OwnedBy("ReplicationController", "web", "u-web"))
	caches.podHandler().OnAdd(pod, false)
	if got := lab.Queued(caches.Loop); len(got) != 0 {
		t.Errorf("a pod of one that was updated wakes %q", got)
	}
	caches.controllerHandler().OnUpdate(was, is)
	if got := lab.Queued(caches.Loop); len(got) != 1 {
		t.Errorf("the result wakes %q", got)
	}
}

// What the new one is called ([RU-1]), and whose image it gets.
func TestObserve(t *testing.T) {
	caches := newUpdateCaches(t)
	caches.Add(t, noted("web", notes{"request": `{"version":1,"image":"user:secret@registry/web:2"}`}))
	x, err := caches.observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	s := x.s
	if s.NewName != "web-"+s.NewKey || s.NewKey == s.OldKey || s.Old.Size != 3 || strings.Contains(fmt.Sprintf("%+v", s.Request), "secret") || x.newTemplate().Spec.Containers[0].Image != "user:secret@registry/web:2" {
		t.Errorf("%+v", s)
	}
	// The label is made of the template without it.
	labelled := caches.cached("shop", "web").DeepCopy()
	labelled.Spec.Template.Labels = maps.Clone(labelled.Spec.Template.Labels)
	labelled.Spec.Template.Labels["deployment"] = s.OldKey
	if got := templateHash(labelled.Spec.Template, "deployment"); got != s.OldKey {
		t.Errorf("the label changes from %s to %s", s.OldKey, got)
	}
	// A step of tomorrow would hold every other one until then.
	late := noted("late", notes{"request": `{"version":1,"to":"x"}`, "stepped": lab.At.Add(time.Hour).Format(time.RFC3339Nano), "original-replicas": "-3"})
	caches.Add(t, late)
	if x, err = caches.observe(t.Context(), "shop/late"); err != nil || !x.s.Old.Stepped.IsZero() || x.s.Old.Original != nil {
		t.Errorf("%+v, %v", x.s.Old, err)
	}
	// Pods that are refused: why, and since when.
	refused := noted("refused", notes{"request": `{"version":1,"to":"x"}`})
	refused.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota", LastTransitionTime: metav1.NewTime(lab.At.Add(-time.Hour))}}
	caches.Add(t, refused)
	if x, err = caches.observe(t.Context(), "shop/refused"); err != nil || x.s.Old.Refusal != "exceeded quota" || !x.s.Old.RefusedSince.Equal(lab.At.Add(-time.Hour)) {
		t.Errorf("%+v, %v", x.s.Old, err)
	}
	kept := refused.DeepCopy()
	kept.Name, kept.UID, kept.Status.Conditions[0].Reason = "kept", "u-kept", "FailedDelete"
	caches.Add(t, kept)
	if y, err := caches.observe(t.Context(), "shop/kept"); err != nil || x.s.Old.KeepsPods || !y.s.Old.KeepsPods {
		t.Errorf("%+v, %+v, %v", x.s.Old, y.s.Old, err)
	}
	// A note that does not go with the selector is refused, not followed.
	caches.Add(t, noted("odd", notes{"parked": aParked}))
	if x, err = caches.observe(t.Context(), "shop/odd"); err != nil || x.s.Old.Parked != nil || !strings.Contains(x.s.RequestError, "parked") {
		t.Errorf("%+v, %v", x.s, err)
	}
}

// What keeps one that is being deleted: its finalizers, and the pods that the garbage collector
// waits for ([RU-4]).
func TestObserveDeletion(t *testing.T) {
	caches := newUpdateCaches(t)
	at := metav1.NewTime(lab.At.Add(-time.Minute))
	rc := noted("web", notes{"request": `{"version":1,"to":"x"}`})
	rc.DeletionTimestamp, rc.Finalizers = &at, []string{"foregroundDeletion"}
	caches.Add(t, rc)
	for _, name := range []string{"a", "b"} {
		owner := lab.OwnedBy("ReplicationController", "web", "u-web")
		owner.BlockOwnerDeletion = new(true)
		pod := lab.Pod(corev1.PodRunning, "", true)
		pod.ObjectMeta = lab.Object(name, name, "1", lab.AppWeb, owner)
		if name == "a" {
			pod.DeletionTimestamp = &at
		}
		caches.Add(t, pod)
	}
	x, err := caches.observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	old := x.s.Old
	if d := old.Deletion; d == nil || !d.Since.Equal(at.Time) || d.Blocking != 2 || !slices.Equal(d.Finalizers, rc.Finalizers) {
		t.Errorf("%+v", d)
	}
	if len(old.Terminating) != 1 || old.Terminating[0].Name != "a" || len(old.Pods) != 1 || old.Pods[0].Name != "b" {
		t.Errorf("%+v, %+v", old.Terminating, old.Pods)
	}
}

// FuzzObserve: whatever objects an API server might hold, the loop observes, decides, settles
// and tells each, and a second look at the same caches is the same.
func FuzzObserve(f *testing.F) {
	for _, list := range [][]*corev1.ReplicationController{
		{noted("web-0", notes{"request": `{"version":1,"to":"web-1"}`}), noted("web-1", notes{"update-source-id": "web-0:u-web-0", "desired-replicas": "3"})},
		{noted("web-0", notes{"request": `{"version":1,"image":"x"}`, "original-replicas": "x", "stepped": "soon", "parked": "{}", "result": "{}"}), {}},
	} {
		pod := lab.Pod(corev1.PodRunning, "", false)
		pod.ObjectMeta = lab.Object("p", "p", "1", lab.AppWeb, lab.OwnedBy("ReplicationController", "web-0", "u-web-0"))
		data, err := json.Marshal(lab.Contents{Controllers: list, Pods: []*corev1.Pod{pod}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	caches := newUpdateCaches(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var c lab.Contents
		if json.Unmarshal(data, &c) != nil {
			return
		}
		caches.Fill(t, c)
		for _, key := range caches.StoreOf((*corev1.ReplicationController)(nil)).ListKeys() {
			lab.Look(t, key, caches.observe, func(x *updateSync) any { return x.s })
		}
	})
}

// A pod that loses its controller wakes the one that waits for it, also when that controller is
// gone ([RU-10]).
func TestReleasedPodsWake(t *testing.T) {
	caches := newUpdateCaches(t)
	caches.Add(t, parkedOne("web"))
	was, is := lab.Pod(corev1.PodRunning, "", true), lab.Pod(corev1.PodRunning, "", true)
	was.ObjectMeta = lab.Object("p", "p", "1", nil, lab.OwnedBy("ReplicationController", "web-2", "u-web-2"))
	is.ObjectMeta = lab.Object("p", "p", "2", nil, nil)
	caches.podHandler().OnUpdate(is, was) // The other way round nothing is released.
	if got := lab.Queued(caches.Loop); len(got) != 0 {
		t.Errorf("a pod that is adopted wakes %q", got)
	}
	caches.podHandler().OnUpdate(was, is)
	if got := lab.Queued(caches.Loop); len(got) != 1 || got[0] != "shop/web" {
		t.Errorf("a released pod wakes %q", got)
	}
}

// A record of a migration names the Deployment; what is none counts as none ([RU-4]).
func TestTakenOver(t *testing.T) {
	for text, want := range map[string]string{"": "", "{": "", `{"v":1,"deployment":"web"}`: "web", `{"deployment":["web"]}`: ""} {
		rc := lab.ReplicationController("web", "u", "1", 0)
		rc.Annotations = map[string]string{rollingupdate.AnnotationMigration: text}
		if got := takenOver(rc); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
