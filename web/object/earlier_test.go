package object

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// TestUpToAnEarlierRun: what a page says of the syncs up to the one under the cursor is not said
// of those of a later run, and is said of that one also where the history alone has it.
func TestUpToAnEarlierRun(t *testing.T) {
	chose := func(epoch string, seq uint64) *telemetry.Trace {
		a := decision.Action{Kind: decision.DeletePods, Victims: []decision.Victim{{Name: "web-" + epoch}}}
		return &telemetry.Trace{Epoch: epoch, Seq: seq, Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{a}}}},
			Report: &decision.Report{Events: []decision.Event{{Reason: "Chose"}}}}
	}
	kept := []*telemetry.Trace{chose("new", 1), chose("new", 3)}
	for _, cursor := range []*telemetry.Trace{chose("old", 9), chose("old", 1), kept[0], kept[1], chose("new", 2), chose("new", 4)} {
		x := &subject.Subject{Kept: kept, Newest: kept[1], Cursor: cursor}
		want := "sync " + words.Digits(cursor.Seq)
		if victims, note := (*Pages)(nil).victimsOf(x); len(victims) != 1 || !strings.HasSuffix(victims[0].Own, cursor.Epoch) || !strings.Contains(note.String(), want) {
			t.Errorf("at %s of %s: %+v, %s", want, cursor.Epoch, victims, note)
		}
		if events := lastEvents(x); !strings.Contains(events[0].Text.String(), "#"+words.Digits(cursor.Seq)) {
			t.Errorf("at %s of %s: %s", want, cursor.Epoch, events[0].Text)
		}
	}
}

// TestAround: the syncs before and after a cursor that is kept no longer are those next to its number.
func TestAround(t *testing.T) {
	sync := func(seq uint64) *telemetry.Trace { return &telemetry.Trace{Epoch: "a", Seq: seq} }
	kept := []*telemetry.Trace{sync(2), sync(5)}
	for seq, want := range map[uint64][2]int{1: {0, 2}, 2: {0, 1}, 3: {1, 1}, 5: {1, 0}, 7: {2, 0}} {
		older, newer := around(&subject.Subject{Kept: kept, Newest: kept[1], Cursor: sync(seq)})
		if got := [2]int{len(older), len(newer)}; got != want {
			t.Errorf("around %d: %v, want %v", seq, got, want)
		}
	}
}
