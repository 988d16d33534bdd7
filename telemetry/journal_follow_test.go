package telemetry

import (
	"testing"
	"time"
)

// A followed record keeps the numbers of its run: what comes twice is there once, what does not
// come is a gap, and readers are told of neither.
func TestFollowJournal(t *testing.T) {
	j := FollowJournal(JournalOptions{Epoch: "e", Recent: 4})
	at := time.Now().Add(-time.Hour)
	follow := func(epoch string, seq uint64, want bool) {
		t.Helper()
		x := &Trace{Version: TraceVersion, Epoch: epoch, Seq: seq, Object: Object{"deployment", "shop", "web"}, Result: ResultWrote, Started: at, Ended: at}
		if got := j.Follow(x); got != want {
			t.Errorf("%s %d: kept %v", epoch, seq, got)
		}
	}
	follow("e", 1000, true)
	follow("e", 1000, false)
	follow("e", 999, false)
	follow("other", 1001, false)
	for _, seq := range []uint64{1003, 1004, 1005, 1009} {
		follow("e", seq, true)
	}
	if total, since, _ := j.Window(); total != 5 || !since.Equal(at) || j.Last() != 1009 || j.Epoch() != "e" {
		t.Errorf("%d since %s, last %d", total, since, j.Last())
	}
	batch, missed, err := j.Next(t.Context(), 0)
	var got []uint64
	for _, x := range batch {
		got = append(got, x.Seq)
	}
	if len(got) != 5 || got[0] != 1000 || got[4] != 1009 || missed != 0 || err != nil { // The first stands on its shelf.
		t.Errorf("%v, %d missed, %v", got, missed, err)
	}
	if x, ok := j.Get(1004); ok != true || x.Seq != 1004 {
		t.Error("1004 is not found")
	}
	if row, ok := j.Board().Row(Object{"deployment", "shop", "web"}); !ok || row.Trace.Seq != 1009 {
		t.Errorf("the board has %+v", row)
	}
	follow("e", 1<<62, true) // A leap costs nothing.
	if batch, _, err := j.Next(t.Context(), 1009); len(batch) != 1 || err != nil {
		t.Errorf("%d traces, %v", len(batch), err)
	}
	if st := j.Archive().State(); st.Written != 6 {
		t.Errorf("%+v", st)
	}
}
