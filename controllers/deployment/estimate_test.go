package deployment

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
)

// TestStepsLeft counts the waits of a rollout by hand.
func TestStepsLeft(t *testing.T) {
	for _, c := range []struct {
		name                          string
		want, surge, missing          int64
		size, available, old, oldGood int64
		steps                         int64
	}{
		{"done", 3, 1, 0, 3, 3, 0, 0, 0},
		{"all new at once", 3, 3, 0, 0, 0, 3, 3, 1},
		{"one by one", 3, 1, 0, 0, 0, 3, 3, 3},
		{"by fours", 16, 2, 2, 0, 0, 16, 16, 4},
		{"nothing is left but to come up", 3, 1, 0, 3, 2, 0, 0, 1},
		{"unhealthy old ones go at once", 3, 1, 1, 0, 0, 3, 1, 2},
		{"too many new ones", 3, 1, 0, 5, 5, 0, 0, 0},
		{"scaled to nothing", 0, 1, 0, 0, 0, 3, 3, 0},
	} {
		v := &view{s: &Snapshot{}, bounds: rollingupdate.Bounds{Want: c.want, Surge: c.surge, Unavailable: c.missing},
			fresh: &ReplicaSet{Replicas: c.size}, oldTotal: c.old, oldAvailable: c.oldGood, available: c.available + c.oldGood}
		if got := v.stepsLeft(); got != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, got, c.steps)
		}
	}
}

// TestStepsBeyondTheFold: what is extrapolated is what folding on would count,
// one step more or less.
func TestStepsBeyondTheFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(1, 3000).Draw(t, "want")
		b := rollingupdate.Bounds{Want: want, Surge: rapid.Int64Range(0, 40).Draw(t, "surge"), Unavailable: rapid.Int64Range(0, 40).Draw(t, "unavailable")}
		if b.Surge+b.Unavailable == 0 {
			b.Unavailable = 1
		}
		old := rapid.Int64Range(0, want).Draw(t, "old")
		good := rapid.Int64Range(0, old).Draw(t, "oldAvailable")
		v := &view{s: &Snapshot{}, bounds: b, oldTotal: old, oldAvailable: good, available: good}
		exact, f := int64(0), fold{Bounds: b, old: old, oldAvailable: good}
		for f.move(); f.available != f.size; f.move() {
			f.available = f.size
			exact++
		}
		if got := v.stepsLeft(); got < exact-1 || got > exact+1 || got == 0 != (exact == 0) {
			t.Errorf("%d steps, folding on counts %d", got, exact)
		}
		if f.size != want || f.old != 0 {
			t.Errorf("the fold ends with %d new and %d old of %d", f.size, f.old, want)
		}
	})
}

// TestEstimateIsBounded: whatever is recorded, no time leaves the range.
func TestEstimateIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fastest := rapid.Int64Range(0, int64(LongestCame)).Draw(t, "fastest")
		s := &Snapshot{Now: time.Unix(1e9, 0), Found: true, Strategy: rollingUpdate, Want: rapid.Int64Range(0, 1<<31-1).Draw(t, "want"),
			MaxSurge: &IntOrShare{Int: rapid.Int64Range(0, 1<<31-1).Draw(t, "surge")}}
		s.ReplicaSets = []ReplicaSet{
			{Name: "old", Mine: true, Matches: true, Replicas: rapid.Int64Range(0, 1<<31-1).Draw(t, "old")},
			{Name: "new", Mine: true, Matches: true, SameTemplate: true, MinReady: rapid.Int64Range(0, 1<<31-1).Draw(t, "minReady"),
				Came: &Came{Pods: 1, Fastest: time.Duration(fastest), Slowest: time.Duration(rapid.Int64Range(fastest, int64(LongestCame)).Draw(t, "slowest"))}},
		}
		e := EstimateOf(s)
		if e == nil || e.Code != "known" {
			return
		}
		if e.From.Before(s.Now) || e.To.Before(e.From) || e.To.Sub(s.Now) > 3*farthest || e.Steps < 1 {
			t.Errorf("from %s to %s in %d steps", e.From, e.To, e.Steps)
		}
	})
}

// TestEstimateOfAnyMoment: what is due is not said to complete in 0s.
func TestEstimateOfAnyMoment(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to time.Duration
		want     string
	}{
		{0, 0, "Completes any moment"}, {0, 4 * time.Second, "Completes within "}, {900 * time.Millisecond, 4 * time.Second, "Completes within "},
		{time.Second, 4 * time.Second, "Completes in "}, {2 * time.Second, 2 * time.Second, "Completes in "},
	} {
		e := &decision.Estimate{Code: decision.EstimateKnown, From: now.Add(c.from), To: now.Add(c.to), Pods: 1, Steps: 1}
		if w := knownWords(e, now); w[0].Text != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, w[0].Text, c.want)
		}
	}
}
