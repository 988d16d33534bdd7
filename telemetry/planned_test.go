package telemetry

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestPlanned: what a sync decided and nobody tried is what it would have written.
func TestPlanned(t *testing.T) {
	sync := func(change func(*Trace)) *Trace {
		x := &Trace{Object: object("web"), Result: ResultUnchanged, Rounds: []decision.Round{{}, {Verdict: decision.Verdict{Actions: []decision.Action{
			{Kind: decision.Scale, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}, Size: &decision.Size{From: 3, To: 5}, Changes: []decision.Change{{Field: "spec.replicas", From: "3", To: "5"}}},
			{Kind: decision.CreatePods, Count: 2}, {Kind: decision.DeletePods, Victims: []decision.Victim{{Name: "a"}}}}}}},
			Report: &decision.Report{Publish: true, Changes: []decision.Change{{Field: "status.replicas", From: "3", To: "5"}}}}
		change(x)
		return x
	}
	tell := func(x *Trace) string {
		hit := x.Hit(ClassQuiet)
		b := Beat{Kind: BeatSync, Object: "Deployment web", Sync: &hit, Planned: x.Planned(TestLoops)}
		return b.Tell().At(time.Time{})
	}
	const acts = "Deployment web: would have scaled ReplicaSet web-1: spec.replicas 3 → 5; would have created 2 Pods; would have deleted 1 Pod"
	for name, c := range map[string]struct {
		change func(*Trace)
		want   string
	}{
		"all of it":        {func(*Trace) {}, acts + "; would have published its status: status.replicas 3 → 5"},
		"a status later":   {func(x *Trace) { x.Report.Publish, x.Report.Hold = false, true }, acts},
		"a status sent":    {func(x *Trace) { x.Report.Outcome = &decision.Outcome{State: decision.Written} }, acts},
		"a status alone":   {func(x *Trace) { x.Rounds = x.Rounds[:1] }, "Deployment web: would have published its status: status.replicas 3 → 5"},
		"tried":            {func(x *Trace) { x.Rounds[1].Outcomes, x.Report = make([]decision.Outcome, 3), nil }, "Deployment web: nothing to write"},
		"failed":           {func(x *Trace) { x.Failure = &decision.Failure{Message: "no"} }, "Deployment web: no"},
		"waiting":          {func(x *Trace) { x.Result = ResultWaiting }, "Deployment web: nothing to write"},
		"never decided":    {func(x *Trace) { x.Rounds = nil }, "Deployment web: nothing to write"},
		"of a comparison":  {func(x *Trace) { x.Object = Disagreement(x.Object) }, "Deployment web: nothing to write"},
		"stopped in front": {func(x *Trace) { x.Report = nil }, acts},
	} {
		x := sync(c.change)
		if got := tell(x); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if x.Plans() != (len(x.Planned(TestLoops)) > 0) {
			t.Errorf("%s: plans: %t", name, x.Plans())
		}
	}
	hit := sync(func(*Trace) {}).Hit(ClassQuiet)
	if b := (Beat{Kind: BeatSync, Object: "Deployment web", Sync: &hit}); b.Tell().At(time.Time{}) != "Deployment web: would have written" {
		t.Errorf("of which only a line is known: %q", b.Tell().At(time.Time{}))
	}
}
