package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
)

// Events go to the API server, to whoever takes them instead, and nowhere where a loop only
// watches.
func TestWhereEventsGo(t *testing.T) {
	for name, c := range map[string]struct {
		mode  Mode
		taken bool
		want  int // at the API server
	}{
		"acting":             {Act, false, 1},
		"watching":           {Watch, false, 0},
		"taken by the owner": {Act, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, own := fake.NewClientset(), record.NewFakeRecorder(1)
			sent := 0
			client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
				e := a.(clienttesting.CreateAction).GetObject().(*corev1.Event)
				if sent++; e.Source.Component != "test-controller" || e.Reason != "Created" {
					t.Errorf("%s: sent was %+v", name, e)
				}
				return true, e, nil
			})
			opts := Options{Mode: c.mode}
			if c.taken {
				opts.Events = own
			}
			l := New(Settings{Name: "test", Component: "test-controller"}, client, opts)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := l.Begin(ctx)
			l.recorder.Event(lab.Deployment("web", "1", appsv1.RecreateDeploymentStrategyType), "Normal", "Created", "m")
			synctest.Wait()
			if sent != c.want || (len(own.Events) == 1) != c.taken {
				t.Errorf("%s: %d events at the API server, %d taken", name, sent, len(own.Events))
			}
			end()
			if l.Step(ctx, 0) {
				t.Errorf("%s: there is a next step after the end", name)
			}
		})
	}
}

// waiting is a controller that waits for writes.
type waiting struct {
	script
	echoes []telemetry.EchoState
}

func (w *waiting) Pending() []telemetry.EchoState { return w.echoes }

// stock is an informer whose store shows a version.
type stock struct {
	cache.SharedIndexInformer
	rv string
}

func (s stock) GetStore() cache.Store                     { return stockStore{s.SharedIndexInformer.GetStore(), s.rv} }
func (s stock) HasSynced() bool                           { return true }
func (s stockStore) LastStoreSyncResourceVersion() string { return s.rv }

type stockStore struct {
	cache.Store
	rv string
}

// What a loop waits for is told in order, and of each cache what it has shown and what was
// handled.
func TestWaits(t *testing.T) {
	c := lab.NewCaches(fake.NewClientset())
	c.Add(t, lab.Deployment("web", "1", ""), lab.Deployment("api", "2", ""))
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Mode: Watch})
	l.Use(&waiting{echoes: []telemetry.EchoState{{Object: "ReplicaSet c"}, {Object: "ReplicaSet a"}, {Object: "ReplicaSet b"}}})
	l.Expectations().Expect("shop/z", 2)
	l.Expectations().Expect("shop/a", 0, "u")
	l.Expectations().Expect("shop/m", 1)
	lab.Check(t, l.Register("deployments", stock{c.Factory.Apps().V1().Deployments().Informer(), "42"}, cache.ResourceEventHandlerFuncs{}))
	l.Handlers()[0].OnAdd(lab.Deployment("web", "1", ""), false)
	s := l.State()
	var got []string
	for _, e := range s.Echoes {
		got = append(got, e.Object)
	}
	for _, e := range s.Expectations {
		got = append(got, fmt.Sprint(e.Key, " ", e.Creates, " ", e.Deletes, " ", e.Expires.Sub(e.Since)))
	}
	for _, x := range s.Caches {
		got = append(got, fmt.Sprint(x.Resource, " ", x.Synced, " ", *x.Objects, " at ", x.RV, ", handled ", x.Handled))
	}
	want := []string{"ReplicaSet a", "ReplicaSet b", "ReplicaSet c", "shop/a 0 1 5m0s", "shop/m 1 0 5m0s", "shop/z 2 0 5m0s", "deployments false 2 at 42, handled 1"}
	if diff := cmp.Diff(want, got); diff != "" || s.Name != "test" || s.Mode != "watch" || s.Running {
		t.Errorf("%s, %s, runs %v (-want +got):\n%s", s.Name, s.Mode, s.Running, diff)
	}
}

// A loop is synced when all of its caches are, and only then does it work.
func TestSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(lab.Deployment("web", "1", ""))
		syncs := &lab.Recording{}
		l, f := New(Settings{Name: "test"}, client, Options{Recorder: syncs}), informers.NewSharedInformerFactory(client, 0)
		l.Use(&script{})
		first, second := f.Apps().V1().Deployments().Informer(), f.Core().V1().Pods().Informer()
		lab.Check(t, l.Register("deployments", first, cache.ResourceEventHandlerFuncs{}))
		lab.Check(t, l.Register("pods", second, cache.ResourceEventHandlerFuncs{}))
		l.Enqueue("shop/web", telemetry.Cause{Kind: telemetry.CauseAdded})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, 3) }()
		done := make(chan struct{}, 2)
		go func() { first.RunWithContext(ctx); done <- struct{}{} }()
		time.Sleep(time.Minute) // Fake time.
		if l.Synced() || len(syncs.All()) > 0 || l.Phases().Workers != 0 {
			t.Errorf("with one cache of two it is synced: %v, after %d syncs of %d workers", l.Synced(), len(syncs.All()), l.Phases().Workers)
		}
		go func() { second.RunWithContext(ctx); done <- struct{}{} }()
		time.Sleep(time.Minute) // Fake time.
		if !l.Synced() || len(syncs.All()) != 1 || l.Phases().Workers != 3 || !l.Waits().Running {
			t.Errorf("with both it is synced: %v, after %d syncs of %d workers", l.Synced(), len(syncs.All()), l.Phases().Workers)
		}
		cancel()
		lab.Check(t, <-ended)
		<-done
		<-done
		if n := l.Phases().Workers; n != 0 {
			t.Errorf("%d workers after the end", n)
		}
	})
}

// An informer that has ended takes no handler and no index; an index that is there stays.
func TestInformersThatTakeNothing(t *testing.T) {
	f := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	informer := f.Core().V1().Pods().Informer()
	for range 2 {
		lab.Check(t, AddIndex(informer, ControllerUID, IndexController))
	}
	lab.Check(t, informer.GetIndexer().Add(&corev1.Pod{ObjectMeta: lab.Object("web-1", "p", "1", nil, lab.OwnedBy("ReplicaSet", "web", "r"))}))
	if found, err := informer.GetIndexer().ByIndex(ControllerUID, "r"); err != nil || len(found) != 1 {
		t.Errorf("under its controller stand %v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	informer.RunWithContext(ctx)
	if err := AddIndex(informer, "more", IndexController); err == nil || !strings.Contains(err.Error(), "add index more: ") {
		t.Errorf("an index: %v", err)
	}
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{})
	if err := l.Register("pods", informer, cache.ResourceEventHandlerFuncs{}); err == nil || !strings.Contains(err.Error(), "watch pods: ") || len(l.Handlers()) != 0 {
		t.Errorf("a handler: %v", err)
	}
}

// Of a key whose object is gone nothing is remembered.
func TestForgetKey(t *testing.T) {
	const key, uid = "shop/web", types.UID("u")
	l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Clock: testclock.NewFakeClock(lab.Noon)})
	l.Expectations().Expect(key, 1)
	l.MarkUnresolved(key)
	l.Hold(key, uid, lab.Noon)
	if l.Expectations().Outstanding(key).Creates != 1 || !l.Unresolved(key) || !l.HeldSince(key, uid).Equal(lab.Noon) {
		t.Error("it does not remember what it was told")
	}
	l.ForgetKey(key)
	if l.Expectations().Outstanding(key).Creates != 0 || l.Unresolved(key) || !l.HeldSince(key, uid).IsZero() {
		t.Error("it remembers a key that is gone")
	}
}

// What a loop is told of a namespace that ends it passes on while it runs.
func TestWatchNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, watches := lab.Namespaces(t, lab.Namespace("shop", "1", lab.Noon))
		l := New(Settings{Name: "test"}, fake.NewClientset(), Options{Metadata: client})
		l.Use(&script{})
		told := make(chan string, 1)
		l.WatchNamespaces(func(namespace string) { told <- namespace })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, 1) }()
		if name := lab.Within(t, told, "namespace that ends"); name != "shop" {
			t.Errorf("told was %s", name)
		}
		lab.Within(t, watches, "watch")
		cancel()
		lab.Check(t, <-ended)
	})
}
