package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A write that was taken is waited for, one that was not is not, and one that was decided on
// an older version is not sent.
func TestGuarded(t *testing.T) {
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{})
	entry := func(rv string) Entry { return Entry{UID: "u", Resource: "deployments", RV: rv} }
	refused := apierrors.NewBadRequest("no")
	if o := l.Guarded("u", "1", func() (Entry, error) { return entry("8"), refused }); o.State != decision.Refused || l.opts.Ledger.wrote("u", "8") {
		t.Errorf("refused: %+v", o)
	}
	if o := l.Guarded("u", "1", func() (Entry, error) { return entry("9"), nil }); o.State != decision.Written || o.RV != "9" || !l.opts.Ledger.wrote("u", "9") {
		t.Errorf("taken: %+v", o)
	}
	sent := false
	if o := l.Guarded("u", "1", func() (Entry, error) { sent = true; return entry("10"), nil }); o.State != decision.Superseded || o.Failure != nil || sent {
		t.Errorf("outdated: %+v, sent %v", o, sent)
	}
}

// Who was first is asked for where a write conflicts, and nowhere else. An object that is
// gone is no failure.
func TestPut(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, c := range map[string]struct {
		err  error
		want decision.State
	}{
		"taken":             {nil, decision.Written},
		"another was first": {apierrors.NewConflict(resource, "web", nil), decision.Conflicted},
		"gone":              {apierrors.NewNotFound(resource, "web"), decision.Tolerated},
		"refused":           {apierrors.NewForbidden(resource, "web", nil), decision.Refused},
	} {
		clock := testclock.NewFakeClock(lab.At)
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Clock: clock})
		o := l.Put(lab.Deployment("web", "u", ""), func() (Entry, error) {
			clock.Step(time.Second)
			return Entry{UID: "u", Resource: "deployments", RV: "2"}, c.err
		}, func() *decision.Writer { return &decision.Writer{Manager: "kubectl"} })
		if o.State != c.want || (o.Other != nil) != (c.want == decision.Conflicted) || o.Took != time.Second {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// The other writer is whoever signed the version that stands now, as far as that can be read.
func TestOtherWriter(t *testing.T) {
	l := signing()
	was, live := signedBy(t, l, "1", 100, "kubectl"), lab.Deployment("web", "u", "")
	live.ResourceVersion, live.ManagedFields = "2", []metav1.ManagedFieldsEntry{lab.SignedBy("kubectl", "", 200, signedFields[0])}
	fields := func(old, changed *appsv1.Deployment) []decision.Change {
		return []decision.Change{{Field: "spec.replicas", From: old.ResourceVersion, To: changed.ResourceVersion}}
	}
	read := func() (*appsv1.Deployment, error) { return live, nil }
	want := &decision.Writer{Manager: "kubectl", RV: "2", Fields: []string{"spec.replicas"}}
	if diff := cmp.Diff(want, OtherWriter(l, was, read, fields)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var told []decision.Change
	OtherWriter(l, was, read, func(old, changed *appsv1.Deployment) []decision.Change { told = fields(old, changed); return told })
	if told[0].From != "1" || told[0].To != "2" {
		t.Errorf("compared were %+v", told)
	}
	unread := func() (*appsv1.Deployment, error) { return nil, errors.New("no answer") }
	if got := OtherWriter(l, was, unread, fields); got != nil {
		t.Errorf("without an answer it was %+v", got)
	}
}
