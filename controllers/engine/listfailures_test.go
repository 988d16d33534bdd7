package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// What cannot be listed says why, as long as that is so.
func TestListFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewListFailures(clock.RealClock{})
		pods := schema.GroupResource{Resource: "pods"}
		for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, apierrors.NewResourceExpired("too old"), apierrors.NewGone("gone")} {
			if f.note("pods", err); f.of("pods", false) != "" {
				t.Errorf("%v counts as a failure", err)
			}
		}
		f.note("pods", fmt.Errorf("failed to list *v1.Pod: %w", apierrors.NewForbidden(pods, "", errors.New("no"))))
		f.note("nodes", errors.New("no route, password=hunter2"))
		if got := f.of("pods", true); got != `pods is forbidden: no` {
			t.Errorf("it says %q", got)
		}
		if got := f.of("nodes", true); strings.Contains(got, "hunter2") {
			t.Errorf("it says %q", got)
		}
		time.Sleep(failureLasts - time.Second)
		if f.of("pods", true) == "" {
			t.Error("it is forgotten too early")
		}
		time.Sleep(time.Second)
		if f.of("pods", true) != "" || f.of("pods", false) == "" {
			t.Errorf("two minutes later: %q of a filled cache, %q of one that is not", f.of("pods", true), f.of("pods", false))
		}
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
	for deadline := time.Now().Add(10 * time.Second); errorOf("pods") == "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if errorOf("pods") != "pods is forbidden: no" || errorOf("nodes") != "" {
		t.Errorf("of pods it says %q, of nodes %q", errorOf("pods"), errorOf("nodes"))
	}
	if err := l.Register("pods", f.Core().V1().Pods().Informer(), cache.ResourceEventHandlerFuncs{}); err == nil {
		t.Error("an informer that runs was accepted")
	}
}
