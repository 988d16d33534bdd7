package history

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// followed is what came of a leader's run: so many syncs, of which every second number was another's, or
// of no loop that is known. The journal keeps few of them.
func followed(n int) *telemetry.Journal {
	j := telemetry.FollowJournal(telemetry.JournalOptions{Epoch: "leader", Recent: 64, Wrote: 8})
	for i := range n {
		x := named(2_000_000+2*i, "web", 0)
		x.Epoch = "leader"
		if i%10 == 0 {
			x.Result = telemetry.ResultWrote // It stands on a shelf.
		}
		j.Follow(x)
	}
	return j
}

// standsBy records what a process would have done, after so many syncs of its own.
func standsBy(own, n int) *telemetry.Journal {
	j := journal(64)
	record(j, several(own)...)
	for _, x := range several(n) {
		x.Standby = true
		record(j, x)
	}
	return j
}

// What is lost at the end is what happened: of a leader's run what came of it, and of the time in which this
// process stood by nothing.
func TestLostAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		journal Journal
		want    uint64
	}{
		{"a leader's run", followed(8000), 8000},
		{"a short one", followed(3), 3},
		{"what it would have done", standsBy(0, 500), 0},
		{"what it did before", standsBy(5, 500), 5},
		{"what it has done", journal(0), 0},
	} {
		k := Keep(filepath.Join(t.TempDir(), "none", "h.db"), quick(), slog.New(slog.DiscardHandler))
		ended, end := context.WithCancel(t.Context())
		end()
		k.Also(ended, c.journal)
		if s := k.State(); s.Dropped != c.want || s.Written != 0 {
			t.Errorf("%s: %+v, want %d lost", c.name, s, c.want)
		}
	}
}

// What a journal of a leader's run gives up while the file cannot be written is lost, and it is said how much
// that is once it is known: when whatever had to wait has been kept.
func TestLostMeanwhile(t *testing.T) {
	for _, first := range []string{"the own journal is the first", "the leader's run is the first"} {
		t.Run(first, func(t *testing.T) {
			folder, log := filepath.Join(t.TempDir(), "later"), &lines{}
			k := Keep(filepath.Join(folder, "h.db"), quick(), log.logger())
			own, run := standsBy(100, 20), followed(1000)
			all := []Journal{own, run}
			at := map[Journal]uint64{}
			round := func(j Journal) {
				next, err := k.keepBatch(t.Context(), j, at[j])
				if at[j] = next; (err == nil) != (k.State().Error == "") {
					t.Error(err)
				}
			}
			for _, j := range all {
				round(j)
			}
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if first == "the leader's run is the first" {
				all[0], all[1] = all[1], all[0]
			}
			for _, j := range all {
				if log.count("kept again") > 0 {
					t.Error("it says that syncs are kept again while some wait")
				}
				for at[j] < j.Last() {
					round(j)
				}
			}
			defer func() { _ = k.close() }()
			// 44 of the newest 64 of its own are its own, and 8 more of the run stand on a shelf.
			lost := 100 - 44 + 1000 - uint64(len(run.Kept(0, 1000)))
			if s := k.State(); s.Dropped != lost || s.Written != 1100-lost || lost < 900 {
				t.Errorf("%+v, want %d lost", s, lost)
			}
			if log.count("kept again") != 1 || log.count(fmt.Sprint("lost=", lost)) != 1 {
				t.Errorf("want %d lost: %s", lost, &log.text)
			}
		})
	}
}

// A run that ends while the file cannot be written holds up nobody who says that it can be again.
func TestLostOfARunThatEnds(t *testing.T) {
	folder, log := filepath.Join(t.TempDir(), "later"), &lines{}
	k := Keep(filepath.Join(folder, "h.db"), quick(), log.logger())
	ctx, end := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { k.Also(ctx, followed(500)) })
	until(t, k, "failing", failing)
	end()
	working.Wait()
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if next, err := k.keepBatch(t.Context(), standsBy(7, 0), 0); next != 7 || err != nil {
		t.Errorf("up to %d, %v", next, err)
	}
	defer func() { _ = k.close() }()
	if s := k.State(); s.Dropped != 500 || s.Written != 7 || log.count("lost=500") != 1 {
		t.Errorf("%+v: %s", s, &log.text)
	}
}

// Where there was nothing to write nobody knows whether that is possible again.
func TestNothingToWriteProvesNothing(t *testing.T) {
	k, log := opened(t, quick())
	run, own := followed(3), standsBy(0, 3)
	yes := no(t, k, "INSERT ON blocks")
	if _, err := k.keepBatch(t.Context(), run, 0); err == nil {
		t.Fatal("it was written")
	}
	if _, err := k.keepBatch(t.Context(), own, 0); err != nil || !failing(k.State()) {
		t.Errorf("%v, %+v", err, k.State())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	k.Also(ended, run)
	record(own, standsBy(0, 1).Kept(0, 1)...)
	if _, err := k.keepBatch(t.Context(), own, 3); err != nil || !failing(k.State()) || log.count("kept again") > 0 {
		t.Errorf("%v, %+v: %s", err, k.State(), &log.text)
	}
	yes()
	record(own, several(1)...)
	if _, err := k.keepBatch(t.Context(), own, 4); err != nil || failing(k.State()) || log.count("lost=3") != 1 {
		t.Errorf("%v, %+v: %s", err, k.State(), &log.text)
	}
}
