package web

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A page of a process that only watches says who writes, and which of its own decisions says why.
func TestWhoWritesWhereThisWatches(t *testing.T) {
	w := newWorld(t, time.Now().Add(-time.Minute))
	decided := plain("shop", "web")
	decided.Rounds = []decision.Round{{
		Verdict: decision.Verdict{Path: decision.Path{{Question: "RR-2", Answer: "2"}}, Actions: []decision.Action{{
			Kind: decision.Scale, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", RV: "7"}, Question: "RR-2", Size: &decision.Size{From: 1, To: 2},
		}}},
		Outcomes: []decision.Outcome{{State: decision.NotTried}},
	}}
	seen := plain("shop", "web")
	seen.Causes = []telemetry.Cause{
		{Kind: telemetry.CauseModified, At: time.Now(), Object: "Deployment web", NewRV: "9", Manager: "kubectl", Fields: []decision.Change{{Field: "spec.replicas", From: "1", To: "9"}}},
		{Kind: telemetry.CauseModified, At: time.Now(), Object: "ReplicaSet web-1", NewRV: "8", Manager: telemetry.ControllerManager,
			Fields: []decision.Change{{Field: "spec.replicas", From: "1", To: "2"}, {Field: "metadata.annotations[a]"}}},
	}
	early := plain("shop", "early")
	early.Causes = []telemetry.Cause{{Kind: telemetry.CauseModified, At: time.Now(), Object: "ReplicaSet early-1", NewRV: "8", Manager: telemetry.ControllerManager, Fields: []decision.Change{{Field: "spec.replicas", From: "1", To: "2"}}}}
	for _, t := range []*telemetry.Trace{decided, seen, early} {
		w.journal.Record(t)
	}
	w.pump()
	_, h := w.serve(func(o *Options) { o.Mode = "watch" })
	_, body := get(t, h.URL, "/deployments/shop/web")
	side := parse(t, body).one("#f-side")
	for _, want := range []string{"Who writes this process only watches", "ReplicaSet web-1 was changed by kube-controller-manager: spec.replicas 1 → 2 and 1 more field",
		"Sync 1 here had decided the same, by RR-2."} {
		if !strings.Contains(side, want) {
			t.Errorf("it does not say %q: %s", want, side)
		}
	}
	if who, _, _ := strings.Cut(side[strings.Index(side, "Who writes"):], "Next scheduled"); strings.Contains(who, "kubectl") {
		t.Errorf("it takes a user for a controller: %s", who)
	}
	_, body = get(t, h.URL, "/deployments/shop/early")
	if side, want := parse(t, body).one("#f-side"), "It was written before a sync here could decide it: the comparison tells whether the rules say so."; !strings.Contains(side, want) {
		t.Errorf("it does not say %q: %s", want, side)
	}
}
