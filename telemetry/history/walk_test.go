package history

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

func TestBoundsOfScans(t *testing.T) {
	const low, high = math.MinInt64, math.MaxInt64
	since, until := clock(), clock().Add(time.Minute)
	first, last := number(since.Add(-longestBlock)), number(until.Add(longestBlock+adrift))
	for i, c := range []struct {
		q      telemetry.Query
		lo, hi int64
	}{
		{telemetry.Query{}, low, high},
		{telemetry.Query{Since: since}, first, high},
		{telemetry.Query{Until: until}, low, last},
		{telemetry.Query{Since: since, Until: until, OldestFirst: true}, first, last},
		{telemetry.Query{After: cursor(place{100, 3})}, low, 100},
		{telemetry.Query{After: cursor(place{100, 3}), OldestFirst: true}, 100, high},
		{telemetry.Query{After: cursor(place{100, 3}), Since: since, OldestFirst: true}, first, high},
		{telemetry.Query{After: cursor(place{1 << 50, 3}), Until: until}, low, last},
		{telemetry.Query{After: cursor(place{1 << 50, 3}), Since: since, OldestFirst: true}, 1 << 50, high},
	} {
		s, err := scanFor(&c.q, nil, 9)
		if err != nil || s.lo != c.lo || s.hi != c.hi || s.oldest != c.q.OldestFirst || s.chunk != 9 || (s.after == nil) != (c.q.After == "") {
			t.Errorf("%d: %+v, %v, want %d to %d", i, s, err, c.lo, c.hi)
		}
	}
	for want, q := range map[string]telemetry.Query{"a limit of -1: give 0 or more": {Limit: -1}, "the cursor is none of a page before": {After: "x"}, "an answer without its question": {Answer: "x"}} {
		if _, err := scanFor(&q, nil, 1); !errors.Is(err, telemetry.ErrBadQuery) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCursors(t *testing.T) {
	for _, p := range []place{{}, {5, 36}, {-5, -1}, {math.MaxInt64, math.MaxInt32}, {math.MinInt64, math.MinInt32}} {
		if got, err := parseCursor(cursor(p)); err != nil || got != p {
			t.Errorf("%v comes back as %v, %v", p, got, err)
		}
	}
	for _, text := range []string{"", ".", "1", "1.", ".1", "1.x y", "x y.1", "01.1", "1.01", cursor(place{1 << 60, 0}) + "0", cursor(place{0, 1 << 31}), "zzzzzzzzzzzzzz.0"} {
		if got, err := parseCursor(text); !errors.Is(err, telemetry.ErrBadQuery) || got != (place{}) {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
}

func TestPlacesOfScans(t *testing.T) {
	after := &place{10, 5}
	for _, oldest := range []bool{false, true} {
		for p, later := range map[place]bool{{9, 7}: false, {10, 4}: false, {10, 6}: true, {11, 3}: true} {
			if s := (scan{after: after, oldest: oldest}); s.behind(p) != (later == oldest) {
				t.Errorf("oldest first %v: %v is behind %v: %v", oldest, p, after, s.behind(p))
			}
		}
		if s := (scan{after: after, oldest: oldest}); s.behind(*after) {
			t.Errorf("oldest first %v: a place is behind itself", oldest)
		}
		if s := (scan{oldest: oldest}); !s.behind(place{10, 5}) {
			t.Errorf("oldest first %v: a place is not behind the beginning", oldest)
		}
	}
	const low, high = math.MinInt64, math.MaxInt64
	for _, c := range []struct{ lo, hi, id, oldestLo, newestHi int64 }{
		{0, 100, 50, 51, 49}, {60, 100, 50, 60, 49}, {0, 40, 50, 51, 40}, {low, high, high, high, high - 1}, {low, high, low, low + 1, low},
	} {
		oldest, newest := scan{lo: c.lo, hi: c.hi, oldest: true}, scan{lo: c.lo, hi: c.hi}
		oldest.pass(c.id)
		newest.pass(c.id)
		if oldest.lo != c.oldestLo || oldest.hi != c.hi || newest.hi != c.newestHi || newest.lo != c.lo {
			t.Errorf("past %d: %d to %d, and %d to %d", c.id, oldest.lo, oldest.hi, newest.lo, newest.hi)
		}
	}
}

// The newest sync that had started is found past others of its object, and no other object's.
func TestAsOfMoments(t *testing.T) {
	traces := []*telemetry.Trace{named(1, "web", 0), named(2, "cart", time.Minute), named(3, "web", 2*time.Minute)}
	s := filled(t, traces)
	for after, want := range map[time.Duration]uint64{-1: 0, 0: 1, time.Minute: 1, 2*time.Minute - 1: 1, 2 * time.Minute: 3, time.Hour: 3} {
		x, err := s.AsOf(t.Context(), traces[0].Object, clock().Add(after))
		if want == 0 && !errors.Is(err, telemetry.ErrNotKept) || want > 0 && (err != nil || x.Seq != want) {
			t.Errorf("after %v: %v, %v, want %d", after, x, err, want)
		}
	}
}

// classed makes syncs of one block that are of all classes in turn.
func classed(from, n int) (list []*telemetry.Trace) {
	for i := range n {
		x := named(from+i, "web", time.Duration(from)*time.Minute)
		x.Result = []telemetry.Result{telemetry.ResultWrote, telemetry.ResultFailed, telemetry.ResultStale, "", ""}[i%5]
		if i%5 == 3 {
			x.Ended = x.Ended.Add(time.Second)
		}
		list = append(list, x)
	}
	return list
}

// However many blocks are read at a time, and where a page ends, every sync of a block
// is visited in its turn.
func TestBlocksAreWalkedWhole(t *testing.T) {
	longUnderRace(t)
	const blocks = 5
	var traces []*telemetry.Trace
	for i := range blocks {
		traces = append(traces, classed(1+7*i, 7)...)
	}
	s := filled(t, traces)
	for _, q := range []telemetry.Query{{}, {OldestFirst: true}, {Loop: "deployment"}, {Loop: "deployment", OldestFirst: true}, {Class: telemetry.ClassSlow}} {
		want := model(traces, q)
		if !q.OldestFirst {
			slices.Reverse(want)
		}
		for _, chunk := range []int{1, 2, 4, 5, 6, 14} {
			x, err := scanFor(&q, nil, chunk)
			if err != nil {
				t.Fatal(err)
			}
			for _, x.budget = range []int{0, 1, 4, 5, 6} {
				var got []uint64
				spent := 0
				if err := s.walk(t.Context(), x, func(e entry) (bool, error) {
					if e.block == nil {
						spent++
						return true, nil
					}
					got = append(got, e.hit().Seq)
					return true, nil
				}); err != nil || !slices.Equal(got, want) {
					t.Errorf("%+v, %d at a time: %v, %v", q, chunk, got, err)
				}
				if want := x.budget > 0 && x.budget <= blocks; (spent == 1) != want || spent > 1 {
					t.Errorf("%+v, %d at a time, a budget of %d: it asks %d times", q, chunk, x.budget, spent)
				}
			}
			if got := pages(t, s, q, chunk); !slices.Equal(got, want) {
				t.Errorf("%+v, pages of %d: %v", q, chunk, got)
			}
		}
	}
}

// A walk ends where the visitor says so, with its error.
func TestWalksEnd(t *testing.T) {
	s := filled(t, slices.Concat(classed(1, 5), classed(6, 5)))
	enough := errors.New("enough")
	for _, c := range []struct {
		at     int
		more   bool
		err    error
		budget int
	}{{1, false, nil, 0}, {7, false, nil, 0}, {3, true, enough, 0}, {3, false, enough, 0}, {6, false, nil, 1}, {6, true, enough, 1}} {
		visited := 0
		x, err := scanFor(&telemetry.Query{}, nil, 50)
		if err != nil {
			t.Fatal(err)
		}
		x.budget = c.budget
		err = s.walk(t.Context(), x, func(e entry) (bool, error) {
			if visited++; visited < c.at {
				return true, nil
			}
			if (e.block == nil) != (c.budget > 0) {
				t.Errorf("%+v: visited %+v", c, e)
			}
			return c.more, c.err
		})
		if visited != c.at || !errors.Is(err, c.err) {
			t.Errorf("%+v: %d visited, %v", c, visited, err)
		}
	}
	for _, c := range []struct {
		oldest bool
		want   place
	}{{true, place{5, math.MaxInt32}}, {false, place{5, -1}}} {
		if got := (&scan{oldest: c.oldest}).endOf(5); got != c.want {
			t.Errorf("oldest first %v: a block ends at %v", c.oldest, got)
		}
	}
}
