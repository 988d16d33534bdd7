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
	wrote, quiet := named(1, "web", 0), named(2, "web", time.Minute)
	wrote.Result = telemetry.ResultWrote
	s := filled(t, []*telemetry.Trace{wrote, quiet})
	now := clock()
	s.opts.Clock = func() time.Time { return now }
	first, second := number(clock())<<classBits|1, number(quiet.Ended)<<classBits|5
	for i, c := range []struct {
		age   time.Duration
		large bool
		wrote int64
		want  []int64
	}{
		{0, false, 7, nil}, {time.Minute, false, 7, nil}, {time.Minute + time.Millisecond, false, 7, []int64{first}}, {2*time.Minute + 1, false, 7, []int64{first}}, {2*time.Minute + time.Millisecond, false, 7, []int64{first, second}},
		{0, true, 6, []int64{second}}, {0, true, 7, []int64{first, second}}, {time.Minute + time.Millisecond, true, 6, []int64{first}},
	} {
		now, s.opts.MaxAge = clock().Add(c.age), time.Minute
		s.extent.pages = 0
		if c.large {
			s.extent.pages = 1 << 40
		}
		s.counts = map[int64]int64{1: c.wrote, 5: 1}
		if got, err := s.victims(t.Context()); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%d: %v go, %v, want %v", i, got, err, c.want)
		}
	}
}

// What went is counted by its class and taken from the index; an error leaves everything as it was.
func TestBlocksGoWhole(t *testing.T) {
	longUnderRace(t)
	s := filled(t, slices.Concat(classed(1, 5), classed(6, 7), classed(13, 2)))
	s.opts.Clock = func() time.Time { return clock().Add(7 * time.Minute).Add(DefaultMaxAge) }
	for _, c := range []struct {
		statement **sql.Stmt
		want      string
	}{{&s.forget, "delete syncs: "}, {&s.unfit, "delete the terms of syncs: "}, {&s.counted, "count syncs: "}, {&s.begin, ""}, {&s.commit, ""}} {
		start := stopped(t, s, c.statement)
		if gone, err := s.Trim(t.Context(), 100); gone != 0 || err == nil || !strings.Contains(err.Error(), "history "+s.path+": "+c.want+"sql: statement is closed") {
			t.Errorf("%d went, %v", gone, err)
		}
		start()
		if kept := s.kept(); kept != 14 {
			t.Errorf("%d are left", kept)
		}
		check(t, s.path)
	}
	if gone, err := s.Trim(t.Context(), 1); gone != 10 || err != nil { // Eight blocks go at once.
		t.Errorf("%d went, %v", gone, err)
	}
	if gone, err := s.Trim(t.Context(), 9); gone != 2 || err != nil {
		t.Errorf("%d went, %v", gone, err)
	}
	if s.counts[1] != 1 || s.counts[2] != 1 || s.counts[3]+s.counts[4]+s.counts[5] != 0 || s.State().Kept != 2 {
		t.Errorf("left: %v", s.counts)
	}
	start := stopped(t, s, &s.begin)
	if gone, err := s.Trim(t.Context(), 9); gone != 0 || err != nil { // There is nothing to begin for.
		t.Errorf("%d went, %v", gone, err)
	}
	start()
	check(t, s.path)
}
