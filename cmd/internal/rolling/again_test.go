package rolling

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// The new one of a file that is gone in the middle of its update is created from the file
// again, for as many pods as the old one had at the start ([RU-7]).
func TestBeginMakesAnew(t *testing.T) {
	const request = `{"version":1,"id":"x","to":"web-2"}`
	parked := rollingupdate.Parked{Size: 3, From: "web-2", UID: "u-2", ID: "x"}.Text()
	five := file(controller("web-2", 5, green, nil))
	unset := file(unsized(controller("web-2", 0, green, nil)))
	for _, c := range []struct {
		name    string
		size    int32 // of the old one now
		notes   map[string]string
		ask     Ask
		desired string // "" for none that is created
		told    string
	}{
		{"at the start", 3, nil, unset, "3", "web-2 did not exist, and was created from the file."},
		{"in the middle", 1, map[string]string{rollingupdate.AnnotationOriginal: "3", rollingupdate.AnnotationNext: "web-2"}, unset, "3", "web-2 did not exist, and was created from the file."},
		{"all old pods are gone", 0, map[string]string{rollingupdate.AnnotationOriginal: "3", rollingupdate.AnnotationNext: "web-2"}, unset, "3", "web-2 did not exist, and was created from the file."},
		{"the file has a size", 1, map[string]string{rollingupdate.AnnotationOriginal: "3", rollingupdate.AnnotationNext: "web-2"}, five, "5", "web-2 did not exist, and was created from the file."},
		{"it has done its part", 3, map[string]string{rollingupdate.AnnotationParked: parked}, unset, "", "stays as it was asked for."},
	} {
		old := controller("web", c.size, blue, mix(c.notes, map[string]string{rollingupdate.AnnotationRequest: request}))
		client, _ := clientOf(old)
		s, err := client.Begin(t.Context(), c.ask)
		if err != nil || !s.Again || s.ID != "x" || !strings.HasSuffix(s.Told(), c.told) {
			t.Errorf("%s: %+v, %v", c.name, s, err)
			continue
		}
		n, err := client.find(t.Context(), "web-2")
		switch {
		case err != nil:
			t.Error(err)
		case c.desired == "":
			if n != nil {
				t.Errorf("%s: %s was created", c.name, n.Name)
			}
			continue
		case n == nil || sizeOf(n) != 0 || n.Annotations[rollingupdate.AnnotationSource] != "web:u-1" || n.Annotations[rollingupdate.AnnotationDesired] != c.desired:
			t.Errorf("%s: the new one is %+v", c.name, n)
		}
		l, err := client.Look(t.Context(), "web")
		if err != nil || l.Invalid() != "" {
			t.Errorf("%s: %v, %v", c.name, l, err)
		}
	}
}

// What cannot be changed in the middle of an update creates nothing.
func TestBeginMakesNothingAnew(t *testing.T) {
	client, api := clientOf(asking(`{"version":1,"id":"x","to":"web-3"}`))
	if s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil))); err == nil || !strings.Contains(err.Error(), "new name web-3 to web-2") {
		t.Errorf("%+v, %v", s, err)
	}
	wroteNothing(t, "another name", api)
	client, api = clientOf(asking(`{"version":1,"id":"x","to":"web-2"}`))
	if s, err := client.Begin(t.Context(), file(controller("web-2", 3, blue, nil))); err == nil || !strings.Contains(err.Error(), "has no label that web has with another value") {
		t.Errorf("%+v, %v", s, err)
	}
	wroteNothing(t, "the same selector", api)
}

// A new update to one that exists says that the file is not applied, a dry run as well.
func TestBeginKeeps(t *testing.T) {
	there := controller("web-2", 1, green, map[string]string{rollingupdate.AnnotationSource: "web:u-1", rollingupdate.AnnotationDesired: "3"})
	client, _ := clientOf(controller("web", 3, blue, nil), there)
	ask := file(controller("web-2", 3, green, nil))
	const want = "web-2 exists, so the update continues with it as it is: the file is not applied."
	if f, err := client.Foresee(t.Context(), ask, false); err != nil || f.Keeps() != want {
		t.Errorf("foreseen: %+v, %v", f, err)
	}
	if s, err := client.Begin(t.Context(), ask); err != nil || s.Again || s.Kept != "web-2" || s.Keeps() != want {
		t.Errorf("%+v, %v", s, err)
	}
	other := file(controller("web-2", 3, green, nil))
	other.New.Spec.Template.Spec.Containers[0].Image = "web:3"
	if s, err := client.Begin(t.Context(), other); err != nil || !s.Again || !strings.HasSuffix(s.Told(), "web-2 stays as it was created: the file, which has another template, is not applied again.") {
		t.Errorf("another template, again: %+v, %v, %s", s, err, s.Told())
	}
	client, _ = clientOf(controller("web", 3, blue, nil), there)
	const differs = "web-2 exists, so the update continues with it as it is: the file, which has another template, is not applied."
	if s, err := client.Begin(t.Context(), other); err != nil || s.Keeps() != differs {
		t.Errorf("another template: %+v, %v", s, err)
	}
	client, _ = clientOf(controller("web", 3, blue, nil))
	if f, err := client.Foresee(t.Context(), ask, false); err != nil || f.Keeps() != "" {
		t.Errorf("one that is made: %+v, %v", f, err)
	}
	if s, err := client.Begin(t.Context(), ask); err != nil || s.Keeps() != "" {
		t.Errorf("one that is made: %+v, %v", s, err)
	}
}

// losesReply fails the next write of web after store has said whether it is done.
func losesReply(api *fake.Clientset, store bool) {
	first := true
	api.PrependReactor("update", "replicationcontrollers", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !first {
			return false, nil, nil
		}
		first = false
		if store {
			rc := a.(clienttesting.UpdateAction).GetObject()
			if err := api.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}, rc, "shop"); err != nil {
				return true, nil, err
			}
		}
		return true, nil, errors.New("EOF")
	})
}

// loses has the API server go down with the next write.
func loses(api *fake.Clientset) (down *bool) {
	down = new(bool)
	api.PrependReactor("update", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		*down = true
		return true, nil, errors.New("EOF")
	})
	api.PrependReactor("get", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return *down, &corev1.ReplicationController{}, errors.New("connection refused")
	})
	return down
}

// A request whose reply was lost stands where it was stored, and what was created for it stays.
func TestBeginLosesTheReply(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	losesReply(api, true)
	s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil)))
	if err != nil || standsOn(t, client, "web").ID != s.ID {
		t.Errorf("it was stored: %+v, %v", s, err)
	}
	if n, err := client.find(t.Context(), "web-2"); n == nil {
		t.Errorf("the new one of a request that stands was deleted: %v", err)
	}
	if err := client.Withdraw(t.Context(), s); err != nil {
		t.Errorf("withdrawn: %v", err)
	}

	client, api = clientOf(controller("web", 3, blue, nil))
	losesReply(api, false)
	if s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil))); err == nil || err.Error() != "EOF" {
		t.Errorf("it was not stored: %+v, %v", s, err)
	}
	if n, err := client.find(t.Context(), "web-2"); n != nil || err != nil {
		t.Errorf("what was created for it is left: %v, %v", n, err)
	}
}

// Where nothing can be read after a failure, what was created is kept, and that is said.
func TestBeginCannotSettle(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	down := loses(api)
	const want = "EOF\nWhether the request stands is not known: 'loopscope rolling-update status web -n shop' says it. web-2 was created for it, and is kept"
	if s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil))); err == nil || err.Error() != want {
		t.Errorf("%+v, %v", s, err)
	}
	*down = false
	if n, err := client.find(t.Context(), "web-2"); n == nil || err != nil {
		t.Errorf("the new one is %v, %v", n, err)
	}
}

// A withdrawal whose reply was lost is done where it was stored, and what was created goes with it.
func TestWithdrawalLosesTheReply(t *testing.T) {
	for stored, want := range map[bool]string{true: "so it was withdrawn", false: "the request stands"} {
		client, api := clientOf(controller("web", 3, blue, nil))
		s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil)))
		if err != nil {
			t.Fatal(err)
		}
		losesReply(api, stored)
		err = client.Follow(t.Context(), s, quick(t))
		if nobody := new(NoManager); !errors.As(err, &nobody) || nobody.Withdrawn != stored || !strings.Contains(err.Error(), want) {
			t.Errorf("stored is %t: it ended with %v", stored, err)
		}
		if n, err := client.find(t.Context(), "web-2"); err != nil || stored != (n == nil) {
			t.Errorf("stored is %t: the new one is %v, %v", stored, n, err)
		}
	}
}

// Where nothing can be read after it, it is said that nothing is known, and what was created is named.
func TestWithdrawalCannotSettle(t *testing.T) {
	client, api := clientOf(controller("web", 3, blue, nil))
	s, err := client.Begin(t.Context(), file(controller("web-2", 3, green, nil)))
	if err != nil {
		t.Fatal(err)
	}
	loses(api)
	err = client.Follow(t.Context(), s, quick(t))
	const want = "\nthe request was to be withdrawn, and there was no reply: EOF\nWhether the request stands is not known: 'loopscope rolling-update status web -n shop' says it. web-2 was created for it, and is kept"
	if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "the request stands, ") {
		t.Errorf("it ended with %v", err)
	}
}

// A change that fails says what was created before it.
func TestBeginMakesAnewAndFails(t *testing.T) {
	client, api := clientOf(asking(`{"version":1,"id":"x","to":"web-2"}`))
	losesReply(api, false)
	ask := file(controller("web-2", 3, green, nil))
	ask.Request.Surge = rollingupdate.Amount("3")
	const want = "EOF\nweb-2 did not exist and was created from the file: it stays"
	if s, err := client.Begin(t.Context(), ask); err == nil || err.Error() != want {
		t.Errorf("%+v, %v", s, err)
	}
	if n, err := client.find(t.Context(), "web-2"); n == nil || err != nil {
		t.Errorf("the new one is %v, %v", n, err)
	}
}
