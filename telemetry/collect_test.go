package telemetry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// scripted is an archive that shows the same syncs to every walk, or fails one.
type scripted struct {
	Archive
	syncs  []*Trace
	walks  []int // how many syncs each walk visited
	failed int   // the walk that fails, from 1
	asOf   error
}

var errScripted = errors.New("disk gone")

func (a *scripted) AsOf(context.Context, Object, time.Time) (*Trace, error) {
	return a.syncs[0], a.asOf
}

func (a *scripted) Each(_ context.Context, _ Query, visit func(*Trace) error) error {
	a.walks = append(a.walks, 0)
	if len(a.walks) == a.failed {
		return errScripted
	}
	for _, t := range a.syncs {
		a.walks[len(a.walks)-1]++
		if err := visit(t); err != nil {
			return err
		}
	}
	return nil
}

// toned is a sync whose sentence has that tone.
func toned(seq uint64, tone decision.Tone) *Trace {
	t := quiet("web")
	t.Seq, t.Report, t.Sentence.Tone = seq, &decision.Report{}, tone
	return t
}

// TestCollectSaysWhatItCouldNotRead: each of its walks may be the one that fails.
func TestCollectSaysWhatItCouldNotRead(t *testing.T) {
	for failed, want := range map[int]string{1: "read back from sync 7: ", 2: "read on from sync 7: ", 3: "read what belongs to shop/web: ", 4: "read the syncs of shop/web: "} {
		a := &scripted{syncs: []*Trace{toned(7, decision.ToneMoving)}, failed: failed}
		x, list, err := Collect(t.Context(), TestLoops, a, object("web"), time.Time{})
		if x != nil || list != nil || !errors.Is(err, errScripted) || !strings.HasPrefix(err.Error(), want) || len(a.walks) != failed {
			t.Errorf("walk %d fails: %v, %d syncs, %v; want %s…", failed, x, len(list), err, want)
		}
	}
	a := &scripted{syncs: []*Trace{nil}, asOf: ErrNotKept}
	if _, _, err := Collect(t.Context(), TestLoops, a, object("web"), time.Time{}); !errors.Is(err, ErrNotKept) || len(a.walks) != 0 {
		t.Errorf("there is no such sync: %v after %d walks", err, len(a.walks))
	}
	for _, failed := range []int{1, 2} {
		a = &scripted{syncs: []*Trace{toned(7, decision.ToneMoving)}, failed: failed}
		if _, err := Around(t.Context(), TestLoops, a, a.syncs[0]); !errors.Is(err, errScripted) {
			t.Errorf("around a sync, walk %d fails: %v", failed, err)
		}
	}
}

// TestCollectEndsAtRest: back to where it was settled before it moved, on to where it is
// settled again, and all of the family between those.
func TestCollectEndsAtRest(t *testing.T) {
	ok, moving := toned(1, decision.ToneOK), toned(2, decision.ToneMoving)
	a := &scripted{syncs: []*Trace{moving, moving, ok, moving, ok}}
	if _, _, err := Collect(t.Context(), TestLoops, a, object("web"), time.Time{}); err != nil || a.walks[0] != 4 || a.walks[1] != 3 || a.walks[2] != 5 {
		t.Errorf("walks of %v syncs, %v; want the one after the first settled one after a moving one", a.walks, err)
	}
	a = &scripted{syncs: []*Trace{ok, ok, moving, ok, ok}}
	if _, _, err := Collect(t.Context(), TestLoops, a, object("web"), time.Time{}); err != nil || a.walks[0] != 5 || a.walks[1] != 1 {
		t.Errorf("walks of %v syncs, %v; want back beyond the settled ones", a.walks, err)
	}
}

// TestBackToRest: what is settled just before it was unsettled may have led up to that.
func TestBackToRest(t *testing.T) {
	at := func(from float64, tone decision.Tone) *Trace {
		x := toned(uint64(from), tone)
		x.Started, x.Ended = clock(from), clock(from)
		return x
	}
	moving, ok := at(100, decision.ToneMoving), at(99, decision.ToneOK)
	for name, c := range map[string]struct {
		before []*Trace // newest first
		want   float64
	}{
		"nothing":              {nil, 99},
		"long ago":             {[]*Trace{at(90, decision.ToneOK)}, 99},
		"just before":          {[]*Trace{at(98, decision.ToneOK), at(96, decision.ToneOK), at(90, decision.ToneOK)}, 96},
		"another story's end":  {[]*Trace{at(98, decision.ToneMoving), at(97, decision.ToneOK)}, 98},
		"another story's, ago": {[]*Trace{at(90, decision.ToneMoving)}, 99},
	} {
		a := &scripted{syncs: append([]*Trace{moving, ok}, c.before...)}
		if from, err := backToRest(t.Context(), a, moving.Object, moving); err != nil || !from.Equal(clock(c.want)) {
			t.Errorf("%s: from %s, %v; want %s", name, from.Format("05"), err, clock(c.want).Format("05"))
		}
	}
}

// TestCollectIsBounded by what one story may take of an archive that never comes to rest.
func TestCollectIsBounded(t *testing.T) {
	syncs := make([]*Trace, maxCollected+10)
	for i := range syncs {
		syncs[i] = toned(uint64(i+1), decision.ToneMoving)
	}
	a := &scripted{syncs: syncs}
	x, list, err := Collect(t.Context(), TestLoops, a, object("web"), time.Time{})
	if err != nil || x != syncs[0] || len(list) != maxCollected {
		t.Errorf("%v, %d syncs, %v", x, len(list), err)
	}
	list, err = Around(t.Context(), TestLoops, a, syncs[3])
	if err != nil || len(list) != maxCollected {
		t.Errorf("around one: %d syncs, %v", len(list), err)
	}
	for i, n := range a.walks {
		if n != maxCollected {
			t.Errorf("walk %d visits %d syncs, want %d", i+1, n, maxCollected)
		}
	}
}

// TestCollectHasTheSyncItself, once, and also where no walk meets it.
func TestCollectHasTheSyncItself(t *testing.T) {
	now, other := toned(3, decision.ToneMoving), toned(2, decision.ToneMoving)
	for name, c := range map[string]struct {
		met  []*Trace
		want []uint64
	}{"met": {[]*Trace{now, other}, []uint64{3, 2}}, "not met": {[]*Trace{other}, []uint64{2, 3}}} {
		x, list, err := Collect(t.Context(), TestLoops, &besides{scripted{syncs: c.met}, now}, object("web"), time.Time{})
		if err != nil || x != now || !slices.Equal(seqs(list), c.want) {
			t.Errorf("%s: %v of %v, %v; want %v", name, x, seqs(list), err, c.want)
		}
	}
}

// besides is an archive whose answer to AsOf no walk need meet.
type besides struct {
	scripted
	now *Trace
}

func (a *besides) AsOf(context.Context, Object, time.Time) (*Trace, error) { return a.now, nil }

// TestAround finds a sync's family in the minutes beside it, and the sync itself first.
func TestAround(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	begun := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	at := func(minutes time.Duration, o Object, owner string) {
		started := begun.Add(minutes * time.Minute)
		j.Record(&Trace{Object: o, Owner: owner, Result: ResultUnchanged, Started: started, Ended: started.Add(time.Millisecond)})
	}
	set := func(name string) Object { return Object{"replicaset", "shop", name} }
	at(-11, object("web"), "")
	at(-10, object("web"), "")
	at(-1, set("web-1"), "web")
	at(0, set("web-2"), "web")
	at(1, set("api-1"), "api")
	at(2, Object{"deployment", "bank", "web"}, "")
	at(3, set("alone"), "")
	at(4, set("alone"), "")
	at(5, set("web-2"), "") // released
	at(9, object("web"), "")
	at(10, object("web"), "")
	for seq, want := range map[uint64][]uint64{
		4:  {4, 2, 3, 9, 10}, // a ReplicaSet, as long as it was owned and after
		10: {10, 3, 4, 11},   // a Deployment
		7:  {7, 8},           // nobody's
	} {
		of, _ := j.Get(seq)
		list, err := Around(t.Context(), TestLoops, j.Archive(), of)
		if err != nil || !slices.Equal(seqs(list), want) {
			t.Errorf("around sync %d: %v, %v; want %v", seq, seqs(list), err, want)
		}
	}
}
