package telemetry

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// keepEnds is the model of it: what found an object gone is kept while a sync is that had found it.
func keepEnds(keep map[uint64]bool, all []*Trace) {
	found := map[string]bool{} // since it was gone last, and kept
	for _, t := range all {
		switch {
		case !t.Gone:
			found[t.Name] = found[t.Name] || keep[t.Seq]
		case found[t.Name]:
			keep[t.Seq], found[t.Name] = true, false
		}
	}
}

func lost(name string) *Trace {
	t := quiet(name)
	t.Gone = true
	return t
}

// TestEndOutlivesWhatItEnded: as long as a sync is kept that found an object, so is the one that
// found it gone: nothing else says that the object is not there any more.
func TestEndOutlivesWhatItEnded(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 4, Wrote: 3})
	record(j, ended(ResultWrote, "web"), quiet("web"), lost("web"), lost("web"))
	for range 20 {
		record(j, quiet("api"))
	}
	if got := seqs(j.Of(object("web"), 9)); !cmp.Equal(got, []uint64{1, 3}) {
		t.Errorf("kept of one that is gone: %v", got)
	}
	if _, ok := j.Get(3); !ok {
		t.Error("it is not found by its number")
	}
	if got := seqs(j.Kept(0, 100)); !cmp.Equal(got, []uint64{1, 3, 21, 22, 23, 24}) {
		t.Errorf("kept of all: %v", got)
	}
	record(j, ended(ResultWrote, "web"))
	for range 20 {
		record(j, quiet("api"))
	}
	if got := seqs(j.Of(object("web"), 9)); !cmp.Equal(got, []uint64{1, 3, 25}) {
		t.Errorf("kept of one that was created anew: %v", got)
	}
	for range 3 {
		record(j, ended(ResultWrote, "api"))
	}
	if got := seqs(j.Of(object("web"), 9)); len(got) != 0 {
		t.Errorf("kept for nothing: %v", got)
	}
	if n := len(j.shelves[shelfEnds].items); n != 0 || j.shelves[shelfEnds].bytes != 0 {
		t.Errorf("%d ends are left", n)
	}
}

// TestEndsAreBounded by what they are the ends of, in bytes too.
func TestEndsAreBounded(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 8, Bytes: 64 << 10})
	for i := range 1000 {
		name := fmt.Sprintf("job-%d", i)
		record(j, outcome(ResultWrote, name, decision.Action{}, decision.Outcome{State: decision.Written}), lost(name))
	}
	if n := len(j.shelves[shelfEnds].items); n == 0 || j.bytes > 64<<10 {
		t.Errorf("%d ends, and %d bytes of all", n, j.bytes)
	}
	for _, x := range j.Kept(0, 1000) {
		if !x.Gone {
			if last := j.Of(x.Object, 1); !last[0].Gone {
				t.Errorf("%s seems to be there", x.Key())
			}
		}
	}
}
