package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// woken is a key that was tried, and why.
type woken struct {
	key   string
	cause telemetry.Cause
}

// unblocking is an unblocker on a fake API server that serves one watch at a time.
func unblocking(t *testing.T) (u *unblocker, events chan *watch.FakeWatcher, tried chan woken, client *metadatafake.FakeMetadataClient) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client = metadatafake.NewSimpleMetadataClient(scheme)
	events, tried = make(chan *watch.FakeWatcher, 8), make(chan woken, 8)
	lists := make(chan bool, 2*maxPlaces) // No more: one that asks all the time waits here.
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		lists <- true
		return true, &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	})
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFake()
		events <- w
		return true, w, nil
	})
	u = &unblocker{client: client, logger: slog.New(slog.DiscardHandler), wake: func(key string, c telemetry.Cause) { tried <- woken{key, c} }}
	ctx, end := context.WithCancel(context.Background())
	u.run(ctx)
	t.Cleanup(func() { end(); u.wait() })
	return u, events, tried, client
}

func refusedWith(key, message string) *telemetry.Trace {
	r := decision.Round{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.CreatePods, Count: 3}}}}
	r.Outcomes = []decision.Outcome{{State: decision.Refused, Failed: 1, Failure: &decision.Failure{Code: 403, Message: message}}}
	return syncOfKey(key, r)
}

func syncOfKey(key string, rounds ...decision.Round) *telemetry.Trace {
	namespace, name, _ := strings.Cut(key, "/")
	return &telemetry.Trace{Object: telemetry.Object{Namespace: namespace, Name: name}, Rounds: rounds}
}

const overQuota = `pods "web-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`

func quotaNamed(name, rv string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", ResourceVersion: rv}}
}

// A change of the quota that refuses pods has the key tried, with that as the cause.
func TestUnblockWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, _ := unblocking(t)
		u.follow(refusedWith("shop/web-1", overQuota))
		lab.Within(t, events, "watch").Modify(quotaNamed("small", "9"))
		w := lab.Within(t, tried, "try")
		if w.key != "shop/web-1" || w.cause.Kind != telemetry.CauseModified || w.cause.Object != "ResourceQuota small" || w.cause.NewRV != "9" {
			t.Errorf("it was woken by %+v", w)
		}
	})
}

// TestWatchersUnblockNothing: a loop that writes nothing has nothing refused, and asks for no right
// to see what might end that.
func TestWatchersUnblockNothing(t *testing.T) {
	client := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	for mode, asks := range map[Mode]bool{Act: true, Watch: false} {
		l := New(Settings{Name: "web"}, nil, Options{Mode: mode, Metadata: client})
		if got := l.unblocks.client != nil; got != asks {
			t.Errorf("in mode %s it asks = %v", mode, got)
		}
	}
}

// One watch serves all keys of a namespace, and ends with the last of them; a sync that
// only waits changes nothing.
func TestUnblockSharesAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, _ := unblocking(t)
		u.follow(refusedWith("shop/web-1", overQuota))
		u.follow(refusedWith("shop/web-2", overQuota))
		first := lab.Within(t, events, "watch")
		u.follow(syncOfKey("shop/web-1", decision.Round{Verdict: decision.Verdict{Stop: true}}))
		first.Delete(quotaNamed("small", "9"))
		keys := map[string]bool{lab.Within(t, tried, "try").key: true, lab.Within(t, tried, "second try").key: true}
		if !keys["shop/web-1"] || !keys["shop/web-2"] {
			t.Errorf("tried were %v", keys)
		}
		u.follow(syncOfKey("shop/web-1", decision.Round{}))
		u.follow(refusedWith("shop/web-2", `pods "web-2" is forbidden: error looking up service account shop/nobody: serviceaccount "nobody" not found`))
		second := lab.Within(t, events, "watch of ServiceAccounts")
		stopped := make(chan bool)
		go func() {
			for range first.ResultChan() { // until it is stopped
			}
			close(stopped)
		}()
		lab.Within(t, stopped, "end of the first watch")
		second.Add(quotaNamed("nobody", "11"))
		if w := lab.Within(t, tried, "try"); w.key != "shop/web-2" || w.cause.Object != "ServiceAccount nobody" || w.cause.Kind != telemetry.CauseAdded {
			t.Errorf("it was woken by %+v", w)
		}
	})
}

// A key whose object is gone waits for nothing any more, although its last sync does not say
// so; with the last of them the watch ends.
func TestUnblockForgetsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, events, tried, client := unblocking(t)
		l := New(Settings{Name: "test"}, nil, Options{Mode: Act, Metadata: client})
		u := &l.unblocks
		u.wake = func(key string, c telemetry.Cause) { tried <- woken{key, c} }
		ctx, end := context.WithCancel(t.Context())
		u.run(ctx)
		defer func() { end(); u.wait() }()
		u.follow(refusedWith("shop/web-1", overQuota))
		u.follow(refusedWith("shop/web-2", overQuota))
		w := lab.Within(t, events, "watch")
		l.ForgetKey("shop/web-1")
		u.follow(syncOfKey("shop/web-1", decision.Round{Verdict: decision.Verdict{Stop: true}}))
		w.Modify(quotaNamed("small", "9"))
		if synctest.Wait(); len(tried) != 1 || (<-tried).key != "shop/web-2" {
			t.Error("a key that is gone is tried")
		}
		l.ForgetKey("shop/web-2")
		if len(u.keys) != 0 || len(u.places) != 0 {
			t.Errorf("keys %v wait in %d places", u.keys, len(u.places))
		}
	})
}

// Without the right to watch nothing is watched, and nothing asks again.
func TestUnblockWithoutTheRight(t *testing.T) {
	quotas := enders[diagnosis.Quota].resource.GroupResource()
	for name, answer := range map[string]error{
		"forbidden": apierrors.NewForbidden(quotas, "", nil), "not served": apierrors.NewNotFound(quotas, ""),
	} {
		synctest.Test(t, func(t *testing.T) {
			u, _, _, client := unblocking(t)
			asked := make(chan bool, 2) // No more: one that asks all the time waits here.
			client.PrependReactor("list", "resourcequotas", func(clienttesting.Action) (bool, runtime.Object, error) {
				asked <- true
				return true, nil, answer
			})
			for range 2 {
				u.follow(refusedWith("shop/web-1", overQuota))
				ended := make(chan bool)
				go func() { u.wait(); close(ended) }()
				lab.Within(t, ended, "end of what is "+name)
			}
			if n := len(client.Actions()); n != 1 {
				t.Errorf("%s: %d requests, want one", name, n)
			}
		})
	}
}

// A request that fails is sent again after a pause, and no sooner; so also where the
// credentials are not accepted, which somebody may renew.
func TestUnblockAsksAgain(t *testing.T) {
	for verb, answer := range map[string]error{"list": apierrors.NewUnauthorized("who?"), "watch": apierrors.NewInternalError(errors.New("etcd"))} {
		synctest.Test(t, func(t *testing.T) {
			u, events, _, client := unblocking(t)
			down := true
			fails := func() bool {
				failed := down
				down = false
				return failed
			}
			if verb == "list" {
				client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
					return fails(), nil, answer
				})
			} else {
				client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
					return fails(), nil, answer
				})
			}
			began := time.Now()
			u.follow(refusedWith("shop/web-1", overQuota))
			lab.Within(t, events, "watch after a "+verb+" that failed")
			if took := time.Since(began); took != watchAgain {
				t.Errorf("after a %s that failed it asks again after %s, want %s", verb, took, watchAgain)
			}
		})
	}
}

// lacking is a sync of a Deployment whose pods lack something.
func lacking(code, message string) *telemetry.Trace {
	x := syncOfKey("shop/web", decision.Round{Verdict: decision.Verdict{Held: []decision.Held{{Kind: decision.UpdateReplicaSet}}}})
	x.Diagnosis.Findings = []decision.Finding{{Code: code, Message: message, Count: 2}}
	return x
}

// What the pods of a Deployment lack has it looked at when it comes: the one that is named,
// and no other.
func TestUnblockWakesForWhatIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, message := range map[string]string{
			diagnosis.Claim:  `0/3 nodes are available: persistentvolumeclaim "data" not found`,
			diagnosis.Config: `configmap "data" not found`,
		} {
			u, events, tried, _ := unblocking(t)
			u.follow(lacking(code, message))
			w := lab.Within(t, events, "watch")
			w.Add(quotaNamed("mydata", "8"))
			w.Add(quotaNamed("data", "9"))
			if synctest.Wait(); len(tried) != 1 {
				t.Errorf("%s: %d tries at once, want the one", code, len(tried))
			}
			if got := lab.Within(t, tried, "try"); got.key != "shop/web" || got.cause.NewRV != "9" || got.cause.Kind != telemetry.CauseAdded || got.cause.Object != enders[code].kind+" data" {
				t.Errorf("%s: it was woken by %+v", code, got)
			}
			if got := u.arrived("shop/web"); !slices.Equal(got, []string{enders[code].kind + " data"}) {
				t.Errorf("%s: %q arrived", code, got)
			}
			w.Delete(quotaNamed("data", "10"))
			lab.Within(t, tried, "try")
			if got := u.arrived("shop/web"); len(got) > 0 {
				t.Errorf("%s: %q is still there", code, got)
			}
			owned := lacking(code, message)
			owned.Owner = "web"
			if l, _ := lackOf(owned); l != (lack{}) {
				t.Errorf("%s: a ReplicaSet of a Deployment looks again, too", code)
			}
		}
	})
}

// Several that come at once wake those that wait for each of them.
func TestUnblockWakesForEachOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, _ := unblocking(t)
		want := map[string]bool{}
		for _, name := range []string{"a", "b", "c"} {
			x := lacking(diagnosis.Claim, `persistentvolumeclaim "data-`+name+`" not found`)
			x.Name = "web-" + name
			u.follow(x)
			want["shop/web-"+name] = true
		}
		w := lab.Within(t, events, "watch")
		for _, name := range []string{"a", "b", "c"} {
			w.Add(quotaNamed("data-"+name, "9"))
		}
		for len(want) > 0 {
			got := lab.Within(t, tried, "try")
			if !want[got.key] || got.cause.Object != "PersistentVolumeClaim data-"+strings.TrimPrefix(got.key, "shop/web-") {
				t.Fatalf("%s was woken by %s", got.key, got.cause.Object)
			}
			delete(want, got.key)
		}
	})
}

// A node that is added, or labelled, may have room; that it says it is alive is no news.
func TestUnblockWakesForNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, _ := unblocking(t)
		u.follow(lacking(diagnosis.Node, "0/3 nodes are available: 3 Insufficient cpu"))
		w := lab.Within(t, events, "watch")
		node := func(rv, zone string) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: rv, Labels: map[string]string{"zone": zone}}}
		}
		w.Modify(node("7", "a"))
		w.Modify(node("8", "a"))
		w.Modify(node("9", "b"))
		if got := lab.Within(t, tried, "try"); got.cause.NewRV != "9" || got.cause.Object != "Node n1" {
			t.Errorf("it was woken by %+v", got)
		}
	})
}

// A node is relabelled that said nothing since the watch began: its labels were listed before,
// page by page.
func TestUnblockKnowsTheLabelsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, client := unblocking(t)
		node := func(name, rv, zone string) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: rv, Labels: map[string]string{"zone": zone}}}
		}
		pages := 0
		client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			page := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}, Items: []runtime.RawExtension{{Object: node("n1", "5", "a")}}}
			if pages++; pages == 2 {
				page.Continue, page.Items[0].Object = "", node("n2", "6", "a")
			}
			return true, page, nil
		})
		u.follow(lacking(diagnosis.Node, "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector"))
		w := lab.Within(t, events, "watch")
		w.Modify(node("n1", "8", "a"))
		for i, name := range []string{"n1", "n2"} {
			w.Modify(node(name, fmt.Sprint(9+i), "b"))
			if got := lab.Within(t, tried, "try"); got.cause.Object != "Node "+name || len(tried) != 0 {
				t.Errorf("it was woken by %+v and %d more", got.cause, len(tried))
			}
		}
	})
}

// What keeps pods is what the last round says of those that it wanted to create, or what the
// first finding of the top of a family says. A sync that waits for pods says nothing.
func TestWhatKeepsPods(t *testing.T) {
	round := func(state decision.State, f *decision.Failure) decision.Round {
		return decision.Round{
			Verdict:  decision.Verdict{Actions: []decision.Action{{Kind: decision.Adopt}, {Kind: decision.CreatePods}}},
			Outcomes: []decision.Outcome{{State: decision.Refused, Failure: &decision.Failure{Message: "no"}}, {State: state, Failure: f}},
		}
	}
	quota := &decision.Failure{Code: 403, Message: overQuota}
	held := func(kind decision.ActionKind) decision.Round {
		return decision.Round{Verdict: decision.Verdict{Held: []decision.Held{{Kind: kind}}}}
	}
	planned := round(decision.Refused, quota)
	planned.Outcomes = nil
	alone := syncOfKey("shop/web", decision.Round{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.CreatePods}}}})
	refusal := syncOfKey("shop/web", decision.Round{})
	refusal.Diagnosis.Findings = []decision.Finding{{Code: diagnosis.Quota}}
	for name, c := range map[string]struct {
		sync  *telemetry.Trace
		want  lack
		known bool
	}{
		"refused":                   {syncOfKey("shop/web", round(decision.Refused, quota)), lack{code: diagnosis.Quota}, true},
		"refused in part":           {syncOfKey("shop/web", round(decision.Partly, quota)), lack{code: diagnosis.Quota}, true},
		"refused in silence":        {syncOfKey("shop/web", round(decision.Refused, nil)), lack{}, true},
		"without a reply":           {syncOfKey("shop/web", round(decision.Unknown, quota)), lack{}, true},
		"created":                   {syncOfKey("shop/web", round(decision.Written, nil)), lack{}, true},
		"refused by a round before": {syncOfKey("shop/web", round(decision.Refused, quota), decision.Round{}), lack{}, true},
		"only watched":              {syncOfKey("shop/web", planned), lack{}, true},
		"only watched, pods alone":  {alone, lack{}, true},
		"waits for deletions":       {syncOfKey("shop/web", held(decision.DeletePods)), lack{}, false},
		"waits for creations":       {syncOfKey("shop/web", held(decision.CreatePods)), lack{}, false},
		"waits for a write":         {syncOfKey("shop/web", decision.Round{Verdict: decision.Verdict{Stop: true}}), lack{}, false},
		"decided nothing":           {syncOfKey("shop/web"), lack{}, false},
		"a finding of its pods":     {lacking(diagnosis.Config, "m"), lack{diagnosis.Config, "m"}, true},
		"a refusal elsewhere":       {refusal, lack{}, true},
	} {
		if got, known := lackOf(c.sync); got != c.want || known != c.known {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, known, c.want, c.known)
		}
	}
}

// However often what refuses pods changes, a key is tried once a second because of the last
// change; after a pause at once.
func TestUnblockWakesOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, _ := unblocking(t)
		u.follow(refusedWith("shop/web-1", overQuota))
		w := lab.Within(t, events, "watch")
		for i, c := range []struct {
			after time.Duration
			rv    string // of a change; "" for none
			woken string // by which, "" for none
		}{
			{0, "7", "7"},
			{wakeEvery / 4, "8", ""},
			{wakeEvery / 4, "9", ""},
			{wakeEvery / 2, "", "9"},
			{wakeEvery * 5 / 2, "10", "10"},
			{wakeEvery / 4, "11", ""},
			{wakeEvery * 5 / 4, "", "11"},
		} {
			time.Sleep(c.after) // Fake time.
			synctest.Wait()
			if c.rv != "" {
				w.Modify(quotaNamed("small", c.rv))
			}
			synctest.Wait()
			got := ""
			for len(tried) > 0 {
				got += (<-tried).cause.NewRV
			}
			if got != c.woken {
				t.Errorf("step %d: it was woken by %q, want %q", i, got, c.woken)
			}
		}
	})
}

// No more places are watched than that: the keys of others wait for their back-off.
func TestUnblockWatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, _, _ := unblocking(t)
		for i := range maxPlaces {
			u.follow(refusedWith(fmt.Sprint("ns-", i, "/web"), overQuota))
		}
		u.follow(refusedWith("one-more/web", overQuota))
		if _, waits := u.keys["one-more/web"]; waits || len(u.places) != maxPlaces || len(u.keys) != maxPlaces {
			t.Errorf("%d keys wait in %d places, want %d", len(u.keys), len(u.places), maxPlaces)
		}
		for range maxPlaces {
			lab.Within(t, events, "watch")
		}
		u.follow(syncOfKey("ns-0/web", decision.Round{}))
		u.follow(refusedWith("one-more/web", overQuota))
		lab.Within(t, events, "watch where there is room again")
	})
}

// What comes of a watch that nobody waits for any more, or is no object, wakes nobody.
func TestUnblockPassesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _, tried, _ := unblocking(t)
		u.follow(lacking(diagnosis.Config, `configmap "data" not found`))
		here, there := place{diagnosis.Config, "shop"}, place{diagnosis.Config, "blog"}
		added := watch.Event{Type: watch.Added, Object: quotaNamed("data", "9")}
		if u.concerns(there, added) {
			t.Error("a place where no key waits is a concern")
		}
		if u.concerns(here, watch.Event{Type: watch.Bookmark, Object: &metav1.Status{}}) {
			t.Error("what has no name is a concern")
		}
		if !sameLabels(map[string]map[string]string{}, watch.Event{Type: watch.Added, Object: &metav1.Status{}}) {
			t.Error("what has no labels has other ones")
		}
		if u.wakeAll(there, changeOf(added, "ConfigMap")); len(tried) != 0 {
			t.Error("a place where no key waits woke one")
		}
		u.leave("shop/web", there)
		if got := u.arrived("shop/web"); len(got) != 0 {
			t.Errorf("%q arrived where no key waits", got)
		}
		u.leave("shop/other", here)
		if _, waits := u.places[here].keys["shop/web"]; !waits {
			t.Error("another key that leaves takes it along")
		}
	})
}

// A watch that ends as it begins is begun again at once, and after a pause where the next one
// does so, too.
func TestUnblockPausesBetweenBriefWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, _, _ := unblocking(t)
		began := time.Now()
		u.follow(refusedWith("shop/web-1", overQuota))
		for i, want := range []time.Duration{0, 0, watchAgain, 2 * watchAgain} {
			w := lab.Within(t, events, "watch")
			if at := time.Since(began); at != want {
				t.Errorf("watch %d begins after %s, want %s", i, at, want)
			}
			w.Error(&metav1.Status{Code: 410})
		}
		w := lab.Within(t, events, "watch that lasts")
		time.Sleep(wakeEvery) // Fake time.
		began = time.Now()
		w.Stop()
		lab.Within(t, events, "watch after one that lasted")
		if took := time.Since(began); took != 0 {
			t.Errorf("after a watch that lasted it pauses for %s", took)
		}
	})
}

// A change that is seen just before the watch ends wakes its key.
func TestUnblockWakesAsAWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, _ := unblocking(t)
		u.follow(refusedWith("shop/web-1", overQuota))
		w := lab.Within(t, events, "watch")
		w.Modify(quotaNamed("small", "9"))
		lab.Within(t, tried, "try")
		w.Modify(quotaNamed("small", "10"))
		w.Stop()
		if got := lab.Within(t, tried, "try as the watch ends"); got.cause.NewRV != "10" {
			t.Errorf("it was woken by %+v", got)
		}
	})
}

// A watch that ends, or fails on its way, begins anew at once, and one that may not be had is given up.
func TestUnblockWatchesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, client := unblocking(t)
		u.follow(refusedWith("shop/web-1", overQuota))
		lab.Within(t, events, "watch").Stop()
		began := time.Now()
		second := lab.Within(t, events, "watch after one that ended")
		time.Sleep(wakeEvery) // Fake time.
		second.Error(&metav1.Status{Code: 410})
		lab.Within(t, events, "watch after one that failed").Modify(quotaNamed("of-another-name", "9"))
		if took := time.Since(began); took != wakeEvery {
			t.Errorf("that took %s, want %s: no pause", took, wakeEvery)
		}
		lab.Within(t, tried, "try")
		client.PrependWatchReactor("limitranges", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, nil, apierrors.NewForbidden(enders["limit-range"].resource.GroupResource(), "", nil)
		})
		u.follow(refusedWith("shop/web-2", `pods "web-2" is forbidden: maximum cpu usage per Container is 1, but limit is 2`))
		lab.Eventually(t, "a watch that is forbidden is not given up", func() bool {
			u.mu.Lock()
			defer u.mu.Unlock()
			_, waits := u.keys["shop/web-2"]
			return u.denied["limit-range"] && !waits && len(u.places) == 1
		})
	})
}

// A watch goes on where the one before it ended, so that no change between them is missed, and
// begins with a list where the API server no longer knows that version.
func TestUnblockGoesOnWhereAWatchEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, client := unblocking(t)
		u.follow(refusedWith("shop/web-1", overQuota))
		for _, end := range []func(*watch.FakeWatcher){
			func(w *watch.FakeWatcher) { w.Action(watch.Bookmark, quotaNamed("", "12")); w.Stop() },
			func(w *watch.FakeWatcher) { w.Error(&metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired}) },
			func(w *watch.FakeWatcher) { w.Modify(quotaNamed("small", "20")); w.Error(&metav1.Status{Code: 500}) },
			func(*watch.FakeWatcher) {},
		} {
			w := lab.Within(t, events, "watch")
			time.Sleep(wakeEvery) // Fake time.
			end(w)
		}
		var from []string
		for _, a := range client.Actions() {
			if w, ok := a.(clienttesting.WatchActionImpl); ok {
				from = append(from, w.ListOptions.ResourceVersion)
			} else {
				from = append(from, a.GetVerb())
			}
		}
		if want := []string{"list", "7", "12", "list", "7", "20"}; !slices.Equal(from, want) {
			t.Errorf("watches begin at %q, want %q", from, want)
		}
		if got := lab.Within(t, tried, "try after the second list"); got.cause.Kind != telemetry.CauseTimer || got.cause.Code != telemetry.CodeListedAgain {
			t.Errorf("it was woken by %+v, and not because something may have changed unseen", got)
		}
		if got := lab.Within(t, tried, "try"); got.cause.NewRV != "20" || len(tried) != 0 {
			t.Errorf("it was woken by %+v and %d more: a bookmark is no change", got, len(tried))
		}
	})
}

// What may have changed while nothing could be listed has every key of the place tried, also
// those that wait for an object by name. No back-off of theirs is over: they need not have failed.
func TestUnblockTriesWhatNobodyWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, events, tried, client := unblocking(t)
		down := true
		client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			failed := down
			down = false
			return failed, nil, apierrors.NewServiceUnavailable("etcd")
		})
		u.follow(lacking(diagnosis.Config, `configmap "data" not found`))
		for range 2 {
			w := lab.Within(t, events, "watch")
			if got := lab.Within(t, tried, "try"); got.key != "shop/web" || got.cause.Kind != telemetry.CauseTimer || got.cause.Code != telemetry.CodeListedAgain || len(tried) != 0 {
				t.Errorf("%s was woken by %+v, and %d more", got.key, got.cause, len(tried))
			}
			w.Error(&metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired})
		}
	})
}

// Nothing is watched without a client, before the loop runs, after it, or where nothing lacks;
// and what is watched already is watched on.
func TestUnblockWatchesWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with, _, _, _ := unblocking(t)
		with.follow(syncOfKey("shop/web", decision.Round{}))
		with.follow(refusedWith("shop/web-1", overQuota))
		first := with.places[place{diagnosis.Quota, "shop"}]
		with.follow(refusedWith("shop/web-1", overQuota))
		if len(with.keys) != 1 || first == nil || with.places[place{diagnosis.Quota, "shop"}] != first {
			t.Errorf("keys %v wait in %v", with.keys, with.places)
		}
		ctx, end := context.WithCancel(t.Context())
		without, early, late := &unblocker{}, &unblocker{client: with.client}, &unblocker{client: with.client}
		without.run(t.Context())
		late.run(ctx)
		end()
		for name, u := range map[string]*unblocker{"without a client": without, "early": early, "late": late} {
			if u.follow(refusedWith("shop/web-1", overQuota)); len(u.keys) != 0 {
				t.Errorf("%s: keys %v wait", name, u.keys)
			}
		}
	})
}

// An object is there from when it was added until it is deleted, for the keys that lack it.
func TestWhatArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _, _, _ := unblocking(t)
		u.follow(lacking(diagnosis.Config, `configmap "data" not found`))
		other := lacking(diagnosis.Config, `configmap "more" not found`)
		other.Name = "other"
		u.follow(other)
		here := place{diagnosis.Config, "shop"}
		for i, c := range []struct {
			kind watch.EventType
			name string
			want string
		}{{watch.Modified, "data", "[]"}, {watch.Added, "data", "[ConfigMap data]"}, {watch.Modified, "data", "[ConfigMap data]"}, {watch.Added, "more", "[ConfigMap data]"}, {watch.Deleted, "data", "[]"}} {
			u.concerns(here, watch.Event{Type: c.kind, Object: quotaNamed(c.name, "9")})
			if got := fmt.Sprint(u.arrived("shop/web")); got != c.want {
				t.Errorf("event %d, %s %s: arrived %s, want %s", i, c.kind, c.name, got, c.want)
			}
		}
	})
}

// Labels that changed, and nodes that come and go, are news.
func TestSameLabels(t *testing.T) {
	known := map[string]map[string]string{}
	node := func(zone string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": zone}}}
	}
	for i, c := range []struct {
		kind watch.EventType
		zone string
		want bool
	}{{watch.Modified, "a", true}, {watch.Modified, "a", true}, {watch.Modified, "b", false}, {watch.Modified, "b", true}, {watch.Added, "b", false}, {watch.Deleted, "b", false}} {
		if got := sameLabels(known, watch.Event{Type: c.kind, Object: node(c.zone)}); got != c.want {
			t.Errorf("event %d, %s in %s: %v", i, c.kind, c.zone, got)
		}
	}
}
