package otlp

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// BenchmarkExport is what one sync of 25 questions and two writes costs the
// reader and the exporter together, over http to a receiver that takes everything.
func BenchmarkExport(b *testing.B) {
	receiver(b, func(http.ResponseWriter, *http.Request) {})
	r := newRig(b, 1<<16)
	ready := time.Date(2026, 11, 21, 3, 2, 24, 0, time.UTC)
	var path decision.Path
	for i := range 25 {
		path.Ask(fmt.Sprintf("RR-%d", i), i%2 == 0, decision.Count("total", 12), decision.Count("ceiling", 13), decision.Text("replicaSet", "web-7d4b9c6f5x"))
	}
	scale := decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "web-7d4b9c6f5x", RV: "99"}}
	b.ReportAllocs()
	for b.Loop() {
		r.exporter.export(&telemetry.Trace{
			Epoch: "7c41", Seq: 1, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"},
			Started: ready, Ended: ready.Add(20 * time.Millisecond), Result: telemetry.ResultWrote,
			Causes: []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "Deployment web", NewRV: "98", At: ready}},
			Rounds: []decision.Round{{
				Verdict:  decision.Verdict{Path: path, Actions: []decision.Action{scale}},
				Outcomes: []decision.Outcome{{State: decision.Written, RV: "101", Took: 5 * time.Millisecond}},
			}},
			Report: &decision.Report{Outcome: &decision.Outcome{State: decision.Written, RV: "102", Took: 4 * time.Millisecond}},
		})
	}
	if _, err := r.stop(time.Minute); err != nil {
		b.Fatal(err)
	}
}
