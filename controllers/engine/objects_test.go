package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// References are the same where they name one object, whatever else they say; none is the
// same as none.
func TestSameRef(t *testing.T) {
	web := lab.OwnedBy("ReplicaSet", "web", "1")
	newer := lab.OwnedBy("ReplicaSet", "web", "1")
	newer.APIVersion, newer.BlockOwnerDeletion = "apps/v2", nil
	for name, c := range map[string]struct {
		a, b *metav1.OwnerReference
		want bool
	}{
		"none and none":  {nil, nil, true},
		"one and none":   {web, nil, false},
		"none and one":   {nil, web, false},
		"one and itself": {web, newer, true},
		"another UID":    {web, lab.OwnedBy("ReplicaSet", "web", "2"), false},
		"another kind":   {web, lab.OwnedBy("Deployment", "web", "1"), false},
		"another name":   {web, lab.OwnedBy("ReplicaSet", "api", "1"), false},
	} {
		if got := SameRef(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An object is filed under its controller alone: not under other owners, and what is no
// object nowhere.
func TestIndexController(t *testing.T) {
	other := lab.OwnedBy("Node", "n1", "9")
	other.Controller = nil
	pod := func(owners ...*metav1.OwnerReference) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: lab.Object("web-1", "p", "1", nil, nil)}
		for _, o := range owners {
			p.OwnerReferences = append(p.OwnerReferences, *o)
		}
		return p
	}
	for name, c := range map[string]struct {
		object any
		want   []string
	}{
		"its controller":  {pod(other, lab.OwnedBy("ReplicaSet", "web", "1")), []string{"1"}},
		"an owner alone":  {pod(other), nil},
		"nobody's":        {pod(), nil},
		"what is nothing": {nil, nil},
		"no object":       {"web", nil},
	} {
		got, err := IndexController(c.object)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// What a selector matches is asked for; everything is where it cannot be read.
func TestSelecting(t *testing.T) {
	for name, c := range map[string]struct {
		selector *metav1.LabelSelector
		want     string
	}{
		"a label":    {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, "app=web"},
		"everything": {&metav1.LabelSelector{}, ""},
		"none":       {nil, ""},
		"no operator": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "?"}},
			MatchLabels: map[string]string{"app": "web"}}, ""},
	} {
		if got := Selecting(c.selector); got.LabelSelector != c.want {
			t.Errorf("%s: it asks for %q, want %q", name, got.LabelSelector, c.want)
		}
	}
}

// A snapshot keeps what the record can hold of an instant.
func TestWallTime(t *testing.T) {
	now := time.Now().In(time.FixedZone("", 3600))
	if got := WallTime(now); !got.Equal(now) || got != got.Round(0) || got.Location() != time.UTC {
		t.Errorf("of %s it keeps %s", now, got)
	}
	if key := KeyOf(lab.Deployment("web", "1", "")); key != "shop/web" {
		t.Errorf("a Deployment has the key %q", key)
	}
}

// What is waited for by a time of day is waited for as long when that is set: a status that is
// held back, and the next look for the echo of a write.
func TestWaitsGoByTheTimeThatPassed(t *testing.T) {
	for _, set := range []time.Duration{time.Hour, -time.Hour} {
		c := &lab.SetClock{FakeClock: testclock.NewFakeClock(lab.Noon)}
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Clock: c})
		l.Hold("shop/web", "u", c.Now())
		l.opts.Ledger.Written(Entry{UID: "u", Resource: "pods", RV: "9"})
		c.Step(echoFirst / 2)
		c.By = set
		now := c.Now()
		if got := now.Sub(l.HeldSince("shop/web", "u")); got != echoFirst/2 {
			t.Errorf("set by %s: held back for %s", set, got)
		}
		pending := l.opts.Ledger.Pending("u", map[string]Store{"pods": store("8")}, nil, cachedAt("8"))
		for name, echoes := range map[string][]Echo{"listed": l.opts.Ledger.All(), "pending": pending} {
			if len(echoes) != 1 || now.Sub(echoes[0].Since) != echoFirst/2 || echoes[0].Check.Sub(now) != echoFirst/2 {
				t.Errorf("set by %s, now %s: %s is %+v", set, now, name, echoes)
			}
		}
	}
}
