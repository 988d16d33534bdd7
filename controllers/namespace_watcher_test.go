package controllers

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// namespaceNamed is a namespace; ending is when it was deleted, zero if it was not.
func namespaceNamed(name, uid string, ending time.Time) *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Labels: map[string]string{"team": "red"}},
	}
	if !ending.IsZero() {
		ns.DeletionTimestamp = &metav1.Time{Time: ending}
	}
	return ns
}

// namespacesOf is an API server with these namespaces, and the watches that it serves: what
// a tracker is told between a list and its watch, nobody would see.
func namespacesOf(t *testing.T, list ...runtime.Object) (client *metadatafake.FakeMetadataClient, watches chan *watch.FakeWatcher) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client, watches = metadatafake.NewSimpleMetadataClient(scheme, list...), make(chan *watch.FakeWatcher, 8)
	client.PrependWatchReactor("namespaces", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFake()
		watches <- w
		return true, w, nil
	})
	return client, watches
}

// What ends is told once, with the API server's own time; what is gone is remembered for
// a while, and what was recreated lives.
func TestNamespaceEndingsAreSeen(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	client, watches := namespacesOf(t, namespaceNamed("blog", "1", noon), namespaceNamed("shop", "2", time.Time{}))
	known, told := &terminatingNamespaces{}, make(chan string, 8)
	known.subscribe(func(name string) { told <- name })
	e := &namespaceWatcher{client: client, known: known, clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); e.run(ctx) }()
	if name := within(t, told, "namespace that ends from the start"); name != "blog" {
		t.Errorf("told was %s", name)
	}
	events := within(t, watches, "watch")
	events.Modify(namespaceNamed("shop", "2", noon.Add(time.Minute)))
	if name := within(t, told, "namespace that ends"); name != "shop" {
		t.Errorf("told was %s", name)
	}
	if at := known.since("shop", noon); !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("it ends since %s", at)
	}
	events.Modify(namespaceNamed("shop", "3", time.Time{})) // Of its end nothing was seen.
	eventually(t, "a namespace recreated still ends", func() bool { return known.since("shop", noon).IsZero() })
	if at := known.since("blog", noon); at.IsZero() {
		t.Error("another one is forgotten with it")
	}
	end()
	within(t, ended, "end")
}

func eventually(t *testing.T, failure string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(failure)
		}
	}
}

// Without the right to watch namespaces it says so once and asks no more.
func TestNamespacesWithoutTheRight(t *testing.T) {
	for name, answer := range map[string]error{
		"forbidden": apierrors.NewForbidden(namespaceResource.GroupResource(), "", nil), "not known": apierrors.NewUnauthorized("who?"), "not served": apierrors.NewNotFound(namespaceResource.GroupResource(), ""),
	} {
		client, _ := namespacesOf(t)
		client.PrependReactor("list", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, answer })
		var log bytes.Buffer
		e := &namespaceWatcher{client: client, known: &terminatingNamespaces{}, clock: clock.RealClock{}, logger: slog.New(slog.NewTextHandler(&log, nil))}
		ended := make(chan struct{})
		go func() { defer close(ended); e.run(t.Context()) }()
		within(t, ended, "end of what is "+name)
		if n := strings.Count(log.String(), "Namespaces are not watched"); n != 1 {
			t.Errorf("%s: it is said %d times:\n%s", name, n, log.String())
		}
		if n := len(client.Actions()); n != 1 {
			t.Errorf("%s: %d requests, want one", name, n)
		}
	}
}

// An informer that has ended takes nothing any more, which is no secret.
func TestNamespacesOfAnInformerThatEnded(t *testing.T) {
	client, _ := namespacesOf(t)
	informer := metadatainformer.NewFilteredMetadataInformer(client, namespaceResource, "", 0, cache.Indexers{}, nil).Informer()
	ctx, end := context.WithCancel(t.Context())
	end()
	informer.RunWithContext(ctx)
	if err := (&namespaceWatcher{}).prepare(informer, end); err == nil {
		t.Error("it takes a handler")
	}
}

func TestBareNamespaces(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	got, err := metadataOnly(namespaceNamed("shop", "2", noon))
	if err != nil {
		t.Fatal(err)
	}
	ns := got.(*metav1.PartialObjectMetadata)
	if ns.Name != "shop" || ns.UID != "2" || !ns.DeletionTimestamp.Time.Equal(noon) || ns.Labels != nil {
		t.Errorf("it keeps %+v", ns)
	}
}

// A Deployment of which nothing changes and nothing is refused says that its namespace is
// being deleted.
func TestNamespaceEndWakesDeployments(t *testing.T) {
	d := deploymentNamed("web", "d", appsv1.RollingUpdateDeploymentStrategyType)
	d.Spec.Replicas = new(int32)
	client := fake.NewClientset(d)
	names, watches := namespacesOf(t, namespaceNamed("shop", "1", time.Time{}))
	seen := &recording{}
	f := informers.NewSharedInformerFactory(client, 0)
	ctx, end := context.WithCancel(t.Context())
	loop := construct(t, ctx, client, f, Options{Mode: Watch, Metadata: names, Recorder: seen})[0]
	ended := make(chan error, 1)
	f.Start(ctx.Done())
	go func() { ended <- loop.Run(ctx, 1) }()
	said := func() string {
		if all := seen.all(); len(all) > 0 {
			return all[len(all)-1].Sentence.Code
		}
		return ""
	}
	eventually(t, "the Deployment is never synced", func() bool { return said() != "" })
	if code := said(); code == "namespace-terminating" {
		t.Error("its namespace ends already")
	}
	within(t, watches, "watch of namespaces").Modify(namespaceNamed("shop", "1", time.Now()))
	eventually(t, "the Deployment never says that its namespace ends", func() bool { return said() == "namespace-terminating" })
	end()
	if err := within(t, ended, "end of the loop"); err != nil {
		t.Error(err)
	}
	f.Shutdown()
}

// A pod that goes with its namespace wakes its Deployment, which tells who outlives it.
func TestPodsGoWithTheirNamespace(t *testing.T) {
	caches := newCaches(t)
	caches.add(t, deploymentNamed("web", "d", appsv1.RollingUpdateDeploymentStrategyType),
		&appsv1.ReplicaSet{ObjectMeta: object("web-1", "r", "1", nil, ownedBy("Deployment", "web", "d"))})
	loop := caches.deployments
	gone := &corev1.Pod{ObjectMeta: object("gone", "g", "1", nil, ownedBy("ReplicaSet", "web-1", "r"))}
	loop.podHandler().OnDelete(gone)
	if keys := queued(loop.Loop); len(keys) > 0 {
		t.Errorf("while its namespace lives, %v is woken", keys)
	}
	loop.opts.Ledger.namespaces.note("shop", time.Now()) // Nobody is told yet.
	loop.podHandler().OnDelete(gone)
	if keys := queued(loop.Loop); !slices.Equal(keys, []string{"shop/web"}) {
		t.Errorf("when its namespace ends, %v is woken", keys)
	}
}

// A namespace that is gone is noted as such, and what is no namespace is passed over; without
// a client nothing is watched.
func TestNamespacesThatGo(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	client, watches := namespacesOf(t, namespaceNamed("shop", "1", noon))
	known := &terminatingNamespaces{}
	e := &namespaceWatcher{client: client, known: known, clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); e.run(ctx) }()
	within(t, watches, "watch").Delete(namespaceNamed("shop", "1", noon))
	eventually(t, "that it is gone is not noted", func() bool {
		known.mu.Lock()
		defer known.mu.Unlock()
		return !known.deleted["shop"].IsZero()
	})
	end()
	within(t, ended, "end")
	e.observe(nil, &corev1.Pod{})
	if got, err := metadataOnly("?"); got != "?" || err != nil {
		t.Errorf("what is no namespace becomes %v, %v", got, err)
	}
	(&namespaceWatcher{}).run(t.Context())
}
