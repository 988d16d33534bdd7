package syncs

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/source"
)

// TestWhatASyncDid: the page's line and the headline of the sync are sentences.
func TestWhatASyncDid(t *testing.T) {
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: decision.Loops{{Name: "replicaset", Kind: "ReplicaSet"}}, Epoch: "7c41"})
	s, at := NewTeller(source.New(source.Options{Journal: j}, nil)), time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	wrote := func(causes ...telemetry.Cause) *telemetry.Trace {
		return &telemetry.Trace{Epoch: "7c41", Seq: 5, Object: telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web"}, Started: at, Result: telemetry.ResultWrote, Causes: causes,
			Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Kind: decision.Release, Target: decision.Ref{Kind: "Pod", Name: "web-v827s"}}, {Kind: decision.CreatePods, Count: 500}}},
				Outcomes: []decision.Outcome{{State: decision.Written}, {State: decision.Written, Done: 500}}}},
			Report: &decision.Report{Outcome: &decision.Outcome{State: decision.Written}}}
	}
	did := "released pod web-v827s, created 500 pods and updated the status."
	timer := telemetry.Cause{Kind: telemetry.CauseTimer, Code: "echo"}
	for _, c := range []struct {
		causes []telemetry.Cause
		by     string
	}{
		{[]telemetry.Cause{{Kind: telemetry.CauseBackoff, Code: "failed"}, timer}, "the end of its back-off and 1 more cause"},
		{[]telemetry.Cause{{Kind: telemetry.CauseBackoff, Code: telemetry.CodeAnswersAgain}}, "the API server serves again"},
		{[]telemetry.Cause{{Kind: telemetry.CauseLead, Code: telemetry.CodeFirstLeader}}, "this process becoming the leader, the first since it started"},
		{[]telemetry.Cause{timer}, "timer: echo check"},
	} {
		x := wrote(c.causes...)
		if got, want := s.LastKnownLine(x).String(), "Last synced at 2026-11-21 03:00:00 UTC (sync 5), triggered by "+c.by+"; it "+did; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := s.Headline(x).String(), "Sync 5 of shop/web "+did; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
