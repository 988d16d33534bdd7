package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestShadowSettlesLater: a difference counts when nothing has explained it for long enough.
func TestShadowSettlesLater(t *testing.T) {
	w := newWatching(t)
	w.sync(nil, map[string]string{"web-2": "12"})
	w.sync([]Cause{wrote("web-2", "12", "13", 6, 7, ControllerManager)}, map[string]string{"web-2": "13"})
	for after, want := range []uint64{0, 1} {
		if st := w.shadow.State(w.now.Add(ShadowSettles + time.Duration(after))); st.Count(ShadowUnexplained) != want {
			t.Errorf("%d ns after that: %d differences, want %d", after, st.Count(ShadowUnexplained), want)
		}
	}
}

// TestShadowKnowsAFewManagers, and those better and better.
func TestShadowKnowsAFewManagers(t *testing.T) {
	s := NewShadow(TestLoops)
	for i := range maxManagers + 1 {
		s.agree([]string{fmt.Sprint(i)})
	}
	if _, known := s.agreed[fmt.Sprint(maxManagers)]; len(s.agreed) != maxManagers || known {
		t.Errorf("%d managers are known, want %d", len(s.agreed), maxManagers)
	}
	for range knownBy + 1 {
		s.agree([]string{"0"})
	}
	if s.agree([]string{"1", "2"}); s.agreed["0"] != knownBy || s.agreed["1"] != 1 {
		t.Errorf("%v", s.agreed)
	}
}

// TestShadowAlone: a write has to be the only event, on a version that the sync before
// it has seen and decided on.
func TestShadowAlone(t *testing.T) {
	web := object("web")
	seen := SnapshotText([]byte(`{"replicaSets":[{"name":"web-1","rv":"4"},{"name":"web-2","rv":"5"}]}`))
	before := &Trace{Object: web, Rounds: make([]decision.Round, 1), Snapshot: seen}
	for name, c := range map[string]struct {
		before *Trace
		name   string
		rv     string
		causes int
		want   bool
	}{
		"alone":           {before, "web-2", "5", 1, true},
		"nothing before":  {nil, "web-2", "5", 1, false},
		"with another":    {before, "web-2", "5", 2, false},
		"another version": {before, "web-2", "4", 1, false},
		"never seen":      {before, "web-3", "5", 1, false},
		"undecided":       {&Trace{Object: web, Snapshot: seen}, "web-2", "5", 1, false},
		"no snapshot":     {&Trace{Object: web, Rounds: before.Rounds}, "web-2", "5", 1, false},
	} {
		s := NewShadow(TestLoops)
		if c.before != nil {
			s.newest[web] = c.before
		}
		now := &Trace{Object: web, Causes: make([]Cause, c.causes)}
		if got := s.alone(shadowTarget{"shop", c.name}, &Cause{OldRV: c.rv}, now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
