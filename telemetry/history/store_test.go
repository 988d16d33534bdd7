package history

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
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
		"loop":             {Loop: telemetry.LoopReplicationController},
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
	if _, err := s.AsOf(t.Context(), telemetry.Object{Loop: telemetry.LoopDeployment, Namespace: "a", Name: "b"}, clock()); !errors.Is(err, telemetry.ErrNotKept) {
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

// Where two words of a block have the same mark, its syncs are unpacked: what is
// found is the same.
func TestBlocksWithoutMarks(t *testing.T) {
	traces := newGenerator(t, 7, 20).many(300)
	s := open(t, filepath.Join(t.TempDir(), "h.db"), Options{Clock: clock})
	groups, err := s.groups(traces)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, p := range g.blocks {
			p.terms.doubled = true
		}
	}
	if _, err := s.keep(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	for name, q := range queries(traces) {
		if got, want := pages(t, s, q, 77), model(traces, q); len(got) != len(want) {
			t.Errorf("%s: found %d, want %d", name, len(got), len(want))
		}
	}
}
