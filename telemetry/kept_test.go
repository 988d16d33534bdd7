package telemetry_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// keptSaga is a journal with the rollout of the stories in it.
func keptSaga(t *testing.T) (*telemetry.Journal, telemetry.Archive) {
	t.Helper()
	j := telemetry.NewJournal(telemetry.JournalOptions{Epoch: "e"})
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
		"a loop":                    {telemetry.Query{Loop: telemetry.LoopReplicaSet}, []uint64{5, 3}},
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
	if _, err := a.Search(t.Context(), telemetry.Query{After: "x"}); !errors.Is(err, telemetry.ErrBadQuery) {
		t.Errorf("a cursor that was never given out: %v", err)
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
	if _, err := a.Get(t.Context(), "other", 1); !errors.Is(err, telemetry.ErrNotKept) {
		t.Errorf("of another run: %v", err)
	}
}

// TestCollectIsTheStory reads a story back from an archive.
func TestCollectIsTheStory(t *testing.T) {
	_, a := keptSaga(t)
	x, list, err := telemetry.Collect(t.Context(), a, web, sagaBegan.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := telemetry.NewExcerpt(list).Story(x)
	if !ok || s.Open || s.Counts.Syncs != 5 || s.Settled.IsZero() {
		t.Errorf("story %t: %+v", ok, s)
	}
}
