package telemetry

import (
	"math"
	"testing"
)

// A sync counts whether it is kept or not. What did not come, and what a process would have done while
// another one led, does not.
func TestHappened(t *testing.T) {
	own, followed := NewJournal(JournalOptions{Recent: 2, Wrote: 1}), FollowJournal(JournalOptions{Epoch: "e", Recent: 2, Wrote: 1})
	for seq := uint64(1); seq <= 10; seq++ {
		own.Record(&Trace{Object: Object{"toy", "shop", "web"}, Standby: seq <= 3 || seq == 7})
		if seq > 3 && seq != 7 {
			followed.Follow(&Trace{Version: TraceVersion, Epoch: "e", Seq: seq, Object: Object{"toy", "shop", "web"}})
		}
	}
	for name, j := range map[string]*Journal{"own": own, "followed": followed} {
		for _, c := range []struct{ after, upto, want uint64 }{
			{0, 10, 6}, {0, 3, 0}, {0, 4, 1}, {0, 6, 3}, {0, 7, 3}, {0, 8, 4}, {3, 10, 6}, {4, 10, 5}, {5, 7, 1}, {6, 10, 3}, {7, 9, 2},
			{10, 10, 0}, {0, 0, 0}, {9, 4, 0}, {0, math.MaxUint64, 6}, {8, math.MaxUint64, 2},
		} {
			if got := j.Happened(c.after, c.upto); got != c.want {
				t.Errorf("%s: after %d up to %d: %d, want %d", name, c.after, c.upto, got, c.want)
			}
		}
	}
	if n := NewJournal(JournalOptions{}).Happened(0, 5); n != 0 {
		t.Errorf("%d in an empty journal", n)
	}
}

// However many gaps there are, they take bounded memory; the newest are told apart, and nothing counts twice.
func TestHappenedIsBounded(t *testing.T) {
	const n = 5 * mostStretches
	var h happened
	for i := uint64(1); i <= n; i++ {
		h.note(&Trace{Seq: 10 * i})
	}
	if len(h.stretches) > mostStretches || h.upTo(0) != 0 || h.upTo(10*n) != n {
		t.Errorf("%d stretches, %d in all", len(h.stretches), h.upTo(10*n))
	}
	last := uint64(0)
	for seq := uint64(0); seq <= 10*n; seq++ {
		got := h.upTo(seq)
		if got < last || got < seq/10 || seq > 10*(n-mostStretches/4) && got != seq/10 {
			t.Fatalf("%d up to %d, and %d before", got, seq, last)
		}
		last = got
	}
}
