package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func object(name string) Object {
	return Object{Loop: "deployment", Namespace: "shop", Name: name}
}

// quiet is a sync of an object that wrote nothing.
func quiet(name string) *Trace {
	return &Trace{Object: object(name), Result: ResultUnchanged}
}

func ended(result Result, name string) *Trace {
	return &Trace{Object: object(name), Result: result}
}

func record(j *Journal, traces ...*Trace) {
	for _, t := range traces {
		j.Record(t)
	}
}

func seqs(traces []*Trace) []uint64 {
	list := []uint64{}
	for _, t := range traces {
		list = append(list, t.Seq)
	}
	return list
}

func span(from, to uint64) []uint64 {
	list := []uint64{}
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// run runs the pump until the test ends.
func run(t testing.TB, j *Journal) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); j.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

func TestRecordNumbersAndNames(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Epoch: "7c41"})
	record(j, nil, quiet("web"), quiet("web"))
	got, ok := j.Get(2)
	if !ok || got.Seq != 2 || got.Epoch != "7c41" || got.Version != TraceVersion {
		t.Fatalf("Get(2) = %+v, %v", got, ok)
	}
	if other := NewJournal(JournalOptions{Loops: TestLoops}).Epoch(); len(other) != 8 || other == NewJournal(JournalOptions{Loops: TestLoops}).Epoch() {
		t.Errorf("default epoch %q is not random", other)
	}
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name           string
		recent, traces int
		after          uint64
		want           []uint64
		missed         uint64
		err            error
	}{
		{name: "from the beginning", recent: 8, traces: 5, after: 0, want: span(1, 5)},
		{name: "the rest", recent: 8, traces: 5, after: 3, want: span(4, 5)},
		{name: "a full ring", recent: 8, traces: 8, after: 0, want: span(1, 8)},
		{name: "one lost", recent: 8, traces: 9, after: 0, want: span(2, 9), missed: 1},
		{name: "nothing lost behind the reader", recent: 8, traces: 9, after: 1, want: span(2, 9)},
		{name: "far behind", recent: 8, traces: 100, after: 2, want: span(93, 100), missed: 90},
		{name: "a batch is bounded", recent: 1000, traces: 1000, after: 10, want: span(11, 266)},
		{name: "ahead of it all", recent: 8, traces: 5, after: 6, err: ErrAhead},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := NewJournal(JournalOptions{Loops: TestLoops, Recent: c.recent})
			for range c.traces {
				j.Record(quiet("web"))
			}
			batch, missed, err := j.Next(t.Context(), c.after)
			if !errors.Is(err, c.err) || missed != c.missed {
				t.Errorf("missed %d, error %v; want %d, %v", missed, err, c.missed, c.err)
			}
			if diff := cmp.Diff(c.want, seqs(batch)); c.err == nil && diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
		})
	}
}

// Readers of a journal that nobody runs are woken by what is recorded, as are those of one that runs.
func TestNextWithoutRun(t *testing.T) {
	for _, runs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j := NewJournal(JournalOptions{Loops: TestLoops})
			if runs {
				run(t, j)
			}
			got := make(chan []*Trace, 1)
			for n := range uint64(3) {
				go func() {
					batch, _, _ := j.Next(t.Context(), n)
					got <- batch
				}()
				synctest.Wait()
				record(j, quiet("web"))
				time.Sleep(j.opts.Spacing)
				synctest.Wait()
				select {
				case batch := <-got:
					if diff := cmp.Diff([]uint64{n + 1}, seqs(batch)); diff != "" {
						t.Errorf("runs %v: batch (-want +got):\n%s", runs, diff)
					}
				default:
					t.Fatalf("runs %v: sync %d wakes no reader", runs, n+1)
				}
			}
		})
	}
}

// Slots that are overwritten while a reader is at them are missed once: in the
// call whose batch goes on behind them.
func TestMissedIsSaidOnce(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 8})
	for range 6 {
		j.Record(quiet("web"))
	}
	for _, overwritten := range []int{2, 5, 6} {
		j.recent[overwritten].Store(&kept{Mark: Mark{Seq: uint64(overwritten) + 8}})
	}
	batch, missed := j.collect(0, 6)
	if diff := cmp.Diff([]uint64{1, 3, 4}, seqs(batch)); diff != "" || missed != 1 {
		t.Errorf("missed %d, want 1 (-want +got):\n%s", missed, diff)
	}
}

func TestNextWaitsAndIsWokenByThePump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJournal(JournalOptions{Loops: TestLoops})
		run(t, j)
		got := make(chan []uint64, 1)
		go func() {
			batch, _, _ := j.Next(t.Context(), 0)
			got <- seqs(batch)
		}()
		synctest.Wait()
		select {
		case b := <-got:
			t.Fatalf("Next returned %v before anything was recorded", b)
		default:
		}
		start := time.Now()
		j.Record(quiet("web"))
		if diff := cmp.Diff([]uint64{1}, <-got); diff != "" || time.Since(start) != 0 {
			t.Errorf("after %v (-want +got):\n%s", time.Since(start), diff)
		}
	})
}

func TestBurstReachesReadersAsOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJournal(JournalOptions{Loops: TestLoops, Spacing: 5 * time.Millisecond})
		run(t, j)
		got := make(chan []uint64)
		go func() {
			for after := range uint64(2) {
				batch, _, _ := j.Next(t.Context(), after)
				got <- seqs(batch)
			}
		}()
		synctest.Wait()
		record(j, quiet("web"))
		<-got
		synctest.Wait() // The pump has passed the first on and spaces the next.
		start := time.Now()
		record(j, quiet("web"), quiet("web"), quiet("web"))
		if diff := cmp.Diff(span(2, 4), <-got); diff != "" || time.Since(start) != 5*time.Millisecond {
			t.Errorf("after %v (-want +got):\n%s", time.Since(start), diff)
		}
	})
}

func TestNextEndsWithItsContextAndWithTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJournal(JournalOptions{Loops: TestLoops})
		pump, stop := context.WithCancel(t.Context())
		go j.Run(pump)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		next := func(ctx context.Context) {
			_, _, err := j.Next(ctx, 0)
			errs <- err
		}
		go next(ctx)
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Next: %v", err)
		}
		go next(t.Context())
		synctest.Wait()
		stop()
		if err := <-errs; !errors.Is(err, ErrEnded) {
			t.Errorf("Next of an ended journal: %v", err)
		}
		j.Record(quiet("web"))
		if batch, _, err := j.Next(t.Context(), 0); err != nil || len(batch) != 1 {
			t.Errorf("what is left: %v, %v", seqs(batch), err)
		}
	})
}

// Readers follow while traces are recorded faster than the ring can hold them.
// Each must see rising numbers, and seen and missed must add up to all of them.
func TestReadersAccountForEveryTrace(t *testing.T) {
	const writers, each, readers = 4, 5000, 8
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 512, Spacing: time.Microsecond})
	run(t, j)
	var reading, writing sync.WaitGroup
	for range readers {
		reading.Go(func() {
			var after, seen, missed uint64
			for after < writers*each {
				batch, m, err := j.Next(t.Context(), after)
				if err != nil {
					t.Errorf("next: %v", err)
					return
				}
				for _, tr := range batch {
					if tr.Seq <= after {
						t.Errorf("trace %d after %d", tr.Seq, after)
					}
					after = tr.Seq
				}
				seen, missed = seen+uint64(len(batch)), missed+m
			}
			if seen+missed != writers*each {
				t.Errorf("saw %d and missed %d of %d", seen, missed, writers*each)
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				j.Record(ended(Results[i%len(Results)], fmt.Sprintf("web-%d", w)))
			}
		})
	}
	writing.Wait()
	reading.Wait()
}

// A reader that takes Last, then the board, then follows, misses nothing.
func TestBoardThenFollowMissesNothing(t *testing.T) {
	const traces = 4000
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: traces})
	run(t, j)
	var writing sync.WaitGroup
	writing.Go(func() {
		for range traces {
			j.Record(quiet("web"))
		}
	})
	for j.Last() < traces {
		n := j.Last()
		if n == 0 {
			continue
		}
		newest, ok := j.Board().Get(object("web"))
		if !ok || newest.Seq < n {
			t.Fatalf("the board has trace %d although the last one is %d", newest.Seq, n)
		}
		if _, ok := j.Get(n); !ok {
			t.Fatalf("trace %d is the last one and not kept", n)
		}
		if n < traces {
			batch, missed, err := j.Next(t.Context(), n)
			if err != nil || missed > 0 || batch[0].Seq != n+1 {
				t.Fatalf("after %d: %v, missed %d, %v", n, seqs(batch), missed, err)
			}
		}
	}
	writing.Wait()
}

func TestRecordSurvivesItsObserver(t *testing.T) {
	calls := 0
	j := NewJournal(JournalOptions{Loops: TestLoops, Observe: func(*Trace) { calls++; panic("broken") }})
	record(j, quiet("web"), quiet("web"))
	if j.Last() != 2 || calls != 2 {
		t.Errorf("last %d, calls %d; want 2, 2", j.Last(), calls)
	}
}

func TestWindow(t *testing.T) {
	start := time.Date(2026, 11, 21, 1, 12, 0, 0, time.UTC)
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 4, Clock: func() time.Time { return start }})
	for range 6 {
		j.Record(quiet("web"))
	}
	total, since, folded := j.Window()
	if total != 6 || !since.Equal(start) || folded != 2 {
		t.Errorf("window: %d since %v, %d folded", total, since, folded)
	}
}

// What a ReplicaSet did stays in its Deployment's family when it is deleted, although
// its last sync cannot say who owned it.
func TestFamilyHasWhoIsGone(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 4})
	wrote, gone := quiet("web-1"), quiet("web-1")
	wrote.Loop, wrote.Owner, wrote.Result = "replicaset", "web", ResultWrote
	gone.Loop, gone.Gone = "replicaset", true
	record(j, quiet("web"), wrote, gone)
	for _, kept := range []int{3, 2} { // The last one stays as long as what it ended.
		if family := j.Family(object("web")); len(family) != kept || !slices.ContainsFunc(family, (*Trace).Wrote) {
			t.Errorf("the family has %d syncs, want %d with the write", len(family), kept)
		}
		record(j, quiet("a"), quiet("b"), quiet("c"), quiet("d"))
	}
}

// A ReplicaSet of which nothing is kept any more still is of its Deployment's family.
func TestFamilyOfWhatIsKeptNoLonger(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 1})
	set := quiet("web-1")
	set.Loop, set.Owner = "replicaset", "web"
	record(j, set, quiet("web"))
	if got := seqs(j.Family(set.Object)); !cmp.Equal(got, span(2, 2)) {
		t.Errorf("the family is %v", got)
	}
	owned := quiet("api")
	owned.Owner = "operator"
	record(j, owned)
	if got := seqs(j.Family(owned.Object)); !cmp.Equal(got, span(3, 3)) {
		t.Errorf("the family of a Deployment with an owner is %v", got)
	}
}

// TestNobodyIsNudged where no reader waits.
func TestNobodyIsNudged(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	j.runs.Store(true)
	record(j, quiet("web"))
	if len(j.nudge) != 0 {
		t.Error("the pump was nudged for nobody")
	}
	j.waiting.Add(1)
	record(j, quiet("web"), quiet("web"))
	if len(j.nudge) != 1 {
		t.Error("the pump was not nudged")
	}
}

// TestNextIsOvertaken: what is there no more is missed, and what comes later is read.
func TestNextIsOvertaken(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	record(j, quiet("web"), quiet("web"))
	j.recent[1].Store(nil)
	j.recent[2].Store(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if batch, _, err := j.Next(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next with nothing there gives %v, %v", seqs(batch), err)
	}
	time.AfterFunc(10*time.Millisecond, func() { j.Record(quiet("web")); j.wakeAll() })
	batch, missed, err := j.Next(t.Context(), 0)
	if err != nil || missed != 2 || !cmp.Equal(seqs(batch), span(3, 3)) {
		t.Errorf("%v, %d missed, %v", seqs(batch), missed, err)
	}
}

// TestFamilyIsBounded to the newest few thousand syncs of each object.
func TestFamilyIsBounded(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	for range maxFamily + 3 {
		j.Record(quiet("web"))
	}
	list := j.Family(object("web"))
	if got := slices.Max(seqs(list)); len(list) != maxFamily || got != maxFamily+3 || slices.Min(seqs(list)) != 4 {
		t.Errorf("%d syncs up to %d, want the newest %d", len(list), got, maxFamily)
	}
}

// TestJournalDefaults are those that JournalOptions documents, in the place of what is not set.
func TestJournalDefaults(t *testing.T) {
	o := JournalOptions{Loops: TestLoops, Recent: -1}.withDefaults()
	if o.Recent != 8192 || o.Wrote != 8192 || o.Failed != 2048 || o.Conflicted != 2048 || o.Slow != 1024 || o.Writes != 65536 ||
		o.Bytes != 64<<20 || o.SlowAfter != time.Second || o.Spacing != 2*time.Millisecond || o.Clock == nil || len(o.Epoch) != 8 {
		t.Errorf("the defaults are %+v", o)
	}
	o = JournalOptions{Loops: TestLoops, Recent: 1, Wrote: 1, Failed: 1, Conflicted: 1, Slow: 1, Writes: 1, Bytes: 1, SlowAfter: 1, Spacing: 1, Epoch: "e"}.withDefaults()
	if o.Recent != 1 || o.Wrote != 1 || o.Failed != 1 || o.Conflicted != 1 || o.Slow != 1 || o.Writes != 1 || o.Bytes != 1 || o.SlowAfter != 1 || o.Spacing != 1 || o.Epoch != "e" {
		t.Errorf("what was set is %+v", o)
	}
}

// TestKeptIsCounted: what was recorded, without what is given up.
func TestKeptIsCounted(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	record(j, quiet("a"), quiet("b"), quiet("c"))
	if st := j.Archive().State(); st.Written != 3 || st.Kept != 3 || st.Expired != 0 {
		t.Errorf("%+v", st)
	}
}

// TestNobodyWaitsAnyMore: a reader that gives up is nudged no longer.
func TestNobodyWaitsAnyMore(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := j.Next(ctx, 0); !errors.Is(err, context.DeadlineExceeded) || j.waiting.Load() != 0 {
		t.Errorf("%v, %d wait", err, j.waiting.Load())
	}
}
