package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestOutcomeOf(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	terminating := apierrors.NewForbidden(resource, "web", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		name     string
		err      error
		want     decision.State
		terminal bool
	}{
		{"taken", nil, decision.Written, false},
		{"another writer", apierrors.NewConflict(resource, "web", nil), decision.Conflicted, false},
		{"quota", apierrors.NewForbidden(resource, "web", nil), decision.Refused, false},
		{"namespace terminating", terminating, decision.Refused, true},
		{"too many requests", apierrors.NewTooManyRequests("slow down", 1), decision.Refused, false},
		{"server error", apierrors.NewInternalError(http.ErrHandlerTimeout), decision.Unknown, false},
		{"gateway timeout", apierrors.NewTimeoutError("etcd", 1), decision.Unknown, false},
		{"bad gateway", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadGateway}}, decision.Unknown, false},
		{"no reply", http.ErrServerClosed, decision.Unknown, false},
	} {
		o := OutcomeOf("", c.err)
		if o.State != c.want {
			t.Errorf("%s: state %s, want %s", c.name, o.State, c.want)
		}
		if o.Failure != nil && o.Failure.Terminal != c.terminal {
			t.Errorf("%s: terminal = %v", c.name, o.Failure.Terminal)
		}
	}
}

// A failure has the API server's words; one without a reply is of an API server that was not
// there, unless we ended the request ourselves.
func TestFailureOf(t *testing.T) {
	gone := func(err error) error { return &url.Error{Op: "Get", URL: "https://cluster", Err: err} }
	for name, c := range map[string]struct {
		err    error
		code   int
		reason string
	}{
		"a refusal":          {apierrors.NewBadRequest("no"), 400, "BadRequest"},
		"nobody listens":     {fmt.Errorf("read: %w", gone(syscall.ECONNREFUSED)), 0, decision.Unreachable},
		"ended by us":        {gone(context.Canceled), 0, ""},
		"of our own":         {errors.New("closed"), 0, ""},
		"a panic on the way": {fmt.Errorf("read: %w", panicked{"nil map"}), 0, reasonPanic},
	} {
		if f := FailureOf(c.err); f.Code != c.code || f.Reason != c.reason || f.Message != c.err.Error() || f.Terminal {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
