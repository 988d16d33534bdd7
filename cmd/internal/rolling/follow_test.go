package rolling

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

const asksX = `{"version":1,"id":"x","to":"web-2","updatePeriod":"1h0m0s","timeout":"2h0m0s"}`

// half is an update that has made its first step just now and waits for its period: nothing
// is due.
func half(request string) (old, n *corev1.ReplicationController) {
	notes := map[string]string{rollingupdate.AnnotationNext: "web-2", rollingupdate.AnnotationOriginal: "3"}
	if request != "" {
		notes[rollingupdate.AnnotationRequest] = request
	}
	old = controller("web", 3, blue, notes)
	n = controller("web-2", 1, green, map[string]string{
		rollingupdate.AnnotationSource: "web:u-1", rollingupdate.AnnotationDesired: "3", rollingupdate.AnnotationStepped: time.Now().UTC().Format(time.RFC3339Nano),
	})
	n.UID = "u-2"
	for _, rc := range []*corev1.ReplicationController{old, n} {
		rc.Status = corev1.ReplicationControllerStatus{Replicas: sizeOf(rc), Conditions: []corev1.ReplicationControllerCondition{{
			Type: rollingupdate.CondProgressing, Status: corev1.ConditionTrue, Reason: "RollingUpdateProgressing", LastTransitionTime: metav1.Now(),
		}}}
	}
	return old, n
}

func quick(t *testing.T) Watching {
	return Watching{Every: time.Millisecond, Within: 10 * time.Millisecond, Tell: func(l *Look) { t.Log(l.text()) }}
}

// abort is what 'rolling-update abort' does to a request.
func abort(r *rollingupdate.Request) error { r.Abort, r.Paused = true, false; return nil }

// Silence proves nothing while nothing is due: what was asked for stays asked for ([RU-4]).
func TestNothingIsDue(t *testing.T) {
	old, n := half(asksX)
	client, _ := clientOf(old, n)
	f := &follower{Client: client, Watching: quick(t), s: Started{Old: "web", ID: "x"}}
	for range 2 {
		if done, err := f.turn(t.Context()); done {
			t.Fatalf("it ended: %v", err)
		}
		f.since = f.since.Add(-time.Hour)
	}
}

// Where nobody does what is due, the request of an update that is under way stands all the
// same: it is carried out as soon as a manager runs.
func TestSteeredRequestStands(t *testing.T) {
	old, n := half(asksX)
	client, _ := clientOf(old, n)
	s, err := client.Steer(t.Context(), "web", abort)
	if err != nil || s.ID != "x" || !s.Back {
		t.Fatalf("%+v, %v", s, err)
	}
	err = client.Follow(t.Context(), s, quick(t))
	if nobody := new(NoManager); !errors.As(err, &nobody) || nobody.Withdrawn || !strings.Contains(err.Error(), "the request stands") {
		t.Errorf("it ended with %v", err)
	}
	if is, err := client.get(t.Context(), "web"); err != nil || !strings.Contains(is.Annotations[rollingupdate.AnnotationRequest], `"abort":true`) {
		t.Errorf("what is left is %v, %v", is, err)
	}
	if err := client.Withdraw(t.Context(), s); err == nil {
		t.Error("the request of somebody else was withdrawn")
	}
}

// What is due and was refused has somebody who does it: the answer is what is told, and the
// request stands. An Event from before the last step, or of another write, says nothing of it.
func TestRefusedIsNotAlone(t *testing.T) {
	const answer = `admission webhook "sizes.example.com" denied the request: too large`
	for name, c := range map[string]struct {
		message string
		ago     time.Duration
		refused bool
	}{
		"refused":       {"Cannot update ReplicationController web: " + answer, time.Minute, true},
		"long ago":      {"Cannot update ReplicationController web: " + answer, 3 * time.Hour, false},
		"another write": {"Cannot delete ReplicationController web: " + answer, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			web := controller("web", 3, blue, map[string]string{
				rollingupdate.AnnotationRequest: `{"version":1,"id":"x","image":"web:2"}`, rollingupdate.AnnotationStepped: time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339Nano),
			})
			client, _ := clientOf(web, &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "shop"}, InvolvedObject: corev1.ObjectReference{Kind: "ReplicationController", Name: "web", UID: web.UID},
				Reason: "FailedRollingUpdate", Message: c.message, LastTimestamp: metav1.NewTime(time.Now().Add(-c.ago)),
			})
			err := client.Follow(t.Context(), Started{Old: "web", ID: "x"}, quick(t))
			stuck, nobody := new(Stuck), new(NoManager)
			if c.refused != errors.As(err, &stuck) || c.refused == errors.As(err, &nobody) {
				t.Fatalf("it ended with %v", err)
			}
			const want = "shop/web has failed: webhook sizes.example.com denies the write of ReplicationController web (too large). Was tried 1m ago, and will be tried again. The request stands."
			if c.refused && err.Error() != want {
				t.Errorf("it says %q, not %q", err, want)
			}
		})
	}
}

// The rest of what kubectl left is asked for anew, and that request may be withdrawn.
func TestSteeredRestIsWithdrawn(t *testing.T) {
	old, n := half("")
	client, _ := clientOf(old, n)
	s, err := client.Steer(t.Context(), "web", abort)
	if err != nil {
		t.Fatal(err)
	}
	err = client.Follow(t.Context(), s, quick(t))
	if nobody := new(NoManager); !errors.As(err, &nobody) || !nobody.Withdrawn {
		t.Errorf("it ended with %v", err)
	}
	if is, err := client.get(t.Context(), "web"); err != nil || is.Annotations[rollingupdate.AnnotationRequest] != "" || is.Annotations[rollingupdate.AnnotationNext] != "web-2" {
		t.Errorf("what is left is %v, %v", is, err)
	}
}

// A request that somebody has begun to carry out at the last moment is not withdrawn.
func TestReactedAtTheLastMoment(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	s, err := client.Begin(t.Context(), image("web:2"))
	if err != nil {
		t.Fatal(err)
	}
	onFirstConflict(t, api, func(rc *corev1.ReplicationController) { annotate(rc, rollingupdate.AnnotationOriginal, "3") })
	if err := client.Withdraw(t.Context(), s); !errors.Is(err, errReacted) {
		t.Errorf("withdrawn: %v", err)
	}
	if is, err := client.get(t.Context(), "web"); err != nil || is.Annotations[rollingupdate.AnnotationRequest] == "" {
		t.Errorf("what is left is %v, %v", is, err)
	}
}

// Somebody else's write in between neither repeats a change nor revives what has ended.
func TestSteerAgainstOthers(t *testing.T) {
	once := func(r *rollingupdate.Request) error {
		if r.Abort {
			return errors.New("it is being taken back already")
		}
		return abort(r)
	}
	for name, request := range map[string]string{"under way": asksX, "left": ""} {
		old, n := half(request)
		client, api := clientOf(old, n)
		onFirstConflict(t, api, func(rc *corev1.ReplicationController) { annotate(rc, "note", "seen") })
		if s, err := client.Steer(t.Context(), "web", once); err != nil || !s.Back {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	old, n := half(asksX)
	client, api := clientOf(old, n)
	onFirstConflict(t, api, func(rc *corev1.ReplicationController) { delete(rc.Annotations, rollingupdate.AnnotationRequest) })
	if _, err := client.Steer(t.Context(), "web", once); err == nil || !strings.Contains(err.Error(), "has ended, or was asked for anew") {
		t.Errorf("ended meanwhile: %v", err)
	}
	if is, err := client.get(t.Context(), "web"); err != nil || is.Annotations[rollingupdate.AnnotationRequest] != "" {
		t.Errorf("what is left is %v, %v", is, err)
	}
}

// What cannot be read for a moment is followed on.
func TestFollowBearsErrors(t *testing.T) {
	old, n := half(asksX)
	client, api := clientOf(old, n)
	f := &follower{Client: client, Watching: quick(t), s: Started{Old: "web", ID: "x"}}
	fails := false
	api.PrependReactor("list", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails, nil, errors.New("refused")
	})
	for i, now := range []bool{false, true, false} {
		fails = now
		if done, err := f.turn(t.Context()); done {
			t.Errorf("look %d ended it: %v", i, err)
		}
	}
	fails, f.seen = true, time.Now().Add(-unreadFor)
	if done, err := f.turn(t.Context()); !done || err == nil {
		t.Errorf("unreadable for good: %v, %v", done, err)
	}
}

// onFirstConflict has somebody else change web when it is written next.
func onFirstConflict(t *testing.T, api *fake.Clientset, change func(*corev1.ReplicationController)) {
	first := true
	resource := schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}
	api.PrependReactor("update", resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if !first {
			return false, nil, nil
		}
		first = false
		is, err := api.Tracker().Get(resource, "shop", "web")
		if err != nil {
			t.Error(err)
			return false, nil, nil
		}
		rc := is.(*corev1.ReplicationController).DeepCopy()
		change(rc)
		if err := api.Tracker().Update(resource, rc, "shop"); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewConflict(resource.GroupResource(), "web", errors.New("modified"))
	})
}

// The end of a request is the result with its ID, however new those of others are.
func TestResultOfTheRequest(t *testing.T) {
	result := func(id, ended string, at time.Time) map[string]string {
		return map[string]string{rollingupdate.AnnotationResult: rollingupdate.Result{ID: id, Ended: ended, From: "web", To: "web-2", At: at}.Text()}
	}
	client, _ := clientOf(controller("web", 3, blue, result("y", "aborted", time.Now())), controller("web-2", 3, green, result("x", "complete", time.Now().Add(-time.Hour))))
	l, err := client.Look(t.Context(), "web")
	if err != nil || l.Result.ID != "y" {
		t.Fatalf("%+v, %v", l, err)
	}
	if done, err := l.outcome(Started{Old: "web", ID: "x"}); !done || err != nil {
		t.Errorf("its own result: %v, %v", done, err)
	}
	done, err := l.outcome(Started{Old: "web", ID: "z"})
	if want := "somebody has removed or replaced it. The result that stands there is another request's: that update of web to web-2 was taken back"; !done || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another's: %v, %v", done, err)
	}
}

// The deadline is told where the old one is gone, and once: by the error alone.
func TestStuckWithoutTheOldOne(t *testing.T) {
	_, n := half(asksX)
	annotate(n, rollingupdate.AnnotationRequest, `{"version":1,"id":"x","to":"web-2","timeout":"1s"}`)
	annotate(n, rollingupdate.AnnotationStepped, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano))
	n.Spec.Replicas, n.Status.Replicas = new(int32(3)), 2
	condition(corev1.ConditionFalse, rollingupdate.ReasonDeadline, n)
	client, _ := clientOf(n)
	watching, told := quick(t), 0
	watching.Tell = func(*Look) { told++ }
	err := client.Follow(t.Context(), Started{Old: "web", ID: "x"}, watching)
	if stuck := new(Stuck); !errors.As(err, &stuck) || !strings.Contains(stuck.Sentence, "web is stuck: nothing has moved for 1h") || told != 0 {
		t.Errorf("%v, told %d times", err, told)
	}
}

// One that is being deleted and stays ends the watching as soon as its loop says that it takes too
// long, going on as well as going back.
func TestStuckWhileDeleted(t *testing.T) {
	for _, c := range []struct {
		name, request string
		size, left    int32
	}{
		{"going on", `{"version":1,"id":"x","to":"web-2","timeout":"1s"}`, 2, 1},
		{"going back", `{"version":1,"id":"x","to":"web-2","timeout":"1s","abort":true}`, 3, 0},
	} {
		old, n := half(c.request)
		old.Spec.Replicas, n.Spec.Replicas = &c.size, &c.left
		old.Status.Replicas, n.Status.Replicas = c.size, c.left
		n.DeletionTimestamp, n.Finalizers = new(metav1.NewTime(time.Now().Add(-time.Hour))), []string{"example.org/wait"}
		annotate(n, rollingupdate.AnnotationStepped, time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339Nano))
		condition(corev1.ConditionFalse, rollingupdate.ReasonDeadline, old, n)
		client, _ := clientOf(old, n)
		f := &follower{Client: client, Watching: quick(t), s: Started{Old: "web", ID: "x", Back: c.left == 0}}
		_, err := f.turn(t.Context())
		const want = "shop/web is stuck: nothing has moved for 1h; web-2 is being deleted; a finalizer keeps it (example.org/wait)"
		if stuck := new(Stuck); !errors.As(err, &stuck) || !strings.HasPrefix(stuck.Sentence, want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
