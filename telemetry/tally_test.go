package telemetry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func TestTallyCountsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := telemetry.NewJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops})
		tally := telemetry.NewTally()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go j.Run(ctx)
		go tally.Run(ctx, j)
		for i := range 10 {
			answer := decision.Yes
			if i%3 == 0 {
				answer = decision.No
			}
			j.Record(&telemetry.Trace{Object: web, Rounds: []decision.Round{{Verdict: decision.Verdict{Path: decision.Path{{Question: "RR-2", Answer: answer}}}}},
				Report: &decision.Report{Path: decision.Path{{Question: "RR-5", Answer: decision.Yes}}}})
		}
		time.Sleep(time.Second) // The bubble's time, in which the journal wakes its readers for the last of a burst.
		synctest.Wait()
		loop := "deployment"
		if yes, no := tally.Count(loop, "RR-2", "yes"), tally.Count(loop, "RR-2", "no"); yes != 6 || no != 4 {
			t.Errorf("RR-2: %d yes and %d no, want 6 and 4", yes, no)
		}
		if set := "replicaset"; tally.Asked(loop, "no question") != 0 || tally.Count(loop, "no question", "yes") != 0 || tally.Count(set, "RR-2", "yes") != 0 || tally.Syncs(set) != 0 {
			t.Error("what was never asked was counted")
		}
		if tally.Asked(loop, "RR-5") != 10 || tally.Asked("replicaset", "RR-5") != 0 || tally.Syncs(loop) != 10 || tally.Missed() != 0 {
			t.Errorf("RR-5 was asked %d times in %d syncs, %d missed", tally.Asked(loop, "RR-5"), tally.Syncs(loop), tally.Missed())
		}
	})
}
