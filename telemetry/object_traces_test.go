package telemetry

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestTracesOfAnObject between two numbers, the newest so many of them, as traces and as marks.
func TestTracesOfAnObject(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	for range 4 { // web has the odd numbers up to 7.
		record(j, quiet("web"), quiet("other"))
	}
	web, nobody := object("web"), object("nobody")
	marked := func(limit int) (list []uint64) {
		for _, m := range j.Marks(web, limit) {
			list = append(list, m.Seq)
		}
		return list
	}
	back := func(until uint64) (list []uint64) {
		j.Back(web, func(m *Mark) bool { list = append(list, m.Seq); return m.Seq != until })
		return list
	}
	for name, c := range map[string]struct{ got, want []uint64 }{
		"all":             {seqs(j.Of(web, 99)), []uint64{1, 3, 5, 7}},
		"two":             {seqs(j.Of(web, 2)), []uint64{5, 7}},
		"since":           {seqs(j.Since(web, 3, 99)), []uint64{5, 7}},
		"before":          {seqs(j.Before(web, 5, 99)), []uint64{1, 3}},
		"before, one":     {seqs(j.Before(web, 7, 1)), []uint64{5}},
		"before of no":    {seqs(j.Before(nobody, 7, 1)), nil},
		"marks":           {marked(99), []uint64{1, 3, 5, 7}},
		"three marks":     {marked(3), []uint64{3, 5, 7}},
		"back":            {back(0), []uint64{7, 5, 3, 1}},
		"back until told": {back(5), []uint64{7, 5}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	j.Back(nobody, func(*Mark) bool { t.Error("nobody has a mark"); return false })
}

// TestSynced says whose syncs came after a number, as long as all of those are kept.
func TestSynced(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 4})
	set := ended(ResultUnchanged, "web-1")
	set.Loop = "replicaset"
	record(j, quiet("a"), quiet("b"), quiet("c"), set, quiet("c"), quiet("b")) // Kept are 3 to 6.
	for after, want := range map[uint64][]string{2: {"b", "c"}, 3: {"b", "c"}, 5: {"b"}, 6: {}} {
		got, ok := j.Synced("deployment", after)
		if !ok || len(got) != len(want) {
			t.Errorf("after %d: %v, %t; want %v", after, got, ok, want)
		}
		for _, name := range want {
			if !got[object(name)] {
				t.Errorf("after %d: %v, %s is missing", after, got, name)
			}
		}
	}
	if got, ok := j.Synced("deployment", 1); ok || got != nil {
		t.Errorf("of more than is kept: %v, %t", got, ok)
	}
	recording, err := LoadJournal(JournalOptions{Loops: TestLoops}, loadedTraces())
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := recording.Synced("deployment", 21); ok || got != nil {
		t.Errorf("of a recording: %v, %t", got, ok)
	}
}

// TestSizesOfASync are read from its numbers, and are no more than fits.
func TestSizesOfASync(t *testing.T) {
	for name, c := range map[string]struct {
		numbers []decision.Fact
		want    Sizes
	}{
		"none":      {nil, Sizes{}},
		"others":    {[]decision.Fact{decision.Count("pods", 3)}, Sizes{}},
		"wanted":    {[]decision.Fact{decision.Count("wanted", 4)}, Sizes{}},
		"its own":   {[]decision.Fact{decision.Count("wanted", 4), decision.Count("pods", 3)}, Sizes{New: 3, Ceiling: 4, Known: true}},
		"without":   {[]decision.Fact{decision.Count("old", 3), decision.Count("ceiling", 4)}, Sizes{Old: 3, Ceiling: 4}},
		"all":       {[]decision.Fact{decision.Count("old", 2), decision.Count("new", 1), decision.Count("pods", 9), decision.Count("ceiling", 4)}, Sizes{New: 1, Old: 2, Ceiling: 4, Known: true}},
		"both":      {[]decision.Fact{decision.Count("new", 1), decision.Count("pods", 9), decision.Count("wanted", 8)}, Sizes{New: 1, Known: true}},
		"no sizes":  {[]decision.Fact{decision.Count("new", -1), decision.Count("old", 0)}, Sizes{Known: true}},
		"too large": {[]decision.Fact{decision.Count("new", math.MaxInt32), decision.Count("old", math.MaxInt32+1)}, Sizes{New: math.MaxInt32, Old: math.MaxInt32, Known: true}},
	} {
		if got := (&Trace{Numbers: c.numbers}).Sizes(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestMarkOfASync is what it wrote, and whether that was a size.
func TestMarkOfASync(t *testing.T) {
	size := &decision.Size{From: 1, To: 2}
	for name, c := range map[string]struct {
		action           decision.Action
		state            decision.State
		wrote, wroteSize bool
	}{
		"a size":           {decision.Action{Size: size}, decision.Written, true, true},
		"pods":             {decision.Action{Count: 1}, decision.Written, true, true},
		"some of the pods": {decision.Action{Count: 2}, decision.Partly, true, true},
		"something else":   {decision.Action{}, decision.Written, true, false},
		"a refused size":   {decision.Action{Size: size}, decision.Refused, false, false},
	} {
		x := outcome(ResultUnchanged, "web", c.action, decision.Outcome{State: c.state})
		x.Seq, x.UID, x.Ended = 7, "u", time.Unix(9, 0)
		if m := markOf(x); m.Seq != 7 || m.UID != "u" || !m.Ended.Equal(x.Ended) || m.Wrote != c.wrote || m.WroteSize != c.wroteSize {
			t.Errorf("%s: %+v", name, m)
		}
	}
	status := quiet("web")
	status.Report = &decision.Report{Outcome: &decision.Outcome{State: decision.Written}}
	if m := markOf(status); !m.Wrote || m.WroteSize {
		t.Errorf("a status: %+v", m)
	}
}

// TestSpentOfAKey adds a time to the phase that it was spent in.
func TestSpentOfAKey(t *testing.T) {
	for phase, want := range map[KeyPhase]Spent{
		KeyWaiting: {6, 2, 3}, KeyReady: {1, 7, 3}, KeyProcessing: {1, 2, 8}, KeyDirty: {1, 2, 8}, "": {1, 2, 3},
	} {
		if got := (Spent{1, 2, 3}).Add(phase, 5); got != want {
			t.Errorf("%s: %+v, want %+v", phase, got, want)
		}
	}
}

// TestOutagesOfAServer are those that are over, and the one that is not.
func TestOutagesOfAServer(t *testing.T) {
	over := Outage{Began: time.Unix(1, 0), Ended: time.Unix(2, 0)}
	s := ServerState{Reachable: true, Since: time.Unix(3, 0), Over: []Outage{over}}
	if list := s.Outages(); !slices.Equal(list, []Outage{over}) {
		t.Errorf("it serves: %+v", list)
	}
	s.Reachable, s.Lack, s.Error = false, LackEtcd, "etcd failed"
	want := []Outage{over, {Began: s.Since, Lack: LackEtcd, Error: "etcd failed"}}
	if list := s.Outages(); !slices.Equal(list, want) {
		t.Errorf("it does not: %+v, want %+v", list, want)
	}
}

// TestTimesOfASync are how long it was ready, and how long it ran.
func TestTimesOfASync(t *testing.T) {
	x := &Trace{Queued: time.Unix(1, 0), Started: time.Unix(3, 0), Ended: time.Unix(8, 0)}
	if x.Wait() != 2*time.Second || x.Took() != 5*time.Second {
		t.Errorf("it waited %s and took %s", x.Wait(), x.Took())
	}
}
