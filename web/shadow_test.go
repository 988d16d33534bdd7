package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// shadowed is what a process that watches has compared.
func shadowed() telemetry.ShadowState {
	object := func(namespace, name string) telemetry.Object {
		return telemetry.Object{Loop: "deployment", Namespace: namespace, Name: name}
	}
	return telemetry.ShadowState{Syncs: 9418, Silent: 7547, Together: 212, Withdrawn: 31, Missed: 4,
		Questions: []telemetry.ShadowQuestion{
			{Question: "RR-1", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 96}},
			{Question: "RR-2", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 700, telemetry.ShadowUnexplained: 1, telemetry.ShadowOther: 1}},
			{Question: "RR-3b", Counts: map[telemetry.ShadowVerdict]uint64{telemetry.ShadowAgrees: 684, telemetry.ShadowTiming: 4, telemetry.ShadowOverdue: 1}}},
		Differences: []telemetry.Difference{
			{Verdict: telemetry.ShadowTiming, At: storyNow.Add(-time.Minute), Object: object("search", "query"), Target: "query-7b94c8d6f5", Question: "RR-3b", Predicted: "8 → 7", Observed: "8 → 6", Manager: telemetry.ControllerManager, DecidedOn: "481108", WrittenOn: "481112", Epoch: "7c41", Sync: 9, SeenIn: 10},
			{Verdict: telemetry.ShadowOther, At: storyNow.Add(-2 * time.Minute), Object: object("edge", "gateway"), Target: "gateway-6f5d8c9b74", Question: "RR-2", Predicted: "4 → 6", Observed: "4 → 8", Manager: "<script>helm", DecidedOn: "1", WrittenOn: "1", Epoch: "7c41", Sync: 8, SeenIn: 9},
			{Verdict: telemetry.ShadowUnexplained, At: storyNow.Add(-20 * time.Minute), Object: object("payments", "ledger"), Target: "ledger-59d8c7b6f4", Question: "RR-2", Predicted: "3 → 5", Observed: "3 → 4", Manager: telemetry.ControllerManager, DecidedOn: "479902", WrittenOn: "479902", Epoch: "7c41", Sync: 3, SeenIn: 4},
			{Verdict: telemetry.ShadowOverdue, At: storyNow.Add(-9 * time.Second), Object: object("jobs", "dispatcher"), Target: "dispatcher-6f7c4d9b58", Question: "RR-3b", Predicted: "4 → 5", DecidedOn: "7", Epoch: "7c41", Sync: 11}}}
}

// TestShadowCompares: what is unexplained comes first and is counted in the
// sentence; each number stands beside what it is of.
func TestShadowCompares(t *testing.T) {
	_, h := planWorld(t).serve(func(o *Options) { o.Mode, o.Shadow = "watch", shadowed })
	_, body := get(t, h.URL, "/shadow")
	d := parse(t, body)
	d.sound()
	if want := "1 of 1,486 decisions that can be compared differs from the other controller and is not explained."; d.one("h1") != want {
		t.Errorf("%q, want %q", d.one("h1"), want)
	}
	main := d.one("main")
	at := -1
	for _, want := range []string{"1,480 agree of 1,486 (99.6%)", "7,547 syncs decided none", "payments/ledger", "both decided on rv 479902, and nothing else changed", "seen in sync 4", "jobs/dispatcher", "nothing yet", "search/query", "edge/gateway", "written by <script>helm",
		"Agreement by question", "RR-3b", "99.3%", "RR-2", "99.7%", "RR-1", "100%", "It is not a view into the other controller", "4 syncs were not compared"} {
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

// TestBrowserShadow looks at it.
func TestBrowserShadow(t *testing.T) {
	t.Parallel()
	_, h := planWorld(t).serve(func(o *Options) { o.Mode, o.Shadow = "watch", shadowed })
	ctx := browser(t)
	c := listen(t, ctx)
	portray(t, ctx, h.URL+"/shadow?", "shadow-watch")
	c.none(t)
}
