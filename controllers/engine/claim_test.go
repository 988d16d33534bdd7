package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// a parent is looked at once in a sync. One that is gone, recreated or being deleted
// adopts nothing, and neither does one that could not be read.
func TestParentCheck(t *testing.T) {
	deleting := lab.Object("web", "1", "9", nil, nil)
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	down := errors.New("no answer")
	parent := func(uid string) metav1.Object { return lab.Deployment("web", uid, "") }
	for name, c := range map[string]struct {
		live  metav1.Object
		err   error
		want  string
		fails error
	}{
		"there":         {live: parent("1")},
		"not found":     {err: apierrors.NewNotFound(schema.GroupResource{}, "web"), want: "gone"},
		"recreated":     {live: parent("2"), want: "gone"},
		"being deleted": {live: &deleting, want: "deleting"},
		"not read":      {err: down, fails: down},
	} {
		var check ParentCheck
		reads := 0
		for range 2 {
			got, err := check.Check("1", func() (metav1.Object, error) { reads++; return c.live, c.err })
			if got != c.want || !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
				t.Errorf("%s: %q, %v, want %q, %v", name, got, err, c.want, c.fails)
			}
		}
		if reads != 1 {
			t.Errorf("%s: it was read %d times", name, reads)
		}
	}
}

// the words are those of Kubernetes.
func TestCannotAdopt(t *testing.T) {
	down := errors.New("no answer")
	err := CannotAdopt(decision.Action{Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", UID: "u"}}, down)
	if want := "can't adopt ReplicaSet shop/web-1 (u): can't recheck DeletionTimestamp: no answer"; !errors.Is(err, down) || err.Error() != want {
		t.Errorf("it says %v", err)
	}
}

// a claim holds for the child that was decided on, and for no other of its name.
func TestClaimPatches(t *testing.T) {
	adopt := `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d","controller":true,"blockOwnerDeletion":true}],"uid":"c"}}`
	if diff := cmp.Diff(adopt, string(AdoptPatch("c", lab.OwnedBy("Deployment", "web", "d")))); diff != "" {
		t.Errorf("adopting (-want +got):\n%s", diff)
	}
	release := `{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"d"}],"uid":"c"}}`
	if diff := cmp.Diff(release, string(ReleasePatch("c", "d"))); diff != "" {
		t.Errorf("releasing (-want +got):\n%s", diff)
	}
}

// what is gone is not claimed, and neither is what another object of its name does not
// let go. Any other refusal is one.
func TestClaimOutcome(t *testing.T) {
	pods := corev1.Resource("pods")
	missing, invalid := apierrors.NewNotFound(pods, "web-1"), apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-1", nil)
	conflict, forbidden := apierrors.NewConflict(pods, "web-1", nil), apierrors.NewForbidden(pods, "web-1", nil)
	for _, c := range []struct {
		kind decision.ActionKind
		err  error
		want decision.State
	}{
		{decision.Adopt, missing, decision.Tolerated},
		{decision.Adopt, invalid, decision.Refused},
		{decision.Adopt, conflict, decision.Conflicted},
		{decision.Adopt, forbidden, decision.Refused},
		{decision.Release, missing, decision.Tolerated},
		{decision.Release, invalid, decision.Tolerated},
		{decision.Release, conflict, decision.Conflicted},
		{decision.Release, forbidden, decision.Refused},
	} {
		o, learnt := ClaimOutcome(decision.Action{Kind: c.kind, Target: decision.Ref{UID: "u"}}, c.err)
		var gone []string
		if c.want == decision.Tolerated {
			gone = []string{"u"}
		}
		if diff := cmp.Diff(gone, learnt.ChildrenGone); o.State != c.want || o.Failure.Message != c.err.Error() || diff != "" {
			t.Errorf("%s, %v: %s, gone (-want +got):\n%s", c.kind, c.err, o.State, diff)
		}
	}
}
