package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

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
		{"webhook that fails", apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com": failed to call webhook: connection refused`)), decision.Refused, false},
		{"webhook named by a proxy", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: `failed calling webhook "x"`}}, decision.Unknown, false},
		{"gateway timeout", apierrors.NewTimeoutError("etcd", 1), decision.Unknown, false},
		{"bad gateway", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadGateway}}, decision.Unknown, false},
		{"no reply", http.ErrServerClosed, decision.Unknown, false},
		{"nobody there", &url.Error{Op: "Put", URL: "https://cluster", Err: syscall.ECONNREFUSED}, decision.Unanswered, false},
		{"not able to serve", apierrors.NewServiceUnavailable("starting"), decision.Unanswered, false},
	} {
		o := OutcomeOf("7", c.err)
		if (o.RV == "7") != (c.err == nil) || (o.Failure == nil) != (c.err == nil) {
			t.Errorf("%s: it stands at %q, failure %+v", c.name, o.RV, o.Failure)
		}
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
		"a refusal":            {apierrors.NewBadRequest("no"), 400, "BadRequest"},
		"nobody listens":       {fmt.Errorf("read: %w", gone(syscall.ECONNREFUSED)), 0, decision.Unreachable},
		"a refusal on the way": {gone(apierrors.NewBadRequest("no")), 400, "BadRequest"},
		"ended by us":          {gone(context.Canceled), 0, ""},
		"of our own":           {errors.New("closed"), 0, ""},
		"a panic on the way":   {fmt.Errorf("read: %w", panicked{"nil map"}), 0, reasonPanic},
	} {
		if f := FailureOf(c.err); f.Code != c.code || f.Reason != c.reason || f.Message != c.err.Error() || f.Terminal {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A request that panics in a goroutine of its own fails, and nobody knows what became of it.
func TestWithRecover(t *testing.T) {
	var log bytes.Buffer
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	refused := errors.New("no")
	for _, want := range []error{nil, refused} {
		if err := l.WithRecover(func() error { return want }); !errors.Is(err, want) || (err == nil) != (want == nil) || log.Len() > 0 {
			t.Errorf("%v becomes %v, and the log says %q", want, err, log.String())
		}
	}
	err := l.WithRecover(func() error { panic("nil map") })
	if o := OutcomeOf("7", err); o.State != decision.Unknown || o.Failure.Reason != reasonPanic || o.Failure.Message != "panic: nil map" {
		t.Errorf("a panic becomes %+v, %v", o, err)
	}
	if !strings.Contains(log.String(), "Request panicked") {
		t.Errorf("the log says %q", log.String())
	}
}

// What nobody carries out is refused, so that it is seen.
func TestUnsupported(t *testing.T) {
	o := Unsupported(decision.Action{Kind: decision.Adopt})
	if o.State != decision.Refused || o.OK() || !strings.Contains(o.Failure.Message, string(decision.Adopt)) {
		t.Errorf("it is %+v", o)
	}
}
