package telemetry_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// keptSaga is a journal with the rollout of the stories in it.
func keptSaga(t *testing.T) (*telemetry.Journal, telemetry.Archive) {
	t.Helper()
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops, Epoch: "e"})
	s := rollout()
	s.traces[1].Rounds[0].Verdict.Path = decision.Path{{Question: "RR-2", Answer: "yes"}}
	s.traces[2].Failure = &decision.Failure{Message: "Exceeded Quota"}
	for _, x := range s.traces {
		j.Record(x)
	}
	return j, j.Archive()
}

func TestKeptSearch(t *testing.T) {
	_, a := keptSaga(t)
	for name, c := range map[string]struct {
		q    telemetry.Query
		want []uint64
	}{
		"everything, newest first":  {telemetry.Query{}, []uint64{7, 6, 5, 4, 3, 2, 1}},
		"oldest first":              {telemetry.Query{OldestFirst: true}, []uint64{1, 2, 3, 4, 5, 6, 7}},
		"a loop":                    {telemetry.Query{Loop: "replicaset"}, []uint64{5, 3}},
		"a part of a name":          {telemetry.Query{NamePart: "b-1"}, []uint64{5, 3}},
		"a namespace there is not":  {telemetry.Query{Namespace: "other"}, nil},
		"a result":                  {telemetry.Query{Results: []telemetry.Result{telemetry.ResultUnchanged}}, []uint64{7, 4, 1}},
		"a code":                    {telemetry.Query{Code: "readiness"}, []uint64{4}},
		"a question":                {telemetry.Query{Question: "RR-2"}, []uint64{2}},
		"a question's other answer": {telemetry.Query{Question: "RR-2", Answer: "no"}, nil},
		"a cause":                   {telemetry.Query{Cause: telemetry.CauseAdded}, []uint64{5}},
		"an error in any case":      {telemetry.Query{Text: "exceeded quota"}, []uint64{3}},
		"a class":                   {telemetry.Query{Class: telemetry.ClassFailed}, []uint64{3}},
		"a time":                    {telemetry.Query{Since: sagaBegan.Add(2 * time.Second), Until: sagaBegan.Add(4 * time.Second)}, []uint64{3, 2}},
	} {
		found, err := a.Search(t.Context(), c.q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []uint64
		for _, h := range found.Hits {
			got = append(got, h.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: syncs %v, want %v", name, got, c.want)
		}
	}
}

func TestKeptPages(t *testing.T) {
	_, a := keptSaga(t)
	var got []uint64
	q := telemetry.Query{Limit: 3}
	for {
		page, err := a.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Hits) > q.Limit {
			t.Errorf("a page of %d syncs, %d were asked for", len(page.Hits), q.Limit)
		}
		if page.Next != "" && len(page.Hits) < q.Limit {
			t.Errorf("a page of %d syncs before the last one, %d were asked for", len(page.Hits), q.Limit)
		}
		for _, h := range page.Hits {
			got = append(got, h.Seq)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if want := []uint64{7, 6, 5, 4, 3, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("pages list %v, want %v", got, want)
	}
	for _, cursor := range []string{"x", "0", "-1", "99999999999999999999"} {
		if _, err := a.Search(t.Context(), telemetry.Query{After: cursor}); !errors.Is(err, telemetry.ErrBadQuery) {
			t.Errorf("the cursor %q, which was never given out: %v", cursor, err)
		}
	}
	page, err := a.Search(t.Context(), telemetry.Query{After: "5", OldestFirst: true})
	if err != nil || len(page.Hits) != 2 || page.Hits[0].Seq != 6 || page.Next != "" {
		t.Errorf("the last page of the oldest first: %+v, %v", page, err)
	}
}

// TestKeptPagesAreBounded: whoever does not say how much, or asks for too much, gets so many.
func TestKeptPagesAreBounded(t *testing.T) {
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops})
	for range 1001 {
		j.Record(&telemetry.Trace{Object: web, Result: telemetry.ResultUnchanged})
	}
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 1000: 1000, 5000: 1000} {
		page, err := j.Archive().Search(t.Context(), telemetry.Query{Limit: limit})
		if err != nil || len(page.Hits) != want || page.Next != strconv.Itoa(1002-want) {
			t.Errorf("limit %d: %d syncs, next %q, %v; want %d", limit, len(page.Hits), page.Next, err, want)
		}
	}
}

// TestKeptEach stops where it is told to, and when nobody waits any more.
func TestKeptEach(t *testing.T) {
	_, a := keptSaga(t)
	errFull := errors.New("full")
	for name, c := range map[string]struct {
		limit, cancelAt, failAt int
		want                    int
		err                     error
	}{
		"to the end":              {want: 7},
		"a few":                   {limit: 2, want: 2},
		"more than there are":     {limit: 9, want: 7},
		"until it fails":          {failAt: 3, want: 3, err: errFull},
		"until nobody waits":      {cancelAt: 3, want: 3, err: context.Canceled},
		"nobody waits at the end": {cancelAt: 7, want: 7, err: context.Canceled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := a.Each(ctx, telemetry.Query{Limit: c.limit}, func(*telemetry.Trace) error {
			if n++; n == c.cancelAt {
				cancel()
			}
			if n == c.failAt {
				return errFull
			}
			return nil
		})
		cancel()
		if n != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %d syncs, %v; want %d, %v", name, n, err, c.want, c.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if page, err := a.Search(ctx, telemetry.Query{}); !errors.Is(err, context.Canceled) || len(page.Hits) != 0 {
		t.Errorf("a search that nobody waits for: %+v, %v", page, err)
	}
}

func TestKeptAsOf(t *testing.T) {
	_, a := keptSaga(t)
	x, err := a.AsOf(t.Context(), web, sagaBegan.Add(4500*time.Millisecond))
	if err != nil || x.Seq != 4 {
		t.Errorf("as of then: %v, %v", x, err)
	}
	if _, err := a.AsOf(t.Context(), web, sagaBegan); !errors.Is(err, telemetry.ErrNotKept) {
		t.Errorf("before the first: %v", err)
	}
	for at, want := range map[time.Duration]uint64{time.Second: 1, 2*time.Second - 1: 1, 2 * time.Second: 2, time.Hour: 7} {
		if x, err := a.AsOf(t.Context(), web, sagaBegan.Add(at)); err != nil || x.Seq != want {
			t.Errorf("as of %s: %v, %v; want sync %d", at, x, err, want)
		}
	}
	if _, err := a.Get(t.Context(), "other", 1); !errors.Is(err, telemetry.ErrNotKept) {
		t.Errorf("of another run: %v", err)
	}
	if _, err := a.Get(t.Context(), "e", 8); !errors.Is(err, telemetry.ErrNotKept) {
		t.Errorf("of a number that nothing has: %v", err)
	}
	if x, err := a.Get(t.Context(), "e", 3); err != nil || x.Seq != 3 {
		t.Errorf("sync 3: %v, %v", x, err)
	}
}

// TestKeptState: what the journal has let go of is not kept, whatever it was.
func TestKeptState(t *testing.T) {
	j := telemetry.NewJournal(telemetry.JournalOptions{Loops: telemetry.TestLoops, Recent: 4, Wrote: 6})
	if st := j.Archive().State(); st.Kept != 0 || st.Written != 0 || !st.Oldest.IsZero() {
		t.Errorf("an empty one has %+v", st)
	}
	for i := range 20 {
		result := telemetry.ResultWrote
		if i%2 == 1 {
			result = telemetry.ResultUnchanged
		}
		j.Record(&telemetry.Trace{Object: web, Result: result, Started: sagaBegan.Add(time.Duration(i) * time.Second)})
		st, kept := j.Archive().State(), j.Kept(0, 100)
		if st.Kept != uint64(len(kept)) || st.Written != uint64(i+1) || st.Expired != st.Written-st.Kept || !st.Oldest.Equal(kept[0].Started) {
			t.Errorf("after %d it has %+v; %d are kept, the first from %s", i+1, st, len(kept), kept[0].Started)
		}
	}
}

// TestCollectIsTheStory reads a story back from an archive.
func TestCollectIsTheStory(t *testing.T) {
	_, a := keptSaga(t)
	x, list, err := telemetry.Collect(t.Context(), telemetry.TestLoops, a, web, sagaBegan.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := telemetry.NewExcerpt(telemetry.TestLoops, list).Story(x)
	if !ok || s.Open || s.Counts.Syncs != 5 || s.Settled.IsZero() {
		t.Errorf("story %t: %+v", ok, s)
	}
}
