package object

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/timeline"
)

// TestBursts lists syncs by what they came to together.
func TestBursts(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 13, 4, 0, time.UTC)
	sync := func(after time.Duration, size *decision.Size) *telemetry.Trace {
		at = at.Add(after)
		x := &telemetry.Trace{Seq: uint64(at.Unix()), Started: at, Ended: at.Add(5 * time.Millisecond), Result: telemetry.ResultUnchanged}
		if size != nil {
			a := decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-abc"}, Size: size}
			x.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{a}}, Outcomes: []decision.Outcome{{State: decision.Written}}}}
			x.Result = telemetry.ResultWrote
		}
		return x
	}
	kept := []*telemetry.Trace{
		sync(0, &decision.Size{From: 4, To: 3}), sync(time.Second, nil), sync(time.Second, &decision.Size{From: 3, To: 1}),
		sync(20*time.Second, nil), sync(time.Minute, nil),
	}
	bursts := timeline.Bursts(kept)
	if len(bursts) != 3 || len(bursts[0]) != 3 || burstDid(bursts[0]) != "scaled abc 4 → 1" {
		t.Fatalf("%d bursts, the first of %d: %s", len(bursts), len(bursts[0]), burstDid(bursts[0]))
	}
	for range 40 {
		kept = append(kept, sync(time.Second, nil))
	}
	if n := len(timeline.Bursts(kept)); n < 5 {
		t.Errorf("forty seconds of syncs are %d bursts", n)
	}
	x := &subject.Subject{Cursor: kept[0]}
	row := burstRow(x, bursts[1])
	foldRow(&row, burstRow(x, bursts[2]))
	if row.Quiet != 2 || row.Syncs != 2 || row.Did.Word != "nothing to write, 2 times" {
		t.Errorf("two quiet bursts are %+v", row)
	}
}

// TestBurstsOfAWatcher: what nobody wrote is told as long as it is the same.
func TestBurstsOfAWatcher(t *testing.T) {
	burst := func(seq uint64, to int64) []*telemetry.Trace {
		a := decision.Action{Kind: decision.UpdateReplicaSet, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-abc"}, Size: &decision.Size{From: 3, To: to}}
		return []*telemetry.Trace{{Seq: seq, Result: telemetry.ResultUnchanged, Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{a}}}}}}
	}
	x := &subject.Subject{Cursor: burst(9, 5)[0]}
	row := burstRow(x, burst(3, 5))
	if row.Did.Word != "would write" || row.Detail != "would have scaled abc 3 → 5" {
		t.Errorf("one is %+v", row)
	}
	if foldRow(&row, burstRow(x, burst(2, 5))); row.Did.Word != "wrote nothing, 2 times" || row.Detail != "would have scaled abc 3 → 5" {
		t.Errorf("two alike are %+v", row)
	}
	if foldRow(&row, burstRow(x, burst(1, 4))); row.Did.Word != "wrote nothing, 3 times" || row.Detail != "" {
		t.Errorf("with another one they are %+v", row)
	}
}

// TestOlderTimers: a timer of a sync before the newest runs on until one fires,
// and the page says that it is the one that wakes the loop.
func TestOlderTimers(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 13, 4, 0, time.UTC)
	timer := func(code string, after time.Duration) decision.Timer {
		return decision.Timer{Code: code, At: now.Add(after)}
	}
	sync := func(seq uint64, timers []decision.Timer, causes ...telemetry.Cause) *telemetry.Trace {
		return &telemetry.Trace{Seq: seq, Started: now.Add(time.Duration(seq)*time.Second - time.Minute), Timers: timers, Causes: causes}
	}
	rings := telemetry.Cause{Kind: telemetry.CauseTimer, Code: "min-ready", Due: now.Add(-2 * time.Minute)}
	kept := []*telemetry.Trace{
		sync(1, []decision.Timer{timer("echo", 5*time.Second)}),
		sync(2, []decision.Timer{timer("deadline", 31*time.Second)}, rings),
		sync(3, []decision.Timer{timer("status", -time.Second), timer("deadline", 31*time.Second)}),
		sync(4, []decision.Timer{timer("deadline", 5*time.Minute)}),
	}
	x := &subject.Subject{Kept: kept, Newest: kept[3], Cursor: kept[3], OnList: true}
	got := looksNow(x, now)
	if len(got) != 2 || !got[0].At.Equal(now.Add(31*time.Second)) || !strings.Contains(got[0].Why.String(), "An older timer, of sync 3: the queue keeps the earlier of two.") {
		t.Errorf("it looks again at %+v", got)
	}
	kept[3].Timers = nil
	if got = looksNow(x, now); len(got) != 1 || got[0].Leftover {
		t.Errorf("of a sync that did not come to its end, it looks again at %+v", got)
	}
	kept[3].Report = &decision.Report{}
	if got = looksNow(x, now); len(got) != 1 || !got[0].Leftover || !strings.Contains(got[0].Why.String(), ": an older timer, left over from sync 3, which will find nothing to do.") {
		t.Errorf("where nothing is looked at any more, it looks again at %+v", got)
	}
	kept[3].Timers, kept[3].Causes = []decision.Timer{timer("deadline", 5*time.Minute)}, []telemetry.Cause{rings}
	if got = looksNow(x, now); len(got) != 1 || !got[0].At.Equal(now.Add(5*time.Minute)) {
		t.Errorf("after a ring it looks again at %+v", got)
	}
}
