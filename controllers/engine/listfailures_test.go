package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry"
)

// What cannot be listed says why, as long as that is so: at once while the cache is not
// filled, and afterwards where it goes on for a while and the cache does not.
func TestListFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewListFailures(clock.RealClock{})
		for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, apierrors.NewResourceExpired("too old"), &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Code: http.StatusGone}}} {
			if f.note("pods", "", err); f.of("pods", "", false).text != "" {
				t.Errorf("%v counts as a failure", err)
			}
		}
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		fail := func() { f.note("pods", "7", fmt.Errorf("failed to list *v1.Pod: %w", forbidden)) }
		want := func(what, rv string, filled, not bool) {
			t.Helper()
			for synced, says := range map[bool]bool{true: filled, false: not} {
				if got := f.of("pods", rv, synced).text; got != map[bool]string{true: "pods is forbidden: no"}[says] {
					t.Errorf("%s: filled %v, it says %q", what, synced, got)
				}
			}
		}
		fail()
		want("once", "7", false, true)
		time.Sleep(failureCounts - time.Second)
		fail()
		want("not for long", "7", false, true)
		time.Sleep(time.Second)
		fail()
		want("for long", "7", true, true)
		want("gone on since", "8", false, true)
		time.Sleep(failureLasts - time.Second)
		want("just so", "7", true, true)
		time.Sleep(time.Second)
		want("long ago", "7", false, true)
		fail()
		want("again", "7", false, true)
		time.Sleep(failureCounts)
		f.note("pods", "8", forbidden)
		want("after it had gone on", "8", false, true)
		f.note("nodes", "", errors.New("no route, password=hunter2"))
		if got := f.of("nodes", "", false).text; strings.Contains(got, "hunter2") || got == "" {
			t.Errorf("it says %q", got)
		}
		f.Forget()
		want("forgotten", "8", false, false)
	})
}

// A loop that waits for a cache says what it waits for.
func TestCacheThatCannotBeFilled(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", errors.New("no"))
	})
	f := informers.NewSharedInformerFactory(client, 0)
	l := New(Settings{Name: "test"}, client, Options{})
	l.Use(&script{})
	for resource, informer := range map[string]cache.SharedIndexInformer{"pods": f.Core().V1().Pods().Informer(), "nodes": f.Core().V1().Nodes().Informer()} {
		if err := l.Register(resource, informer, cache.ResourceEventHandlerFuncs{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.StartWithContext(ctx)
	defer f.Shutdown()
	defer cancel()
	errorOf := func(resource string) string {
		for _, c := range l.Waits().Caches {
			if c.Resource == resource {
				return c.Error
			}
		}
		return ""
	}
	for deadline := time.Now().Add(time.Minute); errorOf("pods") == "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if errorOf("pods") != "pods is forbidden: no" || errorOf("nodes") != "" {
		t.Errorf("of pods it says %q, of nodes %q", errorOf("pods"), errorOf("nodes"))
	}
	if err := l.Register("pods", f.Core().V1().Pods().Informer(), cache.ResourceEventHandlerFuncs{}); err == nil {
		t.Error("an informer that runs was accepted")
	}
}

// A loop whose resource the API server does not serve is skipped, and begins when it is served
// ([M-5]).
// It takes the informer a second to try again; in fake time client-go never does.
func TestUnservedResource(t *testing.T) {
	t.Parallel()
	var served atomic.Bool
	client := fake.NewClientset()
	client.PrependReactor("list", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return !served.Load(), nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "list", a.GetResource().GroupResource(), "", "", 0, true)
	})
	f := informers.NewSharedInformerFactory(client, 0)
	failures := NewListFailures(clock.RealClock{})
	l := New(Settings{Name: "test"}, client, Options{Failures: failures, Logger: slog.New(slog.DiscardHandler)})
	l.Use(&script{})
	if err := l.Register("nodes", f.Core().V1().Nodes().Informer(), cache.ResourceEventHandlerFuncs{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, 1) }()
	until := func(mode string) telemetry.LoopState {
		for deadline := time.Now().Add(time.Minute); l.State().Mode != mode && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		return l.State()
	}
	until(telemetry.ModeSkipped)
	failures.Forget() // It does not serve it either, once it is back.
	if s := l.State(); s.Mode != telemetry.ModeSkipped || !s.Caches[0].Unserved || s.Caches[0].Error == "" || s.Queue.Workers != 0 {
		t.Errorf("not served: %+v", s)
	}
	served.Store(true)
	if s := until(string(Act)); s.Mode != string(Act) || s.Caches[0].Unserved || s.Caches[0].Error != "" {
		t.Errorf("served: %+v", s)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	f.Shutdown()
}
