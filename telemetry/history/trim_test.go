package history

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

func TestRoomForIndexAndLog(t *testing.T) {
	for limit, want := range map[int64]int64{1000: 600, 1004: 603, MinBytes: MinBytes - MinBytes*2/5, 1 << 30: 1<<30 - 64<<20 - 1<<27, 1 << 34: 1<<34 - 64<<20 - 1<<31} {
		if got := inUse(limit); got != want {
			t.Errorf("of %d bytes %d may be in use, want %d", limit, got, want)
		}
	}
}

// A file is large by the pages that are in use, or by all of them where it has met its bound.
// Free pages are given back where there are many beyond a limit.
func TestLargeFiles(t *testing.T) {
	s := filled(t, nil)
	s.opts.MaxBytes = MinBytes
	const in, bound = int64(1228), int64(MinBytes / 8 * 7 / pageSize)
	if got := inUse(MinBytes) / pageSize; got != in {
		t.Fatalf("%d pages may be in use", got)
	}
	for i, c := range []struct {
		pages, free  int64
		tight, large bool
		given        bool
	}{
		{in, 0, false, false, false}, {in + 1, 0, false, true, false}, {in + 1, 1, false, false, false}, {in + 2, 1, false, true, false},
		{in, 0, true, false, false}, {in + 1, 1, true, true, false}, {in + 400, 500, true, true, false}, {in + 400, 500, false, false, false},
		{bound, givenBack + 1, false, true, false}, {bound + 1, givenBack, false, true, false}, {bound + 1, givenBack + 1, false, true, true}, {9999, 501, false, true, true}, {in + 501, 501, false, false, false},
	} {
		s.extent.pages, s.extent.free, s.tight = c.pages, c.free, c.tight
		large, err := s.large(t.Context())
		if given := s.extent.pages != c.pages; err != nil || large != c.large || given != c.given {
			t.Errorf("%d: large %v, given back %v, %v", i, large, given, err)
		}
	}
	s.extent.pages, s.extent.free = 9999, 9999
	ended, end := context.WithCancel(t.Context())
	end()
	if large, err := s.large(ended); large || !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "give pages back: ") {
		t.Errorf("large %v, %v", large, err)
	}
	defer stopped(t, s, &s.bounds)()
	if large, err := s.large(t.Context()); err == nil || large {
		t.Errorf("large %v, %v", large, err)
	}
	if _, err := s.Trim(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "history "+s.path+": sql: statement is closed") {
		t.Errorf("Trim: %v", err)
	}
}

// What is too old goes first. Where the file is large quiet syncs go before others, but for an eighth.
func TestWhatGoes(t *testing.T) {
	wrote, calm := named(1, "web", 0), named(2, "web", time.Minute)
	wrote.Result = telemetry.ResultWrote
	s := filled(t, []*telemetry.Trace{wrote, calm})
	now := clock()
	s.opts.Clock = func() time.Time { return now }
	first, second := number(clock()), number(calm.Ended)
	for i, c := range []struct {
		age       time.Duration
		large     bool
		kept      int64
		want      []int64
		quietOnly bool
	}{
		{0, false, 8, nil, false}, {time.Minute, false, 8, nil, false}, {time.Minute + time.Millisecond, false, 8, []int64{first}, false}, {2*time.Minute + 1, false, 8, []int64{first}, false}, {2*time.Minute + time.Millisecond, false, 8, []int64{first, second}, false},
		{0, true, 7, []int64{second}, true}, {0, true, 8, []int64{first, second}, false}, {time.Minute + time.Millisecond, true, 7, []int64{first}, false},
	} {
		now, s.opts.MaxAge = clock().Add(c.age), time.Minute
		s.extent.pages = 0
		if c.large {
			s.extent.pages = 1 << 40
		}
		s.kept, s.quiet = c.kept, 1
		if got, quietOnly, err := s.victims(t.Context()); err != nil || !slices.Equal(got, c.want) || quietOnly != c.quietOnly {
			t.Errorf("%d: %v go, quiet ones %v, %v, want %v", i, got, quietOnly, err, c.want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, kept := range []int64{7, 8} {
		s.extent.pages, s.kept = 1<<40, kept
		if ids, _, err := s.victims(ended); err == nil {
			t.Errorf("%v go, and nobody waits for that any more", ids)
		}
	}
}

// What went is counted and taken from the index; an error leaves everything as it was.
func TestBlocksGoWhole(t *testing.T) {
	longUnderRace(t)
	var traces []*telemetry.Trace
	for i := range 10 {
		traces = append(traces, classed(1+5*i, 5)...)
	}
	s := filled(t, traces)
	s.opts.Clock = func() time.Time { return clock().Add(time.Hour).Add(DefaultMaxAge) }
	for trigger, want := range map[string]string{"DELETE ON blocks": "delete syncs: ", "DELETE ON bodies": "delete syncs: "} {
		if _, err := s.conn.ExecContext(t.Context(), "CREATE TEMP TRIGGER no BEFORE "+trigger+" BEGIN SELECT RAISE(ABORT, 'no more'); END"); err != nil {
			t.Fatal(err)
		}
		if gone, err := s.Trim(t.Context(), 100); gone != 0 || err == nil || !strings.Contains(err.Error(), "history "+s.path+": "+want) {
			t.Errorf("%s: %d went, %v", trigger, gone, err)
		}
		if _, err := s.conn.ExecContext(t.Context(), "DROP TRIGGER no"); err != nil {
			t.Fatal(err)
		}
		check(t, s.path)
	}
	for _, statement := range []**sql.Stmt{&s.begin, &s.commit} {
		start := stopped(t, s, statement)
		if gone, err := s.Trim(t.Context(), 100); gone != 0 || err == nil || !strings.Contains(err.Error(), "history "+s.path+": sql: statement is closed") {
			t.Errorf("%d went, %v", gone, err)
		}
		start()
		check(t, s.path)
	}
	if s.kept != 50 || s.quiet != 10 {
		t.Errorf("%d are left, %d of them quiet", s.kept, s.quiet)
	}
	if gone, err := s.Trim(t.Context(), 1); gone != 40 || err != nil { // Eight blocks go at once.
		t.Errorf("%d went, %v", gone, err)
	}
	if s.kept != 10 || s.quiet != 2 || s.State().Kept != 10 {
		t.Errorf("%d are left, %d of them quiet", s.kept, s.quiet)
	}
	if gone, err := s.Trim(t.Context(), 9); gone != 10 || err != nil {
		t.Errorf("%d went, %v", gone, err)
	}
	start := stopped(t, s, &s.begin)
	if gone, err := s.Trim(t.Context(), 9); gone != 0 || err != nil { // There is nothing to begin for.
		t.Errorf("%d went, %v", gone, err)
	}
	start()
	check(t, s.path)
	if gone, err := s.let(t.Context(), []int64{7}, false); gone != 0 || err == nil || !strings.HasPrefix(err.Error(), "look at syncs: ") {
		t.Errorf("%d went of a block that is not there, %v", gone, err)
	}
}

// Where quiet syncs go alone, those beside them stay as they are, and a block of nothing else goes.
func TestQuietSyncsGo(t *testing.T) {
	calm := named(90, "web", time.Hour)
	traces := append(classed(1, 10), calm)
	s := filled(t, traces)
	ids := []int64{number(traces[3].Ended.Add(0)), number(calm.Ended)}
	found, err := list[int64](s.conn.QueryContext(t.Context(), "SELECT id FROM blocks ORDER BY id"))
	if err != nil || len(found) != len(ids) {
		t.Fatal(found, err)
	}
	if gone, err := s.let(t.Context(), found, true); gone != 3 || err != nil || s.kept != 8 || s.quiet != 0 {
		t.Errorf("%d went, %v; %d are left, %d of them quiet", gone, err, s.kept, s.quiet)
	}
	check(t, s.path)
	left := slices.DeleteFunc(slices.Clone(traces), func(x *telemetry.Trace) bool { return x.Class(time.Second) == telemetry.ClassQuiet })
	for name, q := range map[string]telemetry.Query{"all": {}, "class": {Class: telemetry.ClassQuiet}, "loop": {Loop: "deployment"}} {
		want := model(left, q)
		slices.Reverse(want)
		if got := pages(t, s, q, 3); !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", name, got, want)
		}
		visited := 0
		if err := s.Each(t.Context(), q, func(*telemetry.Trace) error { visited++; return nil }); err != nil || visited != len(want) {
			t.Errorf("%s: %d visited, %v", name, visited, err)
		}
	}
	for _, x := range traces {
		got, err := s.Get(t.Context(), x.Epoch, x.Seq)
		if kept := slices.Contains(left, x); kept && (err != nil || text(t, got) != text(t, x)) || !kept && !errors.Is(err, telemetry.ErrNotKept) {
			t.Errorf("sync %d: %v, %v", x.Seq, got, err)
		}
	}
	if got, err := s.AsOf(t.Context(), calm.Object, clock().Add(2*time.Hour)); err != nil || got.Seq != 9 {
		t.Errorf("AsOf = %v, %v", got, err)
	}
	if err := s.Add(t.Context(), traces[4]); err != nil || s.kept != 8 {
		t.Errorf("one that went is kept again: %d, %v", s.kept, err)
	}
}
