package decision

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a Core that notes what it is asked, and stops where its verdicts say so.
type script struct {
	verdicts []Verdict
	learnt   []Learnt
	settled  int
}

func (s *script) Decide() Verdict          { return s.verdicts[len(s.learnt)] }
func (s *script) Learn(_ Round, l Learnt)  { s.learnt = append(s.learnt, l) }
func (s *script) Settle(r []Round) *Report { s.settled = len(r); return &Report{} }
func (s *script) Tell([]Round, *Report, Try, time.Time) Telling {
	return Telling{}
}

// A sync decides again while acting finds something out, three times at most, and
// settles unless its last round stopped.
func TestSyncRun(t *testing.T) {
	gone := func(uid string) Learnt { return Learnt{ChildrenGone: []string{uid}} }
	for _, tc := range []struct {
		name    string
		stop    []bool // by round
		finds   []Learnt
		learnt  []Learnt
		settled int
	}{
		{"nothing found out", []bool{false}, []Learnt{{}}, nil, 1},
		{"stopped", []bool{true}, []Learnt{{}}, nil, 0},
		{"once", []bool{true, false}, []Learnt{gone("a"), {}}, []Learnt{gone("a")}, 2},
		{"once, and then stopped", []bool{false, true}, []Learnt{gone("a"), {}}, []Learnt{gone("a")}, 0},
		{"more than it may", []bool{false, false, false}, []Learnt{gone("a"), gone("b"), gone("c")}, []Learnt{gone("a"), gone("b")}, 3},
	} {
		core := &script{}
		var recorded []Round
		before := Learnt{}
		for i, stop := range tc.stop {
			core.verdicts = append(core.verdicts, Verdict{Stop: stop})
			recorded = append(recorded, Round{Learnt: before, Outcomes: []Outcome{{Done: int64(i + 1)}}})
			before = tc.finds[i]
		}
		sync := Sync{Core: core}
		round := 0
		sync.Run(func(Verdict) ([]Outcome, Learnt) {
			round++
			return recorded[round-1].Outcomes, tc.finds[round-1]
		})
		if diff := cmp.Diff(tc.learnt, core.learnt); diff != "" || len(sync.Rounds) != len(tc.stop) {
			t.Errorf("%s: %d rounds, learnt (-want +got):\n%s", tc.name, len(sync.Rounds), diff)
		}
		if core.settled != tc.settled || (sync.Report != nil) != (tc.settled > 0) {
			t.Errorf("%s: %d rounds were settled, want %d", tc.name, core.settled, tc.settled)
		}
		act := Recorded(sync.Rounds)
		for i := range sync.Rounds {
			outcomes, learnt := act(Verdict{})
			want := Learnt{}
			if i+1 < len(sync.Rounds) {
				want = sync.Rounds[i+1].Learnt
			}
			if diff := cmp.Diff(want, learnt); diff != "" || outcomes[0].Done != int64(i+1) {
				t.Errorf("%s: round %d is acted again as %v, learnt (-want +got):\n%s", tc.name, i+1, outcomes, diff)
			}
		}
		if outcomes, learnt := act(Verdict{}); outcomes != nil || !learnt.IsZero() {
			t.Errorf("%s: after the last round there are %v and %v", tc.name, outcomes, learnt)
		}
	}
}

// What is found out adds up, and of answers to one question the later one counts.
func TestLearntAdds(t *testing.T) {
	taken := &NameTaken{}
	var l Learnt
	for _, found := range []Learnt{{Parent: "deleting", NameTaken: taken, NamespaceTerminating: true}, {ChildrenGone: []string{"a"}}, {Parent: "gone"}, {ChildrenGone: []string{"b"}}} {
		l.Add(found)
	}
	if diff := cmp.Diff(Learnt{Parent: "gone", NameTaken: taken, NamespaceTerminating: true, ChildrenGone: []string{"a", "b"}}, l); diff != "" {
		t.Errorf("learnt (-want +got):\n%s", diff)
	}
	none := Learnt{}
	none.Add(Learnt{NamespaceTerminating: true})
	if none.Add(Learnt{}); !none.NamespaceTerminating {
		t.Error("that the namespace terminates is forgotten")
	}
}
