package rolling

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// verbs end what kubectl left half-done, and each with the answer of its loop to whether it goes back.
var verbs = map[string]struct {
	change func(*rollingupdate.Request) error
	back   string
}{"resume": {resume(""), decision.No}, "abort": {abort, decision.Yes}}

// Whatever kubectl left, the sentence advises the commands that would do what their names say, and
// no other goes the other way.
func TestLeftAdvises(t *testing.T) {
	notes := func(list ...string) map[string]string {
		all := map[string]string{}
		for i := 0; i < len(list); i += 2 {
			all[list[i]] = list[i+1]
		}
		return all
	}
	const next, original, source, desired = rollingupdate.AnnotationNext, rollingupdate.AnnotationOriginal, rollingupdate.AnnotationSource, rollingupdate.AnnotationDesired
	old := func(size int32, list ...string) *corev1.ReplicationController {
		return controller("web", size, blue, notes(list...))
	}
	n := func(size int32, list ...string) *corev1.ReplicationController {
		rc := controller("web-2", size, green, notes(list...))
		rc.UID = "u-2"
		return rc
	}
	for _, c := range []struct {
		name    string
		have    []runtime.Object
		advised string
	}{
		{"in the middle", leftTo("web-2", "deployment", "x"), "resume abort"},
		{"without the old one's size", []runtime.Object{old(3, next, "web-2"), n(0, source, "web:u-1", desired, "3")}, "resume abort"},
		{"from a file", []runtime.Object{old(2, original, "3"), n(1, source, "web:u-1", desired, "3")}, "resume abort"},
		{"the old one is gone", []runtime.Object{n(3, source, "web:u-1", desired, "3")}, "resume"},
		{"the notes are removed", []runtime.Object{old(0, next, "web-2", original, "3"), n(3)}, "resume"},
		{"the new one is gone", []runtime.Object{old(2, next, "web-2", original, "3")}, "abort"},
		{"the new one is somebody else's", []runtime.Object{old(2, next, "web-2", original, "3"), n(1)}, "abort"},
		{"without a size to go back to", []runtime.Object{old(2, next, "web-2"), n(1, source, "web:u-1", desired, "3")}, "resume"},
		{"the size at the start alone", []runtime.Object{old(2, original, "3")}, ""},
	} {
		client, _ := clientOf(c.have...)
		l, err := client.Look(t.Context(), "web")
		if err != nil || l.Sentence.Code != rollingupdate.CodeHalfDone {
			t.Fatalf("%s: %+v, %v", c.name, l, err)
		}
		for verb, does := range verbs {
			advised := strings.Contains(c.advised, verb)
			if strings.Contains(l.Text(), verb) != advised {
				t.Errorf("%s: %s, advised is to be %t: %s", c.name, verb, advised, l.Text())
			}
			client, api := clientOf(c.have...)
			_, err := client.Steer(t.Context(), "web", does.change)
			if err != nil {
				wroteNothing(t, c.name, api)
				if advised {
					t.Errorf("%s: %s: %v", c.name, verb, err)
				}
				continue
			}
			after, err := client.Look(t.Context(), "web")
			if err != nil {
				t.Fatal(err)
			}
			answer, asked := after.Rounds[0].Verdict.Path.Answer("RU-5.abort")
			if asked && answer != does.back || advised && after.Invalid() != "" {
				t.Errorf("%s: %s: the answer is %q: %s", c.name, verb, answer, after.Text())
			}
		}
	}
}

// What can be neither finished nor taken back is asked for anew where the new one alone is gone,
// and otherwise the error leads to what to do.
func TestLeftOtherwise(t *testing.T) {
	left := controller("web", 2, blue, map[string]string{rollingupdate.AnnotationNext: "web-2", rollingupdate.AnnotationOriginal: "3"})
	for name, ask := range map[string]Ask{"a file": file(controller("web-2", 3, green, nil)), "an image": image("web:2")} {
		client, _ := clientOf(left.DeepCopy())
		if _, err := client.Begin(t.Context(), ask); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if l, err := client.Look(t.Context(), "web"); err != nil || l.Invalid() != "" {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	for want, have := range map[string]*corev1.ReplicationController{
		"nothing says to what, so it can be neither finished nor taken back: see what to do with 'loopscope rolling-update status web -n shop'": controller("web", 2, blue, map[string]string{rollingupdate.AnnotationOriginal: "3"}),
		"it is too late to take the update of web back: web-2 has replaced it; finish it with 'loopscope rolling-update resume web -n shop'":    leftTo("web-2", "deployment", "x")[1].(*corev1.ReplicationController),
	} {
		client, api := clientOf(have)
		if _, err := client.Steer(t.Context(), "web", abort); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := client.ForeseeSteered(t.Context(), "web", abort, false); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("foreseen: %v, want %s", err, want)
		}
		wroteNothing(t, want, api)
	}
}
