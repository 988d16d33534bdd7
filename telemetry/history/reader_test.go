package history

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// overflow is a statement that fails whenever it is run.
const overflow = "SELECT abs(-9223372036854775808) WHERE ?1 > 0"

// replace puts another statement in the place of one, for the test.
func replace(t *testing.T, statement **sql.Stmt, db interface {
	PrepareContext(context.Context, string) (*sql.Stmt, error)
}, text string) {
	t.Helper()
	other, err := db.PrepareContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	own := *statement
	*statement = other
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
}

func seqsOf(hits telemetry.Hits) (list []uint64) {
	for _, h := range hits.Hits {
		list = append(list, h.Seq)
	}
	return list
}

// A statement that cannot be run is said by whatever asks it.
func TestStatementsThatFail(t *testing.T) {
	longUnderRace(t)
	for name, c := range map[string]struct {
		of func(*reader) **sql.Stmt
		q  telemetry.Query
	}{
		"newest":     {func(r *reader) **sql.Stmt { return &r.newest }, telemetry.Query{Loop: "x"}},
		"oldest":     {func(r *reader) **sql.Stmt { return &r.oldest }, telemetry.Query{Loop: "x", OldestFirst: true}},
		"newest all": {func(r *reader) **sql.Stmt { return &r.newestAll }, telemetry.Query{}},
		"oldest all": {func(r *reader) **sql.Stmt { return &r.oldestAll }, telemetry.Query{OldestFirst: true}},
		"names":      {func(r *reader) **sql.Stmt { return &r.names }, telemetry.Query{NamePart: "x"}},
	} {
		s := filled(t, nil)
		if err := (*c.of(s.reader)).Close(); err != nil {
			t.Fatal(err)
		}
		_, searchErr := s.Search(t.Context(), c.q)
		for _, err := range []error{searchErr, s.Each(t.Context(), c.q, nil)} {
			if err == nil || !strings.Contains(err.Error(), "history "+s.path+": sql: statement is closed") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestListsOfNumbers(t *testing.T) {
	s := filled(t, nil)
	query := func(text string) ([]int64, error) { return list[int64](s.db.QueryContext(t.Context(), text)) }
	if ids, err := query("VALUES (3), (1), (2)"); err != nil || !slices.Equal(ids, []int64{3, 1, 2}) {
		t.Errorf("%v, %v", ids, err)
	}
	for text, want := range map[string]string{"no SQL": "syntax", "VALUES (1), ('x')": "converting", "SELECT abs(id) FROM (SELECT 1 AS id UNION ALL SELECT -9223372036854775808)": "overflow"} {
		if ids, err := query(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", text, ids, err, want)
		}
	}
}

// Names are looked up one by one, and an error in between is one.
func TestNamesThatFail(t *testing.T) {
	s := filled(t, []*telemetry.Trace{named(1, "cart", 0), named(2, "web", 0)})
	if names, err := s.named(t.Context(), ""); names != nil || err != nil {
		t.Errorf("no part is of %v, %v", names, err)
	}
	if names, err := s.named(t.Context(), "no"); names == nil || len(names) > 0 || err != nil {
		t.Errorf("a part of none is of %v, %v", names, err)
	}
	for text, want := range map[string]string{
		"SELECT NULL WHERE ?1 IS NOT ?2": "converting NULL",
		"SELECT abs(n) FROM (SELECT 1 AS n UNION ALL SELECT -9223372036854775808) WHERE ?1 IS NOT ?2": "overflow",
	} {
		replace(t, &s.reader.names, s.reader.db, text)
		if names, err := s.named(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", text, names, err)
		}
		if _, err := s.Search(t.Context(), telemetry.Query{NamePart: "web"}); err == nil || !strings.Contains(err.Error(), "history "+s.path) {
			t.Errorf("%s: Search = %v", text, err)
		}
	}
}

// A sync that another block has, too, is read from there.
func TestDamagedAndKeptOnceMore(t *testing.T) {
	s := filled(t, []*telemetry.Trace{named(1, "web", 0), named(2, "web", 0)})
	if _, err := s.db.ExecContext(t.Context(), "UPDATE blocks SET hits = x'00'"); err != nil {
		t.Fatal(err)
	}
	s.tail = nil
	if err := s.Add(t.Context(), named(1, "web", 0)); err != nil {
		t.Fatal(err)
	}
	if x, err := s.Get(t.Context(), "e", 1); err != nil || x.Seq != 1 {
		t.Errorf("Get = %v, %v", x, err)
	}
	if err := s.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error { return nil }); err == nil || !strings.Contains(err.Error(), "1 syncs cannot be read back") {
		t.Errorf("Each = %v", err)
	}
	enough := errors.New("enough")
	if err := s.Each(t.Context(), telemetry.Query{OldestFirst: true}, func(*telemetry.Trace) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("Each = %v, want the visitor's error", err)
	}
}

// Where tables of contents say what was asked, no sync is unpacked for a list.
func TestListsUnpackNothing(t *testing.T) {
	longUnderRace(t)
	s := filled(t, []*telemetry.Trace{asking(1, "Q-1"), asking(2, "Q-2")})
	replace(t, &s.reader.body, s.reader.db, overflow)
	for _, q := range []telemetry.Query{{Question: "Q-1"}, {Question: "Q-1", Answer: "yes"}} {
		if found, err := s.Search(t.Context(), q); err != nil || !slices.Equal(seqsOf(found), []uint64{1}) {
			t.Errorf("%+v: %v, %v", q, seqsOf(found), err)
		}
	}
	x := asking(3, "Q-3")
	x.Causes = []telemetry.Cause{{Kind: telemetry.CauseTimer}}
	s = filled(t, []*telemetry.Trace{x, asking(4, "Q-3")})
	replace(t, &s.reader.body, s.reader.db, overflow)
	for _, q := range []telemetry.Query{{Cause: telemetry.CauseTimer}, {Cause: telemetry.CauseTimer, Question: "Q-3"}} {
		if found, err := s.Search(t.Context(), q); err != nil || !slices.Equal(seqsOf(found), []uint64{3}) {
			t.Errorf("%+v: %v, %v", q, seqsOf(found), err)
		}
	}
}

// near makes syncs whose messages have every trigram of "abcd", and not that text.
func near(n int, apart time.Duration) (list []*telemetry.Trace) {
	for i := range n {
		x := named(i+1, "web", time.Duration(i)*apart)
		x.Failure = &decision.Failure{Message: "abc bcd"}
		list = append(list, x)
	}
	return list
}

// It reads so many tables of contents, whichever way it goes.
func TestSearchReadsSoManyTables(t *testing.T) {
	longUnderRace(t)
	traces := near(looked+1, 2*longestBlock)
	traces[0].Failure.Message, traces[looked].Failure.Message = "abcd", "abcd"
	s := filled(t, traces)
	for _, oldest := range []bool{true, false} {
		q, last := telemetry.Query{Text: "abcd", OldestFirst: oldest}, []uint64{looked + 1, 1}
		if oldest {
			last = []uint64{1, looked + 1}
		}
		found, err := s.Search(t.Context(), q)
		if err != nil || !slices.Equal(seqsOf(found), last[:1]) {
			t.Fatalf("%v first: %v, %v", oldest, seqsOf(found), err)
		}
		block := number(traces[1].Ended)
		at := -1
		if oldest {
			block, at = number(traces[looked-1].Ended), math.MaxInt32
		}
		if found.Next != cursor(place{block, at}) {
			t.Errorf("oldest first %v: it goes on at %s", oldest, found.Next)
		}
		q.After = found.Next
		if found, err = s.Search(t.Context(), q); err != nil || !slices.Equal(seqsOf(found), last[1:]) || found.Next != "" {
			t.Errorf("oldest first %v: the next page has %v, %q, %v", oldest, seqsOf(found), found.Next, err)
		}
	}
}

// A page has as many hits as were asked for, 50 unless told and 500 at most.
func TestSizesOfPages(t *testing.T) {
	longUnderRace(t)
	var traces []*telemetry.Trace
	for i := range maxPage + 1 {
		traces = append(traces, named(i+1, "web", 0))
	}
	s := filled(t, traces)
	for limit, want := range map[int]int{0: page, 1: 1, 7: 7, maxPage - 1: maxPage - 1, maxPage: maxPage, maxPage + 1: maxPage, 9999: maxPage} {
		found, err := s.Search(t.Context(), telemetry.Query{Limit: limit})
		if err != nil || len(found.Hits) != want || found.Next != cursor(place{number(clock()) + int64(maxPage+1-want)/syncsPerBlock, (maxPage + 1 - want) % syncsPerBlock}) {
			t.Errorf("a limit of %d: %d hits, next %q, %v", limit, len(found.Hits), found.Next, err)
		}
	}
	if found, err := filled(t, traces[:page]).Search(t.Context(), telemetry.Query{}); err != nil || len(found.Hits) != page || found.Next != "" {
		t.Errorf("all of %d: %d hits, next %q, %v", page, len(found.Hits), found.Next, err)
	}
}

// The highest number that a file can have is one like any other; higher ones are not kept.
func TestHighestNumber(t *testing.T) {
	x := named(math.MaxInt64, "web", 0)
	s := filled(t, []*telemetry.Trace{x})
	if got, err := s.Get(t.Context(), "e", math.MaxInt64); err != nil || got.Seq != math.MaxInt64 {
		t.Errorf("Get = %v, %v", got, err)
	}
	for _, seq := range []uint64{0, math.MaxInt64 - 1, math.MaxInt64 + 1, math.MaxUint64} {
		if _, err := s.Get(t.Context(), "e", seq); !errors.Is(err, telemetry.ErrNotKept) {
			t.Errorf("Get(%d) = %v", seq, err)
		}
	}
}

func TestStateOfAFile(t *testing.T) {
	s := filled(t, nil)
	if got := s.reader.State(); got.Kept != 0 || !got.Oldest.IsZero() || !got.Newest.IsZero() || got.Error != "" {
		t.Errorf("an empty file: %+v", got)
	}
	if err := s.Add(t.Context(), named(1, "web", time.Second), named(2, "web", 9*time.Second)); err != nil {
		t.Fatal(err)
	}
	got := s.State()
	if !got.Oldest.Equal(clock().Add(time.Second)) || !got.Newest.Equal(clock().Add(9*time.Second)) || got.MaxAge != DefaultMaxAge || got.MaxBytes != DefaultMaxBytes || got.Kept != 2 {
		t.Errorf("%+v", got)
	}
	some, none := sql.NullInt64{Int64: 5, Valid: true}, sql.NullInt64{}
	for _, c := range [][2]sql.NullInt64{{none, some}, {some, none}, {none, none}} {
		if a, b := span(c[0], c[1]); !a.IsZero() || !b.IsZero() {
			t.Errorf("from %v to %v", a, b)
		}
	}
}

// A block that expires between two looks is as if it had not been there. What fails says so.
func TestBlocksThatGoMeanwhile(t *testing.T) {
	longUnderRace(t)
	for _, c := range []struct {
		name                    string
		of                      func(*reader) **sql.Stmt
		text                    string
		listed, each, get, asOf string // part of the error
		hits, whole             int    // of one sync
	}{
		{"nothing", nil, "", "", "", "", "", 1, 1},
		{"it is gone", func(r *reader) **sql.Stmt { return &r.head }, "SELECT sets, hits, quiet FROM blocks WHERE id < 0 AND id = ?", "", "", "no such sync", "no such sync", 0, 0},
		{"its body is gone", func(r *reader) **sql.Stmt { return &r.body }, "SELECT body FROM bodies WHERE id < 0 AND id = ?", "", "", "no such sync", "no such sync", 1, 0},
		{"it fails", func(r *reader) **sql.Stmt { return &r.head }, overflow, "overflow", "overflow", "overflow", "overflow", 0, 0},
		{"its body fails", func(r *reader) **sql.Stmt { return &r.body }, overflow, "", "overflow", "overflow", "overflow", 1, 0},
	} {
		s := filled(t, []*telemetry.Trace{asking(1, "Q-1"), asking(2, "Q-1")})
		if c.of != nil {
			replace(t, c.of(s.reader), s.reader.db, c.text)
		}
		try := func(what string, err error, want string) {
			t.Helper()
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, %s: %v, want %q", c.name, what, err, want)
			}
		}
		for _, q := range []telemetry.Query{{}, {Question: "Q-1"}} {
			found, err := s.Search(t.Context(), q)
			try("a list", err, c.listed)
			if len(found.Hits) != 2*c.hits {
				t.Errorf("%s: a list of %d", c.name, len(found.Hits))
			}
		}
		visited := 0
		try("each", s.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error { visited++; return nil }), c.each)
		if visited != 2*c.whole {
			t.Errorf("%s: %d visited", c.name, visited)
		}
		_, err := s.Get(t.Context(), "e", 1)
		try("get", err, c.get)
		if c.get == "no such sync" && !errors.Is(err, telemetry.ErrNotKept) {
			t.Errorf("%s: %v", c.name, err)
		}
		_, err = s.AsOf(t.Context(), named(1, "web", 0).Object, clock().Add(time.Hour))
		try("as of", err, c.asOf)
	}
}

// A body is read once for all syncs that are in it.
func TestBodiesAreReadOnce(t *testing.T) {
	wrote := named(3, "web", 0)
	wrote.Result = telemetry.ResultWrote
	s := filled(t, []*telemetry.Trace{asking(1, "Q-1"), asking(2, "Q-1"), wrote})
	ids, err := s.ids(t.Context(), scan{lo: math.MinInt64, hi: math.MaxInt64, chunk: 9})
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	b, err := s.reader.block(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.list(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if x, err := s.whole(t.Context(), entry{place{}, b, i}); err != nil || x.Seq != uint64(i+1) {
			t.Errorf("read: %+v, %v", x, err)
		}
		if i == 0 {
			replace(t, &s.reader.body, s.reader.db, overflow)
		}
	}
	if _, err := s.whole(t.Context(), entry{place{}, b, 2}); err == nil || !strings.Contains(err.Error(), "overflow") {
		t.Errorf("the other body: %v", err)
	}
}

// What is damaged is listed, read past and counted, whichever part of a block it is.
func TestDamagedParts(t *testing.T) {
	longUnderRace(t)
	const unreadable = "This sync cannot be read back."
	for _, c := range []struct {
		change        string
		listed, asked bool // as such
		visited       int
		each          bool // an error
	}{
		{"UPDATE blocks SET sets = x'00'", true, true, 0, true},
		{"UPDATE blocks SET hits = x'00'", true, true, 0, true},
		{"UPDATE bodies SET body = x'00'", false, false, 0, true},
		{"UPDATE bodies SET body = x''", false, false, 0, true},
		{"UPDATE bodies SET body = (SELECT sets FROM blocks)", false, false, 0, true},
	} {
		s := filled(t, []*telemetry.Trace{asking(1, "Q-1"), asking(2, "Q-1")})
		if _, err := s.db.ExecContext(t.Context(), c.change); err != nil {
			t.Fatal(err)
		}
		for q, is := range map[*telemetry.Query]bool{{}: c.listed, {Question: "Q-1"}: c.asked} {
			found, err := s.Search(t.Context(), *q)
			if err != nil || len(found.Hits) == 0 || (found.Hits[0].Text == unreadable) != is || strings.Contains(found.Hits[0].Error, "damaged") != is || !found.Hits[0].Started.Round(time.Second).Equal(clock()) {
				t.Errorf("%s, %+v: %+v, %v", c.change, q, found, err)
			}
		}
		visited := 0
		err := s.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error { visited++; return nil })
		if visited != c.visited || errors.Is(err, errDamaged) != c.each {
			t.Errorf("%s: Each = %v after %d", c.change, err, visited)
		}
		_, getErr := s.Get(t.Context(), "e", 2)
		_, asOfErr := s.AsOf(t.Context(), named(1, "web", 0).Object, clock().Add(time.Hour))
		for _, err := range []error{getErr, asOfErr} {
			if !errors.Is(err, errDamaged) || !strings.HasPrefix(err.Error(), "history "+s.path) || strings.Count(err.Error(), s.path) != 1 {
				t.Errorf("%s: %v", c.change, err)
			}
		}
	}
}
