package rolling

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// resume is what 'rolling-update resume' does to a request.
func resume(cleanup rollingupdate.Cleanup) func(*rollingupdate.Request) error {
	return func(r *rollingupdate.Request) error {
		r.Paused = false
		if cleanup != "" {
			r.Cleanup = cleanup
		}
		return nil
	}
}

// leftTo is what kubectl left half-done: web and the one that was to replace it.
func leftTo(name, key, value string) []runtime.Object {
	old := controller("web", 2, map[string]string{"app": "web", key: "old"}, map[string]string{rollingupdate.AnnotationNext: name, rollingupdate.AnnotationOriginal: "3"})
	n := controller(name, 1, map[string]string{"app": "web", key: value}, map[string]string{rollingupdate.AnnotationSource: "web:u-1", rollingupdate.AnnotationDesired: "3"})
	n.UID = "u-2"
	return []runtime.Object{old, n}
}

// What kubectl left half-done ends as it would have ended there, unless somebody chooses.
func TestResumeLeft(t *testing.T) {
	const md5, own = "ccba8fbd8cc8160970f63f9a2696fc46", "5d9dd6c44b"
	alone := leftTo("web-2", "deployment", "x")[1:]
	for _, c := range []struct {
		name    string
		have    []runtime.Object
		choose  rollingupdate.Cleanup
		want    rollingupdate.Cleanup
		key, on string
		says    string
	}{
		{"an image alone", leftTo("web-"+md5, "deployment", md5), "", rollingupdate.Rename, "deployment", "web",
			"At the end web takes over the pods of web-" + md5 + ", which is deleted, as kubectl would have done. To choose otherwise: 'loopscope rolling-update resume web -n shop --cleanup=delete|preserve'."},
		{"with another label", leftTo("web-"+md5, "track", md5), "", rollingupdate.Rename, "track", "web", "takes over the pods"},
		{"by the loop", leftTo("web-"+own, "deployment", own), "", rollingupdate.Rename, "deployment", "web", "takes over the pods"},
		{"a name", leftTo("web-2", "deployment", md5), "", rollingupdate.Delete, "deployment", "web",
			"At the end web is deleted, and web-2 stays, as kubectl would have done. To choose otherwise: 'loopscope rolling-update resume web -n shop --cleanup=rename|preserve'."},
		{"a name that is the label", leftTo("web-v2", "deployment", "v2"), "", rollingupdate.Delete, "deployment", "web", "web is deleted"},
		{"a word that is the label", leftTo("web-blue", "deployment", "blue"), "", rollingupdate.Delete, "deployment", "web", "web is deleted"},
		{"a hash that is not the label", leftTo("web-"+md5, "deployment", own), "", rollingupdate.Delete, "deployment", "web", "web is deleted"},
		{"somebody chooses", leftTo("web-"+md5, "deployment", md5), rollingupdate.Preserve, rollingupdate.Preserve, "deployment", "web", "At the end web and web-" + md5 + " both stay."},
		{"the old one is gone", alone, "", rollingupdate.Rename, "deployment", "web-2", "At the end web takes over the pods of web-2"},
	} {
		client, _ := clientOf(c.have...)
		s, err := client.Steer(t.Context(), "web", resume(c.choose))
		if err != nil || !s.Left {
			t.Errorf("%s: %+v, %v", c.name, s, err)
			continue
		}
		if r := standsOn(t, client, c.on); r.Cleanup != c.want || r.DeploymentKey != c.key || r.Paused {
			t.Errorf("%s: the request is %s", c.name, r.Text())
		}
		if got := s.End(c.choose != ""); !strings.Contains(got, c.says) {
			t.Errorf("%s: it says %q, want %q", c.name, got, c.says)
		}
	}
	client, api := clientOf(leftTo("web-2", "deployment", "x")...)
	if s, err := client.Steer(t.Context(), "web", resume("bin")); err == nil || !strings.Contains(err.Error(), `cleanup "bin": use delete, rename or preserve`) {
		t.Errorf("%+v, %v", s, err)
	}
	wroteNothing(t, "a bad clean-up", api)
}

// The clean-up can be chosen later, too, and it is said what that changes.
func TestResumeChooses(t *testing.T) {
	client, _ := clientOf(asking(`{"version":1,"id":"x","to":"web-2"}`))
	s, err := client.Steer(t.Context(), "web", resume(rollingupdate.Rename))
	if err != nil || s.Left || len(s.Changed) != 1 || s.Changed[0] != "clean-up delete to rename" {
		t.Errorf("%+v, %v", s, err)
	}
}

// A HorizontalPodAutoscaler keeps nobody from going back.
func TestSteerLeftAgainstScaler(t *testing.T) {
	client, api := clientOf(append(leftTo("web-2", "deployment", "x"), scaler("a", "web-2"))...)
	if s, err := client.Steer(t.Context(), "web", resume("")); err == nil || !strings.Contains(err.Error(), "HorizontalPodAutoscaler a scales ReplicationController web-2") {
		t.Errorf("%+v, %v", s, err)
	}
	wroteNothing(t, "with a scaler", api)
	if _, err := client.Steer(t.Context(), "web", abort); err != nil {
		t.Errorf("going back: %v", err)
	}
	client, api = clientOf(leftTo("web-2", "deployment", "x")...)
	forbidScalers(api)
	if s, err := client.Steer(t.Context(), "web", resume("")); err != nil || !strings.Contains(s.Unread, "could not be listed") {
		t.Errorf("%+v, %v", s, err)
	}
}

// Nothing is paused or taken back that only hands over its pods.
func TestSteerTooLate(t *testing.T) {
	ends := asking(`{"version":1,"id":"x","to":"web-2"}`)
	ends.Annotations[rollingupdate.AnnotationParked] = rollingupdate.Parked{Size: 3, From: "web-2", UID: "u-2", ID: "x"}.Text()
	for want, change := range map[string]func(*rollingupdate.Request) error{
		"it is too late to take it back: web is taking over the new pods": abort,
		"it is too late to pause it: web is taking over the new pods":     func(r *rollingupdate.Request) error { r.Paused = true; return nil },
	} {
		client, api := clientOf(ends)
		if s, err := client.Steer(t.Context(), "web", change); err == nil || err.Error() != want {
			t.Errorf("%+v, %v, want %s", s, err, want)
		}
		wroteNothing(t, want, api)
	}
}

// Where the old one is gone, the command leads to what finishes its update.
func TestOldOneIsGone(t *testing.T) {
	left := leftTo("web-2", "deployment", "x")[1].(*corev1.ReplicationController)
	asked := left.DeepCopy()
	asked.Annotations[rollingupdate.AnnotationRequest] = `{"version":1,"id":"x","to":"web-2"}`
	for want, have := range map[string][]runtime.Object{
		"web is gone, and web-2 was left replacing it half-way: finish that first with 'loopscope rolling-update resume web -n shop'": {left},
		"web is gone, and the update to web-2 is not over: see it with 'loopscope rolling-update status web -n shop'":                 {asked},
		"there is no ReplicationController web in namespace shop":                                                                     nil,
	} {
		client, api := clientOf(have...)
		a := Ask{Old: "web", Request: rollingupdate.Request{Image: "web:2"}}
		if _, err := client.Begin(t.Context(), a); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := client.Foresee(t.Context(), a, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("foreseen: %v, want %s", err, want)
		}
		wroteNothing(t, want, api)
	}
}

// condition has both say how the update stands.
func condition(status corev1.ConditionStatus, reason string, on ...*corev1.ReplicationController) {
	for _, rc := range on {
		rc.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: rollingupdate.CondProgressing, Status: status, Reason: reason, LastTransitionTime: metav1.Now()}}
	}
}

// The loop has taken notice when both say how the update stands now.
func TestNoticed(t *testing.T) { synctest.Test(t, noticed) }

func noticed(t *testing.T) {
	pause := func(r *rollingupdate.Request) error { r.Paused = true; return nil }
	old, n := half(asksX)
	client, api := clientOf(old, n)
	s, err := client.Steer(t.Context(), "web", pause)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Noticed(t.Context(), s, quick(t)); !errors.As(err, new(*NoManager)) || !strings.Contains(err.Error(), "loopscope manager --controllers=rollingupdate-controller") {
		t.Errorf("where nobody takes notice: %v", err)
	}
	for _, name := range []string{"web", "web-2"} {
		rc, err := client.get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		condition(corev1.ConditionUnknown, "RollingUpdatePaused", rc)
		if _, err := api.CoreV1().ReplicationControllers("shop").UpdateStatus(t.Context(), rc, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := client.Noticed(t.Context(), s, quick(t))
	if err != nil || l == nil || !strings.Contains(l.text(), "web is paused: web-2 has 1 of 3 pods") {
		t.Errorf("%v, %v", l, err)
	}
}

// What ends meanwhile has taken notice, too; and what takes too long is said.
func TestNoticedEnds(t *testing.T) { synctest.Test(t, noticedEnds) }

func noticedEnds(t *testing.T) {
	ended := controller("web", 3, blue, map[string]string{rollingupdate.AnnotationResult: rollingupdate.Result{ID: "x", Ended: "aborted", From: "web", To: "web-2", At: time.Now()}.Text()})
	client, _ := clientOf(ended)
	if l, err := client.Noticed(t.Context(), Started{Old: "web", ID: "x", Back: true}, quick(t)); err != nil || l.end("x") == nil {
		t.Errorf("%+v, %v", l, err)
	}
	old, n := half(asksX)
	n.Status.Conditions = nil
	client, api := clientOf(old, n)
	api.PrependReactor("list", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		old := old.DeepCopy() // Its loop is at work, and says nothing of this.
		annotate(old, rollingupdate.AnnotationStepped, time.Now().Format(time.RFC3339Nano))
		return false, nil, api.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}, old, "shop")
	})
	if _, err := client.Noticed(t.Context(), Started{Old: "web", ID: "x"}, quick(t)); err == nil || !strings.Contains(err.Error(), "its loop has not said within 0.1s") {
		t.Errorf("what takes too long: %v", err)
	}
	silent := func(clienttesting.Action) (bool, runtime.Object, error) {
		time.Sleep(time.Minute)
		return true, nil, context.DeadlineExceeded
	}
	api.PrependReactor("list", "replicationcontrollers", silent)
	const want = "the request was changed, and whether its loop has taken notice could not be read: the API server has not answered within 0.1s"
	if _, err := client.Noticed(t.Context(), Started{Old: "web", ID: "x"}, quick(t)); err == nil || err.Error() != want {
		t.Errorf("where nothing is answered: %v", err)
	}
}
