package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// walk reads everything that is kept, a few at a time.
func walk(j *Journal) []uint64 {
	var all []uint64
	for after := uint64(0); ; {
		batch := j.Kept(after, 3)
		if len(batch) == 0 {
			return all
		}
		all = append(all, seqs(batch)...)
		after = batch[len(batch)-1].Seq
	}
}

// Kept gives what stands on shelves and what is recent, once and in order.
func TestKeptGivesAllThatIsKept(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 4, Wrote: 2, Failed: 1})
	if got := walk(j); got != nil {
		t.Errorf("an empty journal keeps %v", got)
	}
	for range 3 {
		record(j, ended(ResultWrote, "a"), quiet("b"), ended(ResultFailed, "c"), quiet("b"))
	}
	record(j, quiet("b"))
	// Of 1 to 13: recent are 10 to 13, writes 5 and 9, the last failure is 11.
	if diff := cmp.Diff([]uint64{5, 9, 10, 11, 12, 13}, walk(j)); diff != "" {
		t.Error(diff)
	}
}

// loaded is a recording with gaps, in which web wrote an object.
func loadedTraces() []*Trace {
	var list []*Trace
	for _, seq := range []uint64{3, 4, 9, 20, 21} {
		x := quiet("web")
		if seq%2 == 0 {
			x = outcome(ResultWrote, "api", decision.Action{Target: decision.Ref{Kind: "ReplicaSet", Namespace: "shop", Name: "api-1"}}, decision.Outcome{State: decision.Written, RV: "7"})
		}
		x.Version, x.Epoch, x.Seq = 1, "e", seq
		x.Started = time.Unix(int64(seq), 0)
		x.Ended = x.Started.Add(time.Second)
		list = append(list, x)
	}
	return list
}

func TestLoadedJournal(t *testing.T) {
	j, err := LoadJournal(JournalOptions{Loops: TestLoops}, loadedTraces())
	if err != nil {
		t.Fatal(err)
	}
	total, since, folded := j.Window()
	if total != 5 || folded != 0 || !since.Equal(time.Unix(3, 0)) || j.Epoch() != "e" || j.Last() != 21 {
		t.Errorf("window %d since %v, %d folded; epoch %s, last %d", total, since, folded, j.Epoch(), j.Last())
	}
	if st := j.Archive().State(); st.Kept != 5 || st.Written != 0 {
		t.Errorf("archive %+v", st)
	}
	if diff := cmp.Diff([]uint64{3, 4, 9, 20, 21}, walk(j)); diff != "" {
		t.Error(diff)
	}
	if x, ok := j.Get(9); !ok || x.Seq != 9 {
		t.Errorf("sync 9: %v, %v", x, ok)
	}
	if _, ok := j.Get(10); ok {
		t.Error("there is a sync in a gap")
	}
	if diff := cmp.Diff([]uint64{3, 9, 21}, seqs(j.Of(object("web"), 10))); diff != "" {
		t.Error(diff)
	}
	if x, ok := j.Prev(object("web"), 21); !ok || x.Seq != 9 {
		t.Errorf("before 21: %+v", x)
	}
	if x, ok := j.After(object("web"), 5); !ok || x.Seq != 9 {
		t.Errorf("after 5: %+v", x)
	}
	if seq, ok := j.SyncOf("ReplicaSet", "shop", "api-1", "7"); !ok || seq != 20 {
		t.Errorf("rv 7 was written by %d, %v", seq, ok)
	}
	if x, ok := j.Board().Get(object("web")); !ok || x.Seq != 21 {
		t.Errorf("board: %+v", x)
	}
}

// A reader of a recording gets all of it, misses nothing, and waits then.
func TestLoadedJournalIsRead(t *testing.T) {
	j, err := LoadJournal(JournalOptions{Loops: TestLoops}, loadedTraces())
	if err != nil {
		t.Fatal(err)
	}
	batch, missed, err := j.Next(t.Context(), 3)
	if diff := cmp.Diff([]uint64{4, 9, 20, 21}, seqs(batch)); diff != "" || missed != 0 || err != nil {
		t.Errorf("%d missed, %v\n%s", missed, err, diff)
	}
	if batch, _, err := j.Next(t.Context(), 20); err != nil || !cmp.Equal(seqs(batch), span(21, 21)) {
		t.Errorf("the last one: %v, %v", seqs(batch), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if batch, _, err := j.Next(ctx, 21); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the last: %v, %v", seqs(batch), err)
	}
	if _, _, err := j.Next(t.Context(), 22); !errors.Is(err, ErrAhead) {
		t.Errorf("ahead: %v", err)
	}
}

func TestLoadedJournalIsBounded(t *testing.T) {
	traces := loadedTraces()
	one := estimate(traces[0])
	j, err := LoadJournal(JournalOptions{Loops: TestLoops, Bytes: 3 * one}, traces)
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := j.Window(); n == 0 || n >= 5 || walk(j)[n-1] != 21 {
		t.Errorf("%d are kept: %v", n, walk(j))
	}
	if len(j.recent) != 1 {
		t.Errorf("a recording has a ring of %d, which nothing is put into", len(j.recent))
	}
}

// What just fits is kept whole.
func TestLoadedJournalIsFull(t *testing.T) {
	traces, all := loadedTraces(), int64(0)
	for _, x := range traces {
		all += estimate(x)
	}
	for short, want := range []int{5, 4} {
		j, err := LoadJournal(JournalOptions{Loops: TestLoops, Bytes: all - int64(short)}, traces)
		if err != nil {
			t.Fatal(err)
		}
		if n, _, _ := j.Window(); int(n) != want {
			t.Errorf("%d bytes short of room: %d are kept, want %d", short, n, want)
		}
	}
}

// The newest is kept even where there is no room for it, as a reader is never given an empty batch.
func TestLoadedJournalKeepsTheNewest(t *testing.T) {
	j, err := LoadJournal(JournalOptions{Loops: TestLoops, Bytes: 1}, loadedTraces())
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := j.Window(); n != 1 {
		t.Errorf("%d are kept", n)
	}
	for _, after := range []uint64{0, 20} {
		if batch, missed, err := j.Next(t.Context(), after); !cmp.Equal(seqs(batch), span(21, 21)) || missed != 0 || err != nil {
			t.Errorf("after %d: %v, %d missed, %v", after, seqs(batch), missed, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	twice, mixed, back := loadedTraces(), loadedTraces(), loadedTraces()
	twice[1].Seq = 3
	back[1].Seq = 2
	mixed[4].Epoch = "f"
	for _, c := range []struct {
		traces []*Trace
		want   string
	}{{nil, "no traces"}, {twice, "trace 3 comes after trace 3"}, {back, "trace 2 comes after trace 3"}, {mixed, "epoch f"}} {
		if _, err := LoadJournal(JournalOptions{Loops: TestLoops}, c.traces); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// Kept gives no more than were asked for, the oldest of all shelves first.
func TestKeptGoesByNumber(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 1})
	record(j, ended(ResultFailed, "a"), ended(ResultWrote, "b"), ended(ResultStale, "c"), quiet("d"))
	for limit, want := range [][]uint64{{}, {1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}} {
		if got := seqs(j.Kept(0, limit)); !cmp.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	if list := j.Family(object("nobody")); list != nil {
		t.Errorf("nobody has a family: %v", seqs(list))
	}
}

// One answer that did not come is enough for a sync to be unanswered.
func TestUnansweredSyncs(t *testing.T) {
	failed := quiet("web")
	failed.Failure = down
	for name, c := range map[string]struct {
		sync *Trace
		want bool
	}{
		"a write":  {outcome(ResultFailed, "web", decision.Action{}, decision.Outcome{State: decision.Unanswered}), true},
		"a no":     {outcome(ResultFailed, "web", decision.Action{}, decision.Outcome{State: decision.Refused}), false},
		"the sync": {failed, true},
		"one of two": {&Trace{Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: make([]decision.Action, 2)},
			Outcomes: []decision.Outcome{{State: decision.Unanswered}, {State: decision.Written}}}}}, true},
		"nothing": {quiet("web"), false},
	} {
		if got := c.sync.Unanswered(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
