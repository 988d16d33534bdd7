package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// shadowed is what a process that watches has compared.
func shadowed() telemetry.ShadowState {
	object := func(namespace, name string) telemetry.Object {
		return telemetry.Object{Loop: "deployment", Namespace: namespace, Name: name}
	}
	size := decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}
	question := func(id string, counts map[telemetry.ShadowVerdict]uint64) telemetry.ShadowQuestion {
		return telemetry.ShadowQuestion{Loop: "deployment", Predictable: size, Question: id, Counts: counts}
	}
	event, pod := decision.Predictable{Aspect: decision.AspectEvent, Of: "Deployment"}, decision.Predictable{Aspect: decision.AspectDeletion, Of: "Pod"}
	return telemetry.ShadowState{Syncs: 9418, Silent: 7547, Together: 212, Missed: 4, LeftOut: 2, Events: telemetry.ShadowEvents{Followed: true, Told: 1024, Untold: 87},
		Questions: []telemetry.ShadowQuestion{
			question("RR-1", map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 96}),
			question("RR-2", map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 600, telemetry.ShadowBehind: 100, telemetry.ShadowUnexplained: 1, telemetry.ShadowOther: 1}),
			question("RR-3b", map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 684, telemetry.ShadowDeparture: 5, telemetry.ShadowOverdue: 1}),
			{Loop: "deployment", Predictable: event, Question: "RR-2", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 120, telemetry.ShadowUnexplained: 1}},
			{Loop: "replicaset", Predictable: pod, Question: "RS-8.rank", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 50, telemetry.ShadowUnsigned: 1}}},
		Differences: []telemetry.Difference{
			{Verdict: telemetry.ShadowDeparture, Predictable: size, Departure: 5, At: storyNow.Add(-3 * time.Minute), Object: object("search", "index"), Target: "index-5c4d", Question: "RR-3b", Predicted: "none", Observed: "7 → 0", Manager: telemetry.ControllerManager, WrittenOn: "8", Epoch: "7c41", SeenIn: 8},
			{Verdict: telemetry.ShadowOther, Predictable: size, At: storyNow.Add(-2 * time.Minute), Object: object("edge", "gateway"), Target: "gateway-6f5d8c9b74", Question: "RR-2", Predicted: "4 → 6", Observed: "4 → 8", Manager: "<script>helm", WrittenOn: "1", Epoch: "7c41", SeenIn: 9},
			{Verdict: telemetry.ShadowUnexplained, Predictable: size, At: storyNow.Add(-20 * time.Minute), Object: object("payments", "ledger"), Target: "ledger-59d8c7b6f4", Question: "RR-2", Predicted: "3 → 5", Observed: "3 → 4", Manager: telemetry.ControllerManager, WrittenOn: "479902", Epoch: "7c41", SeenIn: 4},
			{Verdict: telemetry.ShadowOverdue, Predictable: size, At: storyNow.Add(-9 * time.Second), Object: object("jobs", "dispatcher"), Target: "dispatcher-6f7c4d9b58", Question: "RR-3b", Predicted: "4 → 5", Epoch: "7c41", Sync: 11},
			{Verdict: telemetry.ShadowUnexplained, Predictable: event, At: storyNow.Add(-30 * time.Minute), Object: object("payments", "ledger"), Target: "ledger", Question: "RR-2", Predicted: "Normal ScalingReplicaSet: Scaled up replica set ledger-59d8c7b6f4 from 3 to 5", Observed: "Normal ScalingReplicaSet: Scaled up replica set ledger-59d8c7b6f4 to 5", Manager: "deployment-controller", Epoch: "7c41", SeenIn: 4},
			{Verdict: telemetry.ShadowUnsigned, Predictable: pod, At: storyNow.Add(-40 * time.Minute), Object: telemetry.Object{Loop: "replicaset", Namespace: "payments", Name: "ledger-59d8c7b6f4"}, Target: "ledger-59d8c7b6f4-x2x9p", Question: "RS-8.size", Predicted: "none", Observed: "ledger-59d8c7b6f4-x2x9p", WrittenOn: "479950", Epoch: "7c41", SeenIn: 5}}}
}

// agreed is a comparison in which no decision came out otherwise.
func agreed() telemetry.ShadowState {
	count := func(aspect decision.Aspect, of, question string, n uint64) telemetry.ShadowQuestion {
		return telemetry.ShadowQuestion{Loop: "deployment", Predictable: decision.Predictable{Aspect: aspect, Of: of}, Question: question, Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: n}}
	}
	return telemetry.ShadowState{Syncs: 940, Silent: 754, Events: telemetry.ShadowEvents{Followed: true, Told: 61},
		Questions: []telemetry.ShadowQuestion{count(decision.AspectSize, "ReplicaSet", "RR-1", 96), count(decision.AspectEvent, "Deployment", "RR-1", 61)}}
}

// TestShadowCompares: what is unexplained comes first and is counted in the
// sentence; each number stands beside what it is of.
func TestShadowCompares(t *testing.T) {
	_, h := planWorld(t).serve(func(o *Options) { o.Mode, o.Shadow = "watch", shadowed })
	_, body := get(t, h.URL, "/shadow")
	d := parse(t, body)
	d.sound()
	if want := "2 of 1,658 decisions that can be compared differ from the other controller and are not explained."; d.one("h1") != want {
		t.Errorf("%q, want %q", d.one("h1"), want)
	}
	main := d.one("main")
	at := -1
	for _, want := range []string{"1,655 of 1,658 agree (99.8%). 5 of them agree with a rule of Kubernetes from which the loops here depart on purpose.", "7,547 syncs decided nothing", "payments/ledger", "size of a ReplicaSet", "written on rv 479902", "seen in sync 4", "event about a Deployment", "Scaled up replica set ledger-59d8c7b6f4 to 5", "published by deployment-controller", "jobs/dispatcher", "nothing yet", "search/index", "entry 5 of the register", "not called for, and nothing says who did it", "edge/gateway", "written by <script>helm",
		"Agreement by kind", "Deployment", "size of a ReplicaSet", "99.9%", "5 different on purpose", "100 agree on an earlier version", "ReplicaSet", "deletion of a Pod", "100%",
		"Deployment, nothing to compare so far: creation of a ReplicaSet, deletion of a ReplicaSet,", "ReplicationController, nothing to compare so far: creation of a Pod",
		"Agreement by question", "RR-2", "99.8%", "1 another writer", "RR-3b", "99.9%", "RR-1", "100%", "1 unsigned", "It is not a view into the other controller", "no event was seen for 87 of the 1,024", "2 writes and events were left out", "4 syncs were not compared"} {
		next := strings.Index(main[at+1:], want)
		if next < 0 {
			t.Fatalf("%q is missing after what should be before it:\n%s", want, main)
		}
		at += 1 + next
	}
	res, twin := get(t, h.URL, "/shadow.json")
	if res.StatusCode != http.StatusOK || !strings.Contains(twin, `"compares": true`) || !strings.Contains(twin, `"word": "unexplained"`) {
		t.Errorf("twin: %s\n%.400s", res.Status, twin)
	}
	_, h = planWorld(t).serve(func(o *Options) {
		o.Mode, o.Shadow = "watch", func() telemetry.ShadowState { return telemetry.ShadowState{} }
	})
	if _, body = get(t, h.URL, "/shadow"); !strings.Contains(body, "Nothing could be compared yet.") || !strings.Contains(body, "No differences so far.") {
		t.Error("a new process does not say that nothing is compared")
	}
}

// TestShadowAgrees: where all is well, the page says so, and does not count nothing.
func TestShadowAgrees(t *testing.T) {
	_, h := planWorld(t).serve(func(o *Options) { o.Mode, o.Shadow = "watch", agreed })
	_, body := get(t, h.URL, "/shadow")
	d := parse(t, body)
	if want := "All 157 decisions of the other controller that can be compared agree with Kubernetes' rules."; d.one("h1") != want {
		t.Errorf("%q, want %q", d.one("h1"), want)
	}
	for _, want := range []string{"No differences so far.", "so far, an event was seen for each creation, deletion and new size that agrees.", "so far, that was enough for all writes and events."} {
		if !strings.Contains(d.one("main"), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestShadowInAnOutage: a comparison is as of when the API server last served.
func TestShadowInAnOutage(t *testing.T) {
	_, h := planWorld(t).serve(func(o *Options) { o.Mode, o.Shadow, o.Server = "watch", shadowed, down })
	_, body := get(t, h.URL, "/shadow")
	if got := parse(t, body).one("#as-of"); got != sinceThen {
		t.Errorf("the page says %q, want %q", got, sinceThen)
	}
}

// TestBrowserShadow looks at it.
func TestBrowserShadow(t *testing.T) {
	t.Parallel()
	_, h := planWorld(t).serve(func(o *Options) { o.Mode, o.Shadow = "watch", shadowed })
	ctx := browser(t)
	c := listen(t, ctx)
	portray(t, ctx, h.URL+"/shadow?", "shadow-watch")
	c.none(t)
}
