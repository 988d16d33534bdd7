package telemetry

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// outcome is a sync with one action, and how that ended.
func outcome(result Result, name string, a decision.Action, o decision.Outcome) *Trace {
	t := ended(result, name)
	t.Rounds = []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{a}}, Outcomes: []decision.Outcome{o}}}
	return t
}

func TestClass(t *testing.T) {
	written := decision.Outcome{State: decision.Written, RV: "7"}
	slow := quiet("web")
	slow.Ended = slow.Started.Add(time.Second)
	published := quiet("web")
	published.Report = &decision.Report{Outcome: &written}
	broken := quiet("web")
	broken.Failure = &decision.Failure{Message: "no"}
	for _, c := range []struct {
		name  string
		trace *Trace
		want  Class
	}{
		{"nothing written", quiet("web"), ClassQuiet},
		{"waits for its echo", ended(ResultWaiting, "web"), ClassQuiet},
		{"took a second", slow, ClassSlow},
		{"wrote", ended(ResultWrote, "web"), ClassWrote},
		{"published a status", published, ClassWrote},
		{"failed", ended(ResultFailed, "web"), ClassFailed},
		{"lost a reply", ended(ResultUnknown, "web"), ClassFailed},
		{"panicked", ended(ResultPanicked, "web"), ClassFailed},
		{"an error beside it", broken, ClassFailed},
		{"failed after a write", outcome(ResultFailed, "web", decision.Action{}, written), ClassFailed},
		{"another writer was first", ended(ResultStale, "web"), ClassConflicted},
		{"a conflict in a failed sync", outcome(ResultFailed, "web", decision.Action{}, decision.Outcome{State: decision.Conflicted}), ClassConflicted},
	} {
		if got := c.trace.Class(time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOneOutcomeIsEnough, whichever it is and whatever comes after it.
func TestOneOutcomeIsEnough(t *testing.T) {
	sized, plain := decision.Action{Count: 1}, decision.Action{}
	for name, c := range map[string]struct {
		action                   decision.Action
		states                   []decision.State
		wrote, sized, conflicted bool
	}{
		"none":             {sized, nil, false, false, false},
		"the first":        {sized, []decision.State{decision.Written, decision.Refused}, true, true, false},
		"the last":         {sized, []decision.State{decision.Refused, decision.Partly}, true, true, false},
		"of no size":       {plain, []decision.State{decision.Written}, true, false, false},
		"a conflict first": {sized, []decision.State{decision.Conflicted, decision.Refused}, false, false, true},
		"a conflict last":  {sized, []decision.State{decision.Refused, decision.Conflicted}, false, false, true},
	} {
		var r decision.Round
		for _, state := range c.states {
			r.Verdict.Actions, r.Outcomes = append(r.Verdict.Actions, c.action), append(r.Outcomes, decision.Outcome{State: state})
		}
		x := Trace{Rounds: []decision.Round{r}}
		if x.Wrote() != c.wrote || x.WroteSize() != c.sized || x.conflicted() != c.conflicted {
			t.Errorf("%s: wrote %t, a size %t, conflicted %t", name, x.Wrote(), x.WroteSize(), x.conflicted())
		}
	}
	status := Trace{Report: &decision.Report{Outcome: &decision.Outcome{State: decision.Written}}}
	if !status.Wrote() || status.WroteSize() {
		t.Error("a status is a write, and no size")
	}
}

// Last night's conflict outlives ten thousand quiet resyncs.
func TestQuietResyncsEvictNothingRemarkable(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops})
	slow := quiet("web")
	slow.Ended = slow.Started.Add(2 * time.Second)
	record(j, ended(ResultStale, "web"), ended(ResultFailed, "web"), ended(ResultWrote, "web"), slow)
	for range 10_000 {
		j.Record(quiet("web"))
		j.Record(quiet("other"))
	}
	for seq := uint64(1); seq <= 4; seq++ {
		if _, ok := j.Get(seq); !ok {
			t.Errorf("trace %d is gone", seq)
		}
	}
	if got := seqs(j.Of(object("web"), 1<<20)); len(got) != 4+4096 || !cmp.Equal(got[:4], span(1, 4)) {
		t.Errorf("web keeps %d traces, the first %v", len(got), got[:min(5, len(got))])
	}
	if web, other := j.Folded(object("web")), j.Folded(object("other")); web != 10_000-4096 || other != 10_000-4096 {
		t.Errorf("folded %d and %d, want %d each", web, other, 10_000-4096)
	}
	if _, _, folded := j.Window(); folded != 2*(10_000-4096) {
		t.Errorf("folded %d in all", folded)
	}
}

func TestEachClassHasItsOwnRoom(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 1, Wrote: 3, Failed: 2, Conflicted: 2, Slow: 1})
	for _, r := range []Result{ResultFailed, ResultStale} {
		for range 4 {
			tr := ended(r, "web")
			tr.Failure = &decision.Failure{Message: "no"}
			j.Record(tr)
		}
	}
	for range 50 {
		j.Record(ended(ResultWrote, "web"))
	}
	want := []uint64{3, 4, 7, 8, 56, 57, 58}
	if diff := cmp.Diff(want, seqs(j.Of(object("web"), 99))); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if _, ok := j.Get(2); ok {
		t.Error("trace 2 is still found")
	}
}

func TestLookups(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 2})
	// 1 and 4 wrote; 2, 3 and 5 leave; 6 and 7 are recent.
	record(j, ended(ResultWrote, "web"), quiet("web"), quiet("web"), ended(ResultWrote, "web"), quiet("web"), quiet("web"), quiet("other"))
	get := func(tr *Trace, ok bool) uint64 {
		if !ok {
			return 0
		}
		return tr.Seq
	}
	web := object("web")
	for _, c := range []struct {
		what      string
		got, want uint64
	}{
		{"Get(0)", get(j.Get(0)), 0},
		{"Get(1)", get(j.Get(1)), 1},
		{"Get(2)", get(j.Get(2)), 0},
		{"Get(3)", get(j.Get(3)), 0},
		{"Get(4)", get(j.Get(4)), 4},
		{"Get(5)", get(j.Get(5)), 0},
		{"Get(6)", get(j.Get(6)), 6},
		{"Get(8)", get(j.Get(8)), 0},
		{"Prev(1)", get(j.Prev(web, 1)), 0},
		{"Prev(4)", get(j.Prev(web, 4)), 1},
		{"Prev(3), not kept", get(j.Prev(web, 3)), 1},
		{"Prev(7), of another", get(j.Prev(web, 7)), 6},
		{"After(4)", get(j.After(web, 4)), 6},
		{"After(2), not kept", get(j.After(web, 2)), 4},
		{"After(6)", get(j.After(web, 6)), 0},
		{"After of nobody", get(j.After(object("nobody"), 1)), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.what, c.got, c.want)
		}
	}
	if diff := cmp.Diff([]uint64{4, 6}, seqs(j.Of(web, 2))); diff != "" {
		t.Errorf("Of, two of them (-want +got):\n%s", diff)
	}
}

func TestBytesAreBounded(t *testing.T) {
	const big = 100 << 10
	j := NewJournal(JournalOptions{Loops: TestLoops, Bytes: 4 << 20})
	record(j, ended(ResultStale, "web"), ended(ResultFailed, "web"))
	for i := range 500 {
		tr := ended([]Result{ResultWrote, ResultUnchanged}[i%2], "web")
		tr.Snapshot = SnapshotText(json.RawMessage(strings.Repeat("x", big)))
		j.Record(tr)
		if j.bytes > 4<<20 {
			t.Fatalf("%d bytes after %d traces", j.bytes, i+3)
		}
	}
	kept := j.Of(object("web"), 1<<20)
	if n := len(kept); n < 35 || kept[n-1].Seq != 502 {
		t.Errorf("%d traces kept, newest %d; 4 MiB have room for about 40", n, kept[n-1].Seq)
	}
	// The two small ones were not what took the room.
	if !cmp.Equal(seqs(kept[:2]), span(1, 2)) {
		t.Errorf("the conflict and the failure had to go: %v", seqs(kept))
	}
	huge := quiet("web")
	huge.Snapshot = SnapshotText(json.RawMessage(strings.Repeat("x", 5<<20)))
	j.Record(huge)
	if batch, _, err := j.Next(t.Context(), 502); err != nil || len(batch) != 1 {
		t.Errorf("a trace larger than the bound does not reach readers: %v, %v", seqs(batch), err)
	}
}

// TestEstimateCountsWhatThereIs: every part of a trace adds to what it is taken to weigh.
func TestEstimateCountsWhatThereIs(t *testing.T) {
	path := decision.Path{{Facts: make([]decision.Fact, 2)}, {}}
	verdict := func(v decision.Verdict, outcomes int) []decision.Round {
		return []decision.Round{{Verdict: v, Outcomes: make([]decision.Outcome, outcomes)}}
	}
	for name, c := range map[string]struct {
		trace Trace
		want  int64
	}{
		"nothing":         {Trace{}, 0},
		"a snapshot":      {Trace{Snapshot: SnapshotText([]byte("1234567"))}, 7},
		"causes":          {Trace{Causes: make([]Cause, 2)}, 2 * 256},
		"findings":        {Trace{Diagnosis: decision.Diagnosis{Findings: make([]decision.Finding, 2)}}, 2 * 512},
		"an empty round":  {Trace{Rounds: verdict(decision.Verdict{}, 0)}, 0},
		"a path":          {Trace{Rounds: verdict(decision.Verdict{Path: path}, 0)}, 2*96 + 2*56},
		"actions":         {Trace{Rounds: verdict(decision.Verdict{Actions: make([]decision.Action, 2)}, 0)}, 2 * 384},
		"held writes":     {Trace{Rounds: verdict(decision.Verdict{Held: make([]decision.Held, 2)}, 0)}, 2 * 384},
		"outcomes":        {Trace{Rounds: verdict(decision.Verdict{}, 2)}, 2 * 256},
		"an empty report": {Trace{Report: &decision.Report{}}, 0},
		"a report":        {Trace{Report: &decision.Report{Path: path, Changes: make([]decision.Change, 2), Events: make([]decision.Event, 3)}}, 2*96 + 2*56 + 5*128},
	} {
		if got := estimate(&c.trace) - 1024; got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestEquallyGreedy: of two that hold as much the ring pays first, and of shelves the first.
func TestEquallyGreedy(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 1})
	record(j, ended(ResultFailed, "web"), ended(ResultWrote, "web"), quiet("web"))
	for _, want := range [][]uint64{{1, 2, 3}, {1, 2}, {1}, {}} {
		if got := seqs(j.Kept(0, 9)); !cmp.Equal(got, want) {
			t.Errorf("kept %v, want %v", got, want)
		}
		if more := j.evictLargest(); more != (len(want) > 0) {
			t.Errorf("of %v something goes: %t", want, more)
		}
	}
}

// big is a sync with a snapshot of 100 KiB.
func big(result Result) *Trace {
	t := ended(result, "web")
	t.Snapshot = SnapshotText(json.RawMessage(strings.Repeat("x", 100<<10)))
	return t
}

// Whoever takes most room pays: a class gives up what it has, not what another has.
func TestTheGreediestPays(t *testing.T) {
	t.Run("quiet traces do not cost a small conflict", func(t *testing.T) {
		j := NewJournal(JournalOptions{Loops: TestLoops, Bytes: 1 << 20})
		j.Record(ended(ResultStale, "web"))
		for range 100 {
			j.Record(big(ResultUnchanged))
		}
		if _, ok := j.Get(1); !ok {
			t.Error("the conflict is gone")
		}
	})
	t.Run("a class keeps what fits when the quiet ones come", func(t *testing.T) {
		j := NewJournal(JournalOptions{Loops: TestLoops, Bytes: 1 << 20, Recent: 100})
		for range 100 {
			j.Record(big(ResultWrote))
		}
		for range 100 {
			j.Record(ended(ResultUnchanged, "other"))
		}
		if n := len(j.Of(object("web"), 100)); n != 9 {
			t.Errorf("%d writes are kept; beside 100 small ones 1 MiB has room for 9", n)
		}
	})
}

func TestCountOfALiveObjectSurvivesItsTraces(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 2})
	for range 3 {
		record(j, quiet("web"), quiet("other"), quiet("other"), quiet("other"))
	}
	if n := j.Folded(object("web")); n != 3 {
		t.Errorf("folded %d, want 3", n)
	}
	gone := quiet("web")
	gone.Gone = true
	record(j, gone, quiet("other"), quiet("other"))
	if n := j.Folded(object("web")); n != 0 || len(j.objects) != 1 {
		t.Errorf("folded %d of an object that is gone, %d objects indexed", n, len(j.objects))
	}
}

// Ten thousand objects come and go, as in a namespace of jobs. What is kept
// about them is bounded by the traces that are kept.
func TestIndexIsBoundedUnderChurn(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 100, Wrote: 50, Failed: 10, Conflicted: 10, Slow: 10, Writes: 64})
	for i := range 10_000 {
		name := fmt.Sprintf("job-%d", i)
		gone := quiet(name)
		gone.Gone = true
		record(j, outcome(ResultWrote, name, decision.Action{Target: decision.Ref{Kind: "ReplicaSet", Name: name}}, decision.Outcome{State: decision.Written, RV: fmt.Sprint(i)}), quiet(name), gone)
	}
	if n := len(j.objects); n > 180 {
		t.Errorf("%d objects are indexed", n)
	}
	if n := j.Board().Len(); n != 0 {
		t.Errorf("%d objects are on the board", n)
	}
	if n := len(j.wrote.syncs); n > 64 {
		t.Errorf("%d writes are remembered", n)
	}
	for i := range j.shelves {
		if n := len(j.shelves[i].items); n > 4*64 {
			t.Errorf("shelf %d has grown to %d", i, n)
		}
	}
}

// Random traces against a plain list: what is kept is what the rules say.
func TestRetentionAgainstAModel(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := JournalOptions{Loops: TestLoops, Recent: 1 + r.IntN(20), Wrote: 1 + r.IntN(8), Failed: 1 + r.IntN(8), Conflicted: 1 + r.IntN(8), Slow: 1 + r.IntN(8)}
		j := NewJournal(o)
		var all []*Trace
		for range 200 {
			tr := ended(Results[r.IntN(len(Results))], fmt.Sprintf("web-%d", r.IntN(4)))
			tr.Ended = tr.Started.Add(time.Duration(r.IntN(1200)) * time.Millisecond)
			tr.Gone = r.IntN(10) == 0
			j.Record(tr)
			all = append(all, tr)
		}
		want := modelKept(o, all)
		for n := range 4 {
			name := fmt.Sprintf("web-%d", n)
			if diff := cmp.Diff(want[name], seqs(j.Of(object(name), 1000))); diff != "" {
				t.Fatalf("seed %d, %s (-want +got):\n%s", seed, name, diff)
			}
		}
	}
}

func modelKept(o JournalOptions, all []*Trace) map[string][]uint64 {
	keep := map[uint64]bool{}
	newest := func(limit int, belongs func(*Trace) bool) {
		for i := len(all) - 1; i >= 0 && limit > 0; i-- {
			if belongs(all[i]) {
				keep[all[i].Seq] = true
				limit--
			}
		}
	}
	newest(o.Recent, func(*Trace) bool { return true })
	newest(o.Wrote, func(t *Trace) bool { return t.Result == ResultWrote })
	newest(o.Conflicted, func(t *Trace) bool { return t.Result == ResultStale })
	newest(o.Slow, func(t *Trace) bool { return t.Took() >= time.Second })
	newest(o.Failed, func(t *Trace) bool { return t.Class(time.Hour) == ClassFailed })
	keepEnds(keep, all)
	lists := map[string][]uint64{}
	for n := range 4 {
		lists[fmt.Sprintf("web-%d", n)] = []uint64{}
	}
	for _, t := range all {
		if keep[t.Seq] {
			lists[t.Name] = append(lists[t.Name], t.Seq)
		}
	}
	return lists
}

// mixed is syncs of all classes, of a family and of others.
func mixed(n int) []*Trace {
	var list []*Trace
	for i := range n {
		x := quiet(fmt.Sprintf("web-%d", i%3))
		switch i % 5 {
		case 0:
			x.Result = ResultWrote
		case 1:
			x.Loop, x.Owner = "replicaset", "web-0"
		case 2:
			x.Result = ResultStale
		}
		x.Started = time.Unix(int64(i), 0).UTC()
		x.Ended = x.Started.Add(time.Duration(i%4) * 400 * time.Millisecond)
		list = append(list, x)
	}
	return list
}

// The bytes that the journal counts are those of what it keeps, on every shelf.
func TestBytesOfWhatIsKept(t *testing.T) {
	j := NewJournal(JournalOptions{Loops: TestLoops, Recent: 32, Wrote: 16})
	record(j, mixed(52)...)
	for i := range 3 {
		gone := quiet(fmt.Sprintf("web-%d", i))
		gone.Gone = true
		record(j, gone)
	}
	record(j, mixed(52)...)
	seen := map[*kept]bool{}
	var bytes, shelved int64
	note := func(k *kept) {
		if k != nil && !seen[k] {
			seen[k] = true
			bytes += k.size
			if k.shelves != 0 {
				shelved += k.size
			}
		}
	}
	for i := range j.recent {
		note(j.recent[i].Load())
	}
	for i := range j.shelves {
		var sum int64
		for _, k := range j.shelves[i].items[j.shelves[i].gone:] {
			note(k)
			sum += k.size
		}
		if sum != j.shelves[i].bytes {
			t.Errorf("shelf %d counts %d bytes and has %d", i, j.shelves[i].bytes, sum)
		}
	}
	if bytes != j.bytes || shelved != j.shelved {
		t.Errorf("counted %d bytes, %d on shelves; there are %d and %d", j.bytes, j.shelved, bytes, shelved)
	}
}
