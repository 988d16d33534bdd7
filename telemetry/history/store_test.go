package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loopscope/loopscope/telemetry"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// clock is one at which nothing that the generator makes is too old.
func clock() time.Time { return time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC) }

func filled(t testing.TB, traces []*telemetry.Trace) *Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "h.db"), Options{Clock: clock})
	for batch := range slices.Chunk(traces, commitSize) {
		if err := s.Add(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func text(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWhatIsKeptIsReadBackWhole(t *testing.T) {
	longUnderRace(t)
	traces := newGenerator(t, 2, 50).many(600)
	s := filled(t, traces)
	if err := s.Add(t.Context(), traces[:10]...); err != nil {
		t.Errorf("adding again what is there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := Read(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, want := range traces {
		got, err := file.Get(t.Context(), want.Epoch, want.Seq)
		if err != nil {
			t.Fatal(err)
		}
		if text(t, got) != text(t, want) {
			t.Fatalf("sync %d came back as\n%s, it was\n%s", want.Seq, text(t, got), text(t, want))
		}
	}
	state := file.State()
	if state.Kept != 600 || state.Bytes == 0 || state.Error != "" || state.Oldest.After(state.Newest) {
		t.Errorf("state = %+v", state)
	}
	for _, c := range []struct {
		epoch string
		seq   uint64
	}{{"7c41a9f2", 601}, {"other", 1}, {"", 0}, {"7c41a9f2", 1 << 63}} {
		if _, err := file.Get(t.Context(), c.epoch, c.seq); !errors.Is(err, telemetry.ErrNotKept) {
			t.Errorf("Get(%q, %d) = %v, want ErrNotKept", c.epoch, c.seq, err)
		}
	}
}

// model answers a query from the traces themselves.
func model(traces []*telemetry.Trace, q telemetry.Query) (list []uint64) {
	for _, t := range traces {
		if q.Match(t, t.Class(time.Second)) {
			list = append(list, t.Seq)
		}
	}
	return list
}

// queries asks for every field, by what stands in some of the traces.
func queries(traces []*telemetry.Trace) map[string]telemetry.Query {
	some, failed := traces[len(traces)/2], traces[0]
	for _, t := range traces {
		if len(t.Path()) > len(some.Path()) {
			some = t
		}
		if t.Failure != nil && len(t.Failure.Message) > 40 {
			failed = t
		}
	}
	step := some.Path()[len(some.Path())/2]
	return map[string]telemetry.Query{
		"all":              {},
		"loop":             {Loop: "replicationcontroller"},
		"namespace":        {Namespace: some.Namespace},
		"name":             {Name: some.Name},
		"object":           {Loop: some.Loop, Namespace: some.Namespace, Name: some.Name},
		"part of a name":   {NamePart: some.Name[1 : len(some.Name)-1]},
		"one letter":       {NamePart: some.Name[:1]},
		"results":          {Results: []telemetry.Result{telemetry.ResultFailed, telemetry.ResultStale}},
		"class":            {Class: telemetry.ClassSlow},
		"code":             {Code: failed.Sentence.Code},
		"leaf":             {Leaf: some.Leaf()},
		"question":         {Question: step.Question},
		"answer":           {Question: step.Question, Answer: step.Answer},
		"cause":            {Cause: telemetry.CauseTombstone},
		"text":             {Text: failed.Failure.Message[5:30]},
		"text in capitals": {Text: "FORBIDDEN"},
		"time":             {Since: traces[len(traces)/4].Started, Until: traces[3*len(traces)/4].Started},
		"failed and leaf":  {Class: failed.Class(time.Second), Leaf: failed.Leaf(), Loop: failed.Loop},
		"never together":   {Namespace: some.Namespace, Question: step.Question, Answer: step.Answer, Cause: telemetry.CauseStart, Class: telemetry.ClassConflicted},
		"no such part":     {NamePart: "no-such"},
		"nothing":          {Name: "no-such-name"},
	}
}

// slowLast makes the last sync of an object slow that is quiet: whether any of those
// that are generated is, hangs on the goldens they are drawn from.
func slowLast(traces []*telemetry.Trace) {
	later := map[telemetry.Object]bool{}
	for _, t := range slices.Backward(traces) {
		if !later[t.Object] && t.Class(time.Second) == telemetry.ClassQuiet {
			t.Phases.Act += 2 * time.Second
			t.Ended = t.Ended.Add(2 * time.Second)
			return
		}
		later[t.Object] = true
	}
}

// TestSearchFindsWhatTheTracesSay pages through every query, both ways, and
// streams it, against a walk over the traces themselves.
func TestSearchFindsWhatTheTracesSay(t *testing.T) {
	longUnderRace(t)
	traces := inTurn(newGenerator(t, 3, 100).many(1300))
	slowLast(traces)
	traces = inTurn(traces)
	traces = slices.DeleteFunc(traces, func(t *telemetry.Trace) bool { return t.Took() > longestBlock }) // which is listed 5 s after it began
	s := filled(t, traces)
	for name, q := range queries(traces) {
		t.Run(name, func(t *testing.T) {
			want := model(traces, q)
			if (len(want) == 0) != (name == "nothing" || name == "no such part" || name == "never together") {
				t.Errorf("%d syncs are to be found: the query proves nothing", len(want))
			}
			for _, q.OldestFirst = range []bool{true, false} {
				if !q.OldestFirst {
					slices.Reverse(want)
				}
				if got := pages(t, s, q, 77); !slices.Equal(got, want) {
					t.Errorf("oldest first %v: found %d, want %d", q.OldestFirst, len(got), len(want))
				}
				var got []uint64
				if err := s.Each(t.Context(), q, func(t *telemetry.Trace) error { got = append(got, t.Seq); return nil }); err != nil || !slices.Equal(got, want) {
					t.Errorf("oldest first %v: Each visits %d (%v), want %d", q.OldestFirst, len(got), err, len(want))
				}
			}
		})
	}
}

// pages reads all pages of a query.
func pages(t *testing.T, a telemetry.Archive, q telemetry.Query, limit int) (list []uint64) {
	t.Helper()
	q.Limit = limit
	for {
		found, err := a.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			list = append(list, h.Seq)
		}
		if q.After = found.Next; q.After == "" {
			return list
		}
	}
}

func TestHitsSayWhatTheTraceSays(t *testing.T) {
	traces := newGenerator(t, 4, 10).many(200)
	found, err := filled(t, traces).Search(t.Context(), telemetry.Query{Limit: 200, OldestFirst: true})
	if err != nil || len(found.Hits) != 200 || found.Next != "" {
		t.Fatalf("%d hits, next %q, %v", len(found.Hits), found.Next, err)
	}
	for _, got := range found.Hits {
		of := traces[slices.IndexFunc(traces, func(t *telemetry.Trace) bool { return t.Seq == got.Seq })]
		want := telemetry.Hit{
			Epoch: of.Epoch, Seq: of.Seq, Object: of.Object, Started: of.Started, Took: of.Took(), Result: of.Result,
			Class: of.Class(time.Second), Leaf: of.Leaf(), Code: of.Sentence.Code, Text: of.Sentence.At(of.Ended),
		}
		if of.Failure != nil {
			want.Error = of.Failure.Message
		}
		if got != want {
			t.Errorf("hit\n%+v, want\n%+v", got, want)
		}
	}
}

// inTurn are syncs in the order in which a journal has them: that in which they
// end, and those of one object one after the other.
func inTurn(traces []*telemetry.Trace) []*telemetry.Trace {
	slices.SortStableFunc(traces, func(a, b *telemetry.Trace) int { return a.Ended.Compare(b.Ended) })
	ended := map[telemetry.Object]time.Time{}
	return slices.DeleteFunc(traces, func(t *telemetry.Trace) bool {
		if t.Started.Before(ended[t.Object]) {
			return true
		}
		ended[t.Object] = t.Ended
		return false
	})
}

func TestAsOf(t *testing.T) {
	longUnderRace(t)
	traces := inTurn(newGenerator(t, 5, 20).many(2000))
	if len(traces) < 500 {
		t.Fatalf("%d syncs are left: they prove little", len(traces))
	}
	s := filled(t, traces)
	newest := func(o telemetry.Object, at time.Time) (best *telemetry.Trace) {
		for _, t := range traces {
			if t.Object == o && !t.Started.After(at) {
				best = t
			}
		}
		return best
	}
	for i := 0; i < len(traces); i += 4 {
		some := traces[i]
		at := some.Started.Add(time.Duration(i%3-1) * time.Nanosecond) // just before, at, and just after it started
		want := newest(some.Object, at)
		got, err := s.AsOf(t.Context(), some.Object, at)
		switch {
		case want == nil && !errors.Is(err, telemetry.ErrNotKept):
			t.Errorf("AsOf(%v, %v) = %v, want ErrNotKept", some.Object, at, err)
		case want != nil && (err != nil || got.Seq != want.Seq):
			t.Errorf("AsOf(%v, %v) = %v, %v, want sync %d", some.Object, at, got, err, want.Seq)
		}
	}
	if _, err := s.AsOf(t.Context(), telemetry.Object{Loop: "deployment", Namespace: "a", Name: "b"}, clock()); !errors.Is(err, telemetry.ErrNotKept) {
		t.Errorf("AsOf of an unknown object: %v", err)
	}
}

// Syncs that started in the same moment are all kept, in the order in which they came.
func TestSameMoment(t *testing.T) {
	var traces []*telemetry.Trace
	for i := range 3000 {
		traces = append(traces, &telemetry.Trace{Epoch: "e", Seq: uint64(i + 1), Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}, Started: clock(), Ended: clock()})
	}
	s := filled(t, traces)
	want := model(traces, telemetry.Query{})
	if got := pages(t, s, telemetry.Query{OldestFirst: true, Until: clock().Add(time.Nanosecond), Since: clock()}, 400); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestQueriesThatCannotBeAnswered(t *testing.T) {
	s := filled(t, nil)
	for name, q := range map[string]telemetry.Query{
		"a short text": {Text: "ab"}, "a negative limit": {Limit: -1},
		"a strange cursor": {After: "page 2"}, "an answer alone": {Answer: "yes"},
	} {
		if _, err := s.Search(t.Context(), q); !errors.Is(err, telemetry.ErrBadQuery) {
			t.Errorf("%s: Search = %v, want ErrBadQuery", name, err)
		}
		if err := s.Each(t.Context(), q, nil); !errors.Is(err, telemetry.ErrBadQuery) {
			t.Errorf("%s: Each = %v, want ErrBadQuery", name, err)
		}
	}
}

func TestEachStops(t *testing.T) {
	s := filled(t, newGenerator(t, 6, 5).many(20))
	enough, visited := errors.New("enough"), 0
	err := s.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error {
		if visited++; visited == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || visited != 3 {
		t.Errorf("Each = %v after %d, want the visitor's error after 3", err, visited)
	}
	visited = 0
	if err := s.Each(t.Context(), telemetry.Query{Limit: 7}, func(*telemetry.Trace) error { visited++; return nil }); err != nil || visited != 7 {
		t.Errorf("Each with a limit of 7 = %v after %d", err, visited)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Each(ctx, telemetry.Query{}, func(*telemetry.Trace) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Each with an ended context = %v", err)
	}
}

// stopped is a statement that cannot be run any more, in the place of one.
func stopped(t *testing.T, s *Store, statement **sql.Stmt) (start func()) {
	t.Helper()
	own := *statement
	other, err := s.conn.PrepareContext(t.Context(), "SELECT 1")
	if err == nil {
		err = other.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	*statement = other
	return func() { *statement = own }
}

// What is kept already is known by its number, in whichever order syncs come.
func TestWhatIsKeptIsNotKeptAgain(t *testing.T) {
	longUnderRace(t)
	s := filled(t, nil)
	add := func(want uint64, seqs ...int) {
		t.Helper()
		var traces []*telemetry.Trace
		for _, seq := range seqs {
			traces = append(traces, named(seq, "web", 0))
		}
		if err := s.Add(t.Context(), traces...); err != nil || s.State().Kept != want {
			t.Errorf("after %v %d are kept, %v, want %d", seqs, s.State().Kept, err, want)
		}
	}
	add(1, 4)
	add(1, 4)
	add(3, 3, 4, 5)
	add(3, 5, 3)
	add(4, 6, 5)
	add(5, 7)
	add(7, 9, 8)
	for _, s := range []*Store{s, filled(t, nil)} {
		for _, epoch := range []string{"", "f"} {
			x := named(5, "web", 0)
			x.Epoch = epoch
			if err := s.Add(t.Context(), x); err != nil {
				t.Error(err)
			}
			if got, err := s.Get(t.Context(), epoch, 5); err != nil || got.Epoch != epoch {
				t.Errorf("epoch %q: %v, %v", epoch, got, err)
			}
		}
	}
	add(9, 9)
	add(10, 10)
}

// A file that met its bound is known to be tight until a change succeeds.
func TestTightFiles(t *testing.T) {
	s := filled(t, nil)
	bound := func(pages string) {
		t.Helper()
		if _, err := s.conn.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	bound("1") // SQLite takes as many as there are.
	if err := s.Add(t.Context(), near(2000, time.Millisecond)...); err == nil || !s.tight || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("tight %v, %v", s.tight, err)
	}
	bound("100000")
	if err := s.Add(t.Context(), named(1, "web", 0)); err != nil || s.tight {
		t.Errorf("tight %v, %v", s.tight, err)
	}
}

// What cannot be closed is said.
func TestCloseSaysWhatFails(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "h.db"), quick())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []*sql.Stmt{s.begin, s.commit, s.insert, s.body, s.taken, s.there, s.index, s.bounds, s.name} {
		if err := statement.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("Close = %v", err)
	}
}

// Whatever fails while syncs are added, none of them is kept, and the next are.
func TestAddAllOrNothing(t *testing.T) {
	longUnderRace(t)
	s := filled(t, []*telemetry.Trace{named(1, "web", 0)})
	more := []*telemetry.Trace{named(1, "web", 0), named(2, "web", 0), named(3, "web", time.Hour)}
	more[2].Epoch = "f"
	for _, c := range []struct {
		statement **sql.Stmt
		want      string
	}{{&s.there, ""}, {&s.begin, ""}, {&s.taken, "keep syncs: "}, {&s.insert, "keep syncs: "}, {&s.body, "keep syncs: "}, {&s.index, "keep syncs: "}, {&s.name, "keep syncs: keep a name: "}, {&s.commit, ""}} {
		start := stopped(t, s, c.statement)
		s.newest, s.names = 0, names{} // so that it looks for a number, and for a name
		if err := s.Add(t.Context(), more...); err == nil || !strings.Contains(err.Error(), "history "+s.path+": "+c.want+"sql: statement is closed") {
			t.Errorf("%v, want %q", err, c.want)
		}
		start()
		if s.kept != 1 || s.State().Kept != 1 {
			t.Errorf("%q: %d are kept", c.want, s.kept)
		}
	}
	start := stopped(t, s, &s.bounds)
	if err := s.Add(t.Context(), more...); err == nil || !strings.Contains(err.Error(), "history "+s.path+": sql: statement is closed") {
		t.Errorf("what cannot be looked at: %v", err)
	}
	start()
	if err := s.Add(t.Context(), more...); err != nil || s.kept != 3 {
		t.Errorf("%d are kept, %v", s.kept, err)
	}
	check(t, s.path)
}

// A block gets the first free number, and not one before those of a second ago.
func TestFreeNumbers(t *testing.T) {
	s := filled(t, nil)
	for _, c := range []struct {
		taken               []int64
		newest, last, n, is int64
	}{
		{nil, 0, 0, 500, 500}, {nil, 5000, 0, 5000, 5001}, {nil, 5000, 0, 4001, 5001}, {nil, 5000, 0, 4000, 4000}, {nil, 5000, 0, 6000, 6000},
		{[]int64{201}, 0, 201, 201, 202}, {[]int64{200, 201}, 0, 201, 200, 202}, {[]int64{200}, 0, 300, 199, 199},
		{[]int64{200}, 5000, 0, 200, 201}, {[]int64{202}, 0, 300, 201, 201}, {[]int64{201}, 0, 300, 200, 200},
	} {
		if _, err := s.conn.ExecContext(t.Context(), "DELETE FROM blocks"); err != nil {
			t.Fatal(err)
		}
		for _, id := range c.taken {
			if _, err := s.insert.ExecContext(t.Context(), id, "", 1, 1, 1, 1, 1, "", ""); err != nil {
				t.Fatal(err)
			}
		}
		s.newest, s.extent.last.Int64 = c.newest, c.last
		if got, err := s.free(t.Context(), c.n); err != nil || got != c.is {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}

// What a file holds is counted when it is opened.
func TestCountsAreRead(t *testing.T) {
	s := filled(t, append(classed(1, 7), named(30, "web", time.Hour)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.path, Options{Clock: clock})
	if s.kept != 8 || s.quiet != 2 || s.State().Kept != 8 {
		t.Errorf("%d syncs, %d of them quiet", s.kept, s.quiet)
	}
	start := stopped(t, s, &s.bounds)
	if err := s.look(t.Context()); err == nil {
		t.Error("what cannot be looked at is no error")
	}
	start()
}

// Blocks of one commit whose last syncs end in any order have numbers of their own.
func TestBlocksOfOneCommit(t *testing.T) {
	ends := []time.Duration{3 * time.Second, time.Second, 3 * time.Second, 2999 * time.Millisecond, 3 * time.Second}
	var traces []*telemetry.Trace
	for _, end := range ends {
		for range syncsPerBlock {
			traces = append(traces, named(len(traces)+1, "web", 0))
		}
		traces[len(traces)-1].Ended = clock().Add(end)
	}
	s := filled(t, nil)
	if err := s.Add(t.Context(), traces...); err != nil || s.kept != int64(len(traces)) {
		t.Errorf("%d are kept, %v", s.kept, err)
	}
	check(t, s.path)
}

// Syncs that come one by one share a block while it has few of them, and everything is as if
// they had come together.
func TestFewSyncsGoOn(t *testing.T) {
	longUnderRace(t)
	s := filled(t, nil)
	var traces []*telemetry.Trace
	add := func(want int, after time.Duration) {
		t.Helper()
		x := asking(len(traces)+1, "Q-"+strconv.Itoa(len(traces)%3))
		x.Started, x.Ended = clock().Add(after), clock().Add(after)
		if len(traces)%2 == 0 {
			x.Result = telemetry.ResultWrote
		}
		traces = append(traces, x)
		var blocks int
		if err := s.Add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		if err := s.conn.QueryRowContext(t.Context(), "SELECT count(*) FROM blocks").Scan(&blocks); err != nil || blocks != want || s.kept != int64(len(traces)) || s.quiet != int64(len(traces)/2) || s.State().Kept != uint64(len(traces)) {
			t.Errorf("sync %d: %d blocks, want %d, with %d syncs, %d of them quiet, %v", x.Seq, blocks, want, s.kept, s.quiet, err)
		}
	}
	for i := range few {
		add(1, time.Duration(i)*250*time.Millisecond)
	}
	add(2, 4*time.Second)                  // The first has enough.
	add(2, 9*time.Second)                  // As long as a block may be.
	add(3, 9*time.Second+time.Microsecond) // Longer.
	yes := stopped(t, s, &s.index)         // What fails leaves the block as it was.
	if err := s.Add(t.Context(), asking(99, "Q-1")); err == nil {
		t.Error("what failed is no error")
	}
	yes()
	add(4, 9*time.Second+2*time.Microsecond)
	check(t, s.path)
	for name, q := range map[string]telemetry.Query{
		"all": {}, "question": {Question: "Q-2"}, "class": {Class: telemetry.ClassWrote}, "since": {Since: clock().Add(3500 * time.Millisecond)},
		"since, later": {Since: clock().Add(9 * time.Second)}, "until": {Until: clock().Add(3 * time.Second)},
	} {
		want := model(traces, q)
		for _, q.OldestFirst = range []bool{true, false} {
			if !q.OldestFirst {
				slices.Reverse(want)
			}
			if got := pages(t, s, q, 3); !slices.Equal(got, want) {
				t.Errorf("%s: found %v, want %v", name, got, want)
			}
		}
	}
	for _, want := range traces {
		if got, err := s.Get(t.Context(), want.Epoch, want.Seq); err != nil || text(t, got) != text(t, want) {
			t.Errorf("sync %d comes back as %v, %v", want.Seq, got, err)
		}
	}
	s.opts.Clock = func() time.Time { return clock().Add(time.Hour + DefaultMaxAge) }
	if gone, err := s.Trim(t.Context(), 1); gone != int64(len(traces)) || err != nil || s.tail != nil {
		t.Errorf("%d went, %v", gone, err)
	}
	s.opts.Clock = clock
	traces = nil
	add(1, 9*time.Second+3*time.Microsecond) // The block that it would have gone on is no more.
	check(t, s.path)
}
