package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/metadatainformer"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// What ends is told once, with the API server's own time; what is gone is remembered for
// a while, and what was recreated lives.
func TestNamespaceEndingsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		client, watches := lab.Namespaces(t, lab.Namespace("blog", "1", noon), lab.Namespace("shop", "2", time.Time{}))
		known, told := &terminatingNamespaces{}, make(chan string, 8)
		known.subscribe(func(name string) { told <- name })
		e := &namespaceWatcher{client: client, known: known, clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); e.run(ctx) }()
		if name := lab.Within(t, told, "namespace that ends from the start"); name != "blog" {
			t.Errorf("told was %s", name)
		}
		events := lab.Within(t, watches, "watch")
		events.Modify(lab.Namespace("shop", "2", noon.Add(time.Minute)))
		if name := lab.Within(t, told, "namespace that ends"); name != "shop" {
			t.Errorf("told was %s", name)
		}
		if at := known.since("shop", noon); !at.Equal(noon.Add(time.Minute)) {
			t.Errorf("it ends since %s", at)
		}
		events.Modify(lab.Namespace("shop", "3", time.Time{})) // Of its end nothing was seen.
		lab.Eventually(t, "a namespace recreated still ends", func() bool { return known.since("shop", noon).IsZero() })
		if at := known.since("blog", noon); at.IsZero() {
			t.Error("another one is forgotten with it")
		}
		end()
		lab.Within(t, ended, "end")
	})
}

// Without the right to watch namespaces it says so once and asks no more.
func TestNamespacesWithoutTheRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, answer := range map[string]error{
			"forbidden": apierrors.NewForbidden(namespaceResource.GroupResource(), "", nil), "not served": apierrors.NewNotFound(namespaceResource.GroupResource(), ""),
		} {
			client, _ := lab.Namespaces(t)
			client.PrependReactor("list", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
			var log bytes.Buffer
			e := &namespaceWatcher{client: client, known: &terminatingNamespaces{}, clock: clock.RealClock{}, logger: slog.New(slog.NewTextHandler(&log, nil))}
			ended := make(chan struct{})
			go func() { defer close(ended); e.run(t.Context()) }()
			lab.Within(t, ended, "end of what is "+name)
			if n := strings.Count(log.String(), "Namespaces are not watched"); n != 1 {
				t.Errorf("%s: it is said %d times:\n%s", name, n, log.String())
			}
			if n := len(client.Actions()); n != 1 {
				t.Errorf("%s: %d requests, want one", name, n)
			}
		}
	})
}

// An informer that has ended takes nothing any more, which is no secret.
func TestNamespacesOfAnInformerThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := lab.Namespaces(t)
		informer := metadatainformer.NewFilteredMetadataInformer(client, namespaceResource, "", 0, cache.Indexers{}, nil).Informer()
		ctx, end := context.WithCancel(t.Context())
		end()
		informer.RunWithContext(ctx)
		if err := (&namespaceWatcher{}).prepare(informer, end); err == nil {
			t.Error("it takes a handler")
		}
	})
}

func TestBareNamespaces(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	whole := lab.Namespace("shop", "2", noon)
	whole.ResourceVersion = "7"
	got, err := metadataOnly(whole)
	if err != nil {
		t.Fatal(err)
	}
	ns := got.(*metav1.PartialObjectMetadata)
	if ns.Name != "shop" || ns.UID != "2" || ns.ResourceVersion != "7" || !ns.DeletionTimestamp.Time.Equal(noon) || ns.Labels != nil {
		t.Errorf("it keeps %+v", ns)
	}
}

// A namespace that is gone is noted as such, and what is no namespace is passed over; without
// a client nothing is watched.
func TestNamespacesThatGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		client, watches := lab.Namespaces(t, lab.Namespace("shop", "1", noon))
		known := &terminatingNamespaces{}
		e := &namespaceWatcher{client: client, known: known, clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); e.run(ctx) }()
		lab.Within(t, watches, "watch").Delete(lab.Namespace("shop", "1", noon))
		lab.Eventually(t, "that it is gone is not noted", func() bool {
			known.mu.Lock()
			defer known.mu.Unlock()
			return !known.deleted["shop"].IsZero()
		})
		end()
		lab.Within(t, ended, "end")
		e.observe(nil, &corev1.Pod{})
		if got, err := metadataOnly("?"); got != "?" || err != nil {
			t.Errorf("what is no namespace becomes %v, %v", got, err)
		}
		(&namespaceWatcher{}).run(t.Context())
	})
}
