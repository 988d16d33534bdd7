package rolling

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

func asking(request string) *corev1.ReplicationController {
	return controller("web", 3, blue, map[string]string{rollingupdate.AnnotationRequest: request})
}

func standsOn(t *testing.T, c *Client, name string) *rollingupdate.Request {
	t.Helper()
	rc, err := c.get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := requestOf(rc)
	if err != nil || r == nil {
		t.Fatalf("the request is %v, %v", r, err)
	}
	return r
}

// A new update that allows neither more pods nor fewer says that one may be missing.
func TestBeginOfTwoZeros(t *testing.T) {
	for _, c := range []struct {
		surge, unavailable string
		told               bool
	}{
		{"0", "0", true}, {"0%", "0", true}, {"1", "0", false}, {"0", "1", false},
		{"0", "10%", true}, {"0", "33%", true}, {"0", "34%", false}, {"0", "50%", false}, {"1%", "10%", false}, // Of 3 pods.
	} {
		client, _ := clientOf(controller("web", 3, blue, nil))
		s, err := client.Begin(t.Context(), Ask{Old: "web", Request: rollingupdate.Request{Image: "web:2", Surge: rollingupdate.Amount(c.surge), Unavailable: rollingupdate.Amount(c.unavailable)}})
		if err != nil || (s.Lends() != "") != c.told {
			t.Errorf("%+v: %q, %v", c, s.Lends(), err)
		}
	}
}

// Of an update that is under way the pods are those that its new one is to have.
func TestPodsOfWhichNoneMayBeMissing(t *testing.T) {
	const three = "With a surge of 0 and 25% unavailable, which of 3 pods is none, nothing could move: one pod may be unavailable."
	none := rollingupdate.Request{Surge: rollingupdate.Amount("0"), Unavailable: rollingupdate.Amount("25%")}
	for _, c := range []struct {
		name string
		size int32
		want string
	}{{"as many as there were", 3, three}, {"more than there were", 4, ""}} {
		client, _ := clientOf(asking(`{"version":1,"id":"x","to":"web-2"}`))
		ask := file(controller("web-2", c.size, green, nil))
		ask.Request.Surge, ask.Request.Unavailable = none.Surge, none.Unavailable
		s, err := client.Begin(t.Context(), ask)
		if err != nil || s.Made != "web-2" || s.Lends() != c.want {
			t.Errorf("%s: it is created anew: %q, %v", c.name, s.Lends(), err)
		}
		if s, err = client.Begin(t.Context(), ask); err != nil || s.Kept != "web-2" || s.Lends() != c.want {
			t.Errorf("%s: it is there: %q, %v", c.name, s.Lends(), err)
		}
	}
}

// What is given anew changes the request that is under way, and what is not given stays.
func TestBeginChanges(t *testing.T) {
	client, api := clientOf(asking(`{"version":1,"id":"x","image":"web:2","container":"web","timeout":"7m"}`))
	onFirstConflict(t, api, func(rc *corev1.ReplicationController) {
		annotate(rc, rollingupdate.AnnotationRequest, `{"version":1,"id":"x","image":"web:2","container":"web","timeout":"7m","paused":true}`)
	})
	ask := Ask{Old: "web", Request: rollingupdate.Request{
		Image: "web:2", Surge: rollingupdate.Amount("3"), Unavailable: rollingupdate.Amount("25%"),
		UpdatePeriod: new(rollingupdate.Period(30 * time.Second)), Cleanup: rollingupdate.Preserve,
	}}
	s, err := client.Begin(t.Context(), ask)
	want := []string{"surge 1 to 3", "unavailable 0 to 25%", "update period 1m to 30s", "clean-up rename to preserve"}
	if err != nil || !s.Again || s.ID != "x" || !slices.Equal(s.Changed, want) {
		t.Fatalf("%+v, %v", s, err)
	}
	r := standsOn(t, client, "web")
	if r.ID != "x" || r.Surge.IntVal != 3 || r.Unavailable.StrVal != "25%" || r.Container != "web" || time.Duration(*r.Timeout) != 7*time.Minute || !r.Paused {
		t.Errorf("the request is %s", r.Text())
	}
	const told = "The rolling update of web to image web:2 is under way already, and was changed: surge 1 to 3, unavailable 0 to 25%, update period 1m to 30s and clean-up rename to preserve." +
		" It is paused: to go on, 'loopscope rolling-update resume web -n shop'."
	if got := s.Told(); got != told {
		t.Errorf("it says %q", got)
	}
	ask = Ask{Old: "web", Request: rollingupdate.Request{Image: "web:2", Timeout: new(rollingupdate.Period(-time.Second))}}
	if _, err := client.Begin(t.Context(), ask); err == nil || !strings.Contains(err.Error(), "timeout -1s: use more than 0s") {
		t.Errorf("a bad timeout: %v", err)
	}
}

// The same again writes nothing, and says that it is under way.
func TestBeginAgain(t *testing.T) {
	client, api := clientOf(asking(`{"version":1,"id":"x","image":"web:2","surge":2}`))
	s, err := client.Begin(t.Context(), image("web:2"))
	if got, want := s.Told(), "The rolling update of web to image web:2 is under way already, and stays as it was asked for."; err != nil || got != want {
		t.Errorf("it says %q, %v", got, err)
	}
	wroteNothing(t, "the same", api)
	ask := image("web:2")
	ask.Request.Container, ask.Request.DeploymentKey = "web", rollingupdate.DefaultKey // Which is what stands there.
	if s, err := client.Begin(t.Context(), ask); err != nil || len(s.Changed) > 0 {
		t.Errorf("the same in other words: %+v, %v", s, err)
	}
	wroteNothing(t, "the same in other words", api)
}

// What cannot be changed in the middle is an error that names it, and nothing is written.
func TestBeginCannotChange(t *testing.T) {
	const parked = `{"key":"deployment","value":"z","size":3,"from":"web-2","id":"x"}`
	ends := asking(`{"version":1,"id":"x","image":"web:2"}`)
	ends.Annotations[rollingupdate.AnnotationParked] = parked
	for _, c := range []struct {
		name string
		on   *corev1.ReplicationController
		ask  Ask
		want string
	}{
		{"all", asking(`{"version":1,"id":"x","image":"web:2","imagePullPolicy":"Always"}`), Ask{Old: "web", Request: rollingupdate.Request{Image: "web:3", To: "web-3", Container: "side", ImagePullPolicy: "Never", DeploymentKey: "track"}},
			"image web:2 to web:3, new name none to web-3, container web to side, pull policy Always to Never and deployment label key deployment to track"},
		{"a file", asking(`{"version":1,"id":"x","image":"web:2","to":"web-2"}`), file(controller("web-2", 3, green, nil)), "image web:2 to that of a file"},
		{"an image", asking(`{"version":1,"id":"x","to":"web-2"}`), image("web:2"), "a rolling update to web-2 of web is under way, and in the middle of it this cannot be changed: image none to web:2"},
		{"the way back", asking(`{"version":1,"id":"x","image":"web:2","abort":true}`), image("web:2"), "the taking back of a rolling update to image web:2 of web is under way. Watch it with 'loopscope rolling-update status web -n shop --watch', and ask again when that has ended"},
		{"the clean-up at the end", ends, Ask{Old: "web", Request: rollingupdate.Request{Image: "web:2", Cleanup: rollingupdate.Delete}}, "it is too late to change the clean-up: web is taking over the new pods"},
	} {
		client, api := clientOf(c.on)
		if s, err := client.Begin(t.Context(), c.ask); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %s", c.name, s, err, c.want)
		}
		wroteNothing(t, c.name, api)
	}
}

// An update that ends while it is to be changed is not revived.
func TestBeginChangesTooLate(t *testing.T) {
	client, api := clientOf(asking(`{"version":1,"id":"x","image":"web:2"}`))
	onFirstConflict(t, api, func(rc *corev1.ReplicationController) { delete(rc.Annotations, rollingupdate.AnnotationRequest) })
	ask := image("web:2")
	ask.Request.Surge = rollingupdate.Amount("3")
	if s, err := client.Begin(t.Context(), ask); err == nil || !strings.Contains(err.Error(), "has ended, or was asked for anew") {
		t.Errorf("%+v, %v", s, err)
	}
}

func wroteNothing(t *testing.T, name string, api *fake.Clientset) {
	t.Helper()
	for _, a := range api.Actions() {
		if !slices.Contains([]string{"get", "list"}, a.GetVerb()) {
			t.Errorf("%s: it wrote %v", name, a)
		}
	}
}
