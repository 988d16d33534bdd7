package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
)

// stalled is a console that watches beside a controller which does not act: shop/web would be scaled, and
// api's ReplicaSet would create pods, both since a moment.
func stalled(t *testing.T, since time.Time, change func(*Options)) (*Server, func(path string) string) {
	t.Helper()
	w := newWorld(t, storyNow.Add(-time.Minute))
	web, api := plain("shop", "web"), plain("shop", "api")
	web.Sentence = decision.Sentence{Namespace: "shop", Object: "web", Tone: decision.ToneMoving, Code: "planned", Verb: "is", State: "moving", Lead: decision.Words{}.Say("the next write scales old 3 → 5")}
	web.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.Scale, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}, Size: &decision.Size{From: 3, To: 5}}}}}}
	api.Sentence.Lead = decision.Words{}.Say("5 of 5 available")
	for _, x := range []*telemetry.Trace{web, api, plain("shop", "idle")} {
		w.journal.Record(x)
	}
	due := map[telemetry.Object]telemetry.Difference{
		web.Object: {Object: web.Object, Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, Target: "web-1"},
		api.Object: {Object: telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "api-1"}, Predictable: decision.Predictable{Aspect: decision.AspectCreation, Of: "Pod"}},
	}
	s, h := w.serve(func(o *Options) {
		o.Mode = "watch"
		o.Due = func(o telemetry.Object) []telemetry.Difference {
			d, ok := due[o]
			if !ok {
				return nil
			}
			d.At, d.Manager = since, telemetry.ControllerManager
			return []telemetry.Difference{d}
		}
		if change != nil {
			change(o)
		}
	})
	return s, func(path string) string {
		_, body := get(t, h.URL, path)
		return body
	}
}

// TestOverdueIsTold: what nobody writes is waited for on every page of its object, in lists, and in metrics.
func TestOverdueIsTold(t *testing.T) {
	since := storyNow.Add(-telemetry.ShadowStalls - time.Second)
	s, page := stalled(t, since, nil)
	for path, want := range map[string]string{
		"/deployments/shop/web":  "shop/web is waiting: the next write scales old 3 → 5; that write has been due for 31s, and nobody has made it. Continues when kube-controller-manager acts: check that it runs.",
		"/deployments/shop/api":  "shop/api is waiting: as last reported, 5 of 5 available; the creation of pods for api-1 has been due for 31s, and nobody has done it. Continues when kube-controller-manager acts: check that it runs.",
		"/deployments/shop/idle": "shop/idle is settled.",
	} {
		var twin struct {
			Page struct{ Head views.Head }
		}
		if err := json.Unmarshal([]byte(page(path+".json")), &twin); err != nil || twin.Page.Head.Sentence != want {
			t.Errorf("%s: %v %q, want %q", path, err, twin.Page.Head.Sentence, want)
		}
	}
	main := parse(t, page("/deployments")).one("main")
	for _, want := range []string{"2 Deployments are waiting. The other one needs no action.", "The next write scales old 3 → 5; that write has been due for 31s", "would have scaled"} {
		if !strings.Contains(main, want) {
			t.Errorf("the list does not say %q: %s", want, main)
		}
	}
	for _, path := range []string{"/deployments?q=is:waiting", "/deployments?q=reason:overdue"} {
		if got := parse(t, page(path)).one("main"); !strings.Contains(got, "shop/api") || !strings.Contains(got, "shop/web") || strings.Contains(got, "shop/idle") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := parse(t, page("/deployments/shop/web")).one("main"); !strings.Contains(got, "; it would have scaled 1 3 → 5.") && !strings.Contains(got, "; it would have scaled 1 3 → 5 ") {
		t.Errorf("its page does not say what its last sync would have done: %s", got)
	}
	row, _ := s.src.Journal.Board().Row(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	if got, want := parse(t, page(address.Sync(row.Trace))).one("main"), "Sync 1 of shop/web would have scaled 1 3 → 5."; !strings.Contains(got, want) {
		t.Errorf("the page of its last sync does not say %q: %s", want, got)
	}
	if said, from := s.Said(row, storyNow); said.Tone != decision.ToneWaiting || said.Code != telemetry.CodeOverdue || !from.Equal(since) {
		t.Errorf("a metric has %s %s since %v", said.Tone, said.Code, from)
	}
	if !strings.Contains(page("/reasons/overdue"), "Check that kube-controller-manager runs") {
		t.Error("its code is not explained")
	}
}

// TestOverdueIsToldInTime: not before half a minute has passed, and a list follows the clock and the controller.
func TestOverdueIsToldInTime(t *testing.T) {
	now, since := storyNow, storyNow.Add(-telemetry.ShadowStalls)
	s, page := stalled(t, since, func(o *Options) { o.Now = func() time.Time { return now } })
	row, _ := s.src.Journal.Board().Row(telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"})
	if said := s.src.SaidNow(row.Trace, now); said.Tone != decision.ToneMoving || !said.ChangesAt.After(now) || said.ChangesAt.After(now.Add(time.Second)) {
		t.Errorf("at the limit it is %s until %v", said.Tone, said.ChangesAt)
	}
	older := *row.Trace
	older.Seq--
	if said := s.src.SaidNow(&older, now.Add(time.Hour)); said.Tone != decision.ToneMoving {
		t.Errorf("an older sync is %s", said.Tone)
	}
	counts := func(want string) {
		t.Helper()
		if got := parse(t, page("/deployments")).one("h1"); got != want {
			t.Errorf("at %v: %q, want %q", now, got, want)
		}
	}
	counts("All 3 Deployments need no action.")
	now = now.Add(time.Second)
	counts("2 Deployments are waiting. The other one needs no action.")
}

// TestOverdueListFollows: as soon as the controller acts, no row says otherwise, also where its newest sync was listed before that was known.
func TestOverdueListFollows(t *testing.T) {
	now, acts := storyNow, false
	_, page := stalled(t, storyNow.Add(-time.Minute), func(o *Options) {
		due := o.Due
		o.Now = func() time.Time { return now }
		o.Due = func(x telemetry.Object) []telemetry.Difference {
			if acts {
				return nil
			}
			return due(x)
		}
	})
	if got := parse(t, page("/deployments")).one("h1"); got != "2 Deployments are waiting. The other one needs no action." {
		t.Fatal(got)
	}
	acts, now = true, now.Add(time.Second)
	if got := parse(t, page("/deployments")).one("h1"); got != "All 3 Deployments need no action." {
		t.Error(got)
	}
}

// TestOverdueInAnOutage: nobody could write meanwhile, so that nothing becomes overdue.
func TestOverdueInAnOutage(t *testing.T) {
	down := func(o *Options) {
		o.Server = func() telemetry.ServerState {
			return telemetry.ServerState{Since: storyNow.Add(-50 * time.Second), Error: "refused"}
		}
	}
	_, page := stalled(t, storyNow.Add(-time.Minute), down)
	if got := parse(t, page("/deployments")).one("h1"); got != "All 3 Deployments need no action." {
		t.Error(got)
	}
}

// TestNoticeOfAStall: every page says that nobody acts, and whether the other controller does anything.
func TestNoticeOfAStall(t *testing.T) {
	at := func(ago time.Duration) time.Time { return storyNow.Add(-ago) }
	for name, c := range map[string]struct {
		stall telemetry.Stall
		want  string
	}{
		"nothing":       {telemetry.Stall{}, ""},
		"nobody acts":   {telemetry.Stall{Decisions: 8, Since: at(73 * time.Second), Manager: telemetry.ControllerManager, Wrote: at(75 * time.Second)}, "kube-controller-manager does not seem to run 8 decisions that are due have not been written, the first for 1m 13s. kube-controller-manager last wrote something 1m 15s ago: check that it runs."},
		"never seen":    {telemetry.Stall{Decisions: 1, Since: at(40 * time.Second), Manager: telemetry.ControllerManager}, "kube-controller-manager does not seem to run 1 decision that is due has not been written, for 40s. kube-controller-manager has written nothing since this process started at 03:"},
		"it does other": {telemetry.Stall{Decisions: 2, Since: at(40 * time.Second), Manager: "loopscope", Wrote: at(3 * time.Second)}, "Decisions that are due are not written 2 decisions that are due have not been written, the first for 40s. loopscope does run, as it wrote something else 3s ago: it may be behind, be refused, or decide otherwise; its log says more."},
	} {
		_, page := stalled(t, storyNow, func(o *Options) {
			o.Stall, o.Unguarded = func() telemetry.Stall { return c.stall }, false
		})
		for _, path := range []string{"/deployments", "/deployments/shop/idle", "/queues", "/shadow"} {
			body := page(path)
			if got := parse(t, body).one("#f-notice"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s, %s: the notice is %q, want %q", name, path, got, c.want)
			}
			if c.want != "" && !strings.Contains(body, `href="/shadow"`) {
				t.Errorf("%s, %s: it does not lead to what is due", name, path)
			}
		}
	}
}

// TestNoEstimateOfWhatIsOverdue: a rollout of which nobody makes the next write completes at no time.
func TestNoEstimateOfWhatIsOverdue(t *testing.T) {
	w := planWorld(t)
	for want, since := range map[bool]time.Time{true: storyNow, false: storyNow.Add(-time.Minute)} {
		found := false
		_, h := w.serve(func(o *Options) {
			o.Mode = "watch"
			o.Due = func(x telemetry.Object) []telemetry.Difference {
				return []telemetry.Difference{{Object: x, At: since, Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, Target: "x", Manager: telemetry.ControllerManager}}
			}
		})
		w.journal.Board().Each(func(r telemetry.Row) {
			if r.Trace.Loop == "deployment" {
				_, twin := get(t, h.URL, "/deployments/"+r.Trace.Key()+".json")
				found = found || strings.Contains(twin, `"estimate": {`)
			}
		})
		if found != want {
			t.Errorf("due since %v: an estimate: %t", since, found)
		}
	}
}
