package conformance

import (
	"fmt"
	"testing"

	"github.com/loopscope/loopscope/cmd/sandbox/testplane"
)

// TestConformance runs the suite on each side and compares the verdicts, as
// often as it is told to. Every spec's name and verdicts are printed.
func TestConformance(t *testing.T) {
	s := settingsOf(t)
	testplane.Binary(t) // once, before the sides need it at the same time
	p := buildPrograms(t)
	for n := range s.runs {
		t.Run(fmt.Sprintf("run %d", n+1), func(t *testing.T) {
			r := p.round(t, s)
			t.Logf("verdicts of run %d\n%s%s", n+1, r.table(s.sides), r.reasons(s.sides))
			for _, wrong := range r.judge(s.selection, s.sides) {
				t.Error(wrong)
			}
		})
	}
}

// round runs the sides at the same time, each on a plane of its own. Their
// specs wait more than they work, so that neither is in the other's way.
func (p programs) round(t *testing.T, s settings) round {
	t.Helper()
	results := make([]verdicts, len(s.sides))
	t.Run("sides", func(t *testing.T) {
		for i, who := range s.sides {
			t.Run(string(who), func(t *testing.T) {
				t.Parallel()
				results[i] = p.beside(t, who, s.selection)
			})
		}
	})
	if t.Failed() {
		t.FailNow() // there is nothing to compare
	}
	r := round{}
	for i, who := range s.sides {
		r[who] = results[i]
	}
	return r
}

// beside runs the suite on a plane of a side. During the whole of it, a process watches upstream's loops: it has to
// agree with them, and to read only.
func (p programs) beside(t *testing.T, who side, sel selection) verdicts {
	t.Helper()
	if who != upstream || sel != whole {
		return p.run(t, testplane.Start(t, testplane.Options{Loops: who.loops()}), sel)
	}
	plane := testplane.Start(t, testplane.Options{Loops: who.loops(), Audit: true, Policy: testplane.LoopscopePolicy})
	w := testplane.Watch(t, plane)
	result := p.run(t, plane, sel)
	w.Finish(t)
	return result
}
