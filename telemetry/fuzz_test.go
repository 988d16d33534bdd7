package telemetry_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// FuzzTrace proves that whatever reads as a trace is written as one that reads
// the same: what a program keeps of our traces, it can give back.
func FuzzTrace(f *testing.F) {
	at := time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)
	for _, trace := range []telemetry.Trace{
		{},
		{Version: telemetry.TraceVersion, Epoch: "7c41", Seq: 7, Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"},
			Causes: []telemetry.Cause{{Kind: telemetry.CauseAdded}}, Queued: at, Started: at, Ended: at.Add(time.Millisecond),
			Rounds: []decision.Round{{Verdict: decision.Verdict{
				Path:    decision.Path{{Question: "RR-3.may-go", Answer: decision.No, Holds: true, Facts: []decision.Fact{decision.Count("mayGo", 0), decision.Instant("at", at)}}},
				Actions: []decision.Action{{Kind: decision.UpdateReplicaSet, Question: "RR-2.size", Size: &decision.Size{From: 3, To: 5}}}}}},
			Report: &decision.Report{Publish: true, Timers: []decision.Timer{{At: at, Code: "deadline"}}}, Result: telemetry.ResultWrote,
			Sentence: decision.Sentence{Object: "web", Tone: decision.ToneWaiting, Lead: decision.Words{}.Count("new", 3).Until(at)},
			Snapshot: telemetry.SnapshotText(json.RawMessage(`{"v":1}`))},
	} {
		data, err := json.Marshal(trace)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var trace, again telemetry.Trace
		if json.Unmarshal(data, &trace) != nil {
			return
		}
		written, err := json.Marshal(&trace)
		if err != nil {
			return // A year beyond 9999 reads, but has no text.
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("does not read what it wrote: %v\n%s", err, written)
		}
		rewritten, err := json.Marshal(&again)
		if err != nil || !bytes.Equal(written, rewritten) {
			t.Fatalf("changes on its way (%v):\n%s\n%s", err, written, rewritten)
		}
		trace.Sentence.At(trace.Ended)
		trace.Path()
	})
}
