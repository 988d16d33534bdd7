package sim_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// rolling is a rollout: so many new pods of which some are available, and so many old
// ones of which some are. New ones take 10 to 20 s, and those that are on their way
// were just made.
func rolling(want, surge, missing, size, available, old, oldGood int64) *deployment.Snapshot {
	s := web()
	s.Want, s.MaxSurge, s.MaxUnavailable = want, &deployment.IntOrPercent{Int: surge}, &deployment.IntOrPercent{Int: missing}
	set := func(name string, size, good int64) deployment.ReplicaSet {
		rs := deployment.ReplicaSet{Name: name, UID: name, RV: "1", Created: s.Now.Add(-time.Hour), Mine: true, Matches: true, Replicas: size, Generation: 1, ObservedGeneration: 1,
			StatusReplicas: size, Ready: good, Available: good, NonTerminal: size, Unavailable: size - good,
			Desired: fmt.Sprint(want), Max: fmt.Sprint(want + surge)}
		for i := range min(size-good, deployment.MaxBlocking) {
			rs.Blocking = append(rs.Blocking, deployment.Pod{Name: fmt.Sprintf("%s-%d", name, i), Created: s.Now, Node: "n", Phase: "Pending", Reason: "ContainerCreating", Since: s.Now})
		}
		return rs
	}
	fresh := set("new", size, available)
	fresh.SameTemplate, fresh.Created = true, s.Now.Add(-time.Minute)
	fresh.Startup = &deployment.StartupTimes{Pods: 3, Fastest: 10 * time.Second, Slowest: 20 * time.Second}
	s.ReplicaSets = []deployment.ReplicaSet{set("old", old, oldGood), fresh}
	s.LastProgress = s.Now
	return s
}

// TestEstimateCountsTheWaits: a rollout waits for pods as often as it does by hand.
func TestEstimateCountsTheWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     *deployment.Snapshot
		steps int64 // 0 for none under way
	}{
		{"done", rolling(3, 1, 0, 3, 3, 0, 0), 0},
		{"all new at once", rolling(3, 3, 0, 0, 0, 3, 3), 1},
		{"one by one", rolling(3, 1, 0, 0, 0, 3, 3), 3},
		{"by fours", rolling(16, 2, 2, 0, 0, 16, 16), 4},
		{"nothing is left but to come up", rolling(3, 1, 0, 3, 2, 0, 0), 1},
		{"unhealthy old ones go at once", rolling(3, 1, 1, 0, 0, 3, 1), 2},
		{"too many new ones", rolling(3, 1, 0, 5, 5, 0, 0), 0},
		{"scaled to nothing", rolling(0, 1, 0, 0, 0, 3, 3), 0},
	} {
		e := sim.Estimate(c.s, decision.Learnt{})
		switch {
		case e == nil && c.steps == 0:
		case e == nil || e.Code != decision.EstimateKnown || e.Steps != c.steps:
			t.Errorf("%s: %+v, want %d steps", c.name, e, c.steps)
		case e.From.Sub(c.s.Now) != time.Duration(c.steps)*10*time.Second || e.To.Sub(c.s.Now) != time.Duration(c.steps)*20*time.Second:
			t.Errorf("%s: from %s to %s in %d steps", c.name, e.From.Sub(c.s.Now), e.To.Sub(c.s.Now), e.Steps)
		}
	}
}

// TestEstimateOfExtremes: pods that take no time are waited for once, and those that may
// take forever are no pace.
func TestEstimateOfExtremes(t *testing.T) {
	s := rolling(3, 1, 0, 0, 0, 3, 3)
	startup := s.ReplicaSets[1].Startup
	startup.Fastest, startup.Slowest = 0, 0
	if e := sim.Estimate(s, decision.Learnt{}); e.Steps != 1 || !e.From.Equal(s.Now) || !e.To.Equal(s.Now) {
		t.Errorf("no time: %+v", e)
	}
	for _, fastest := range []time.Duration{time.Second, 3 * 365 * 24 * time.Hour} {
		startup.Fastest, startup.Slowest = fastest, 3*365*24*time.Hour
		if e := sim.Estimate(s, decision.Learnt{}); e.Code != deployment.TooFar().Code {
			t.Errorf("%s to forever: %+v", fastest, e)
		}
	}
}

// TestEstimateOfTooMany: more pods than the model has are not estimated.
func TestEstimateOfTooMany(t *testing.T) {
	if e := sim.Estimate(rolling(sim.MaxPods, 1, 0, 1, 0, sim.MaxPods, sim.MaxPods), decision.Learnt{}); e == nil || e.Code != deployment.TooLarge().Code {
		t.Errorf("%+v", e)
	}
}

// TestEstimateWithinItsBudget: where the fold stops early, what it takes to be left is
// not far from what folding on finds.
func TestEstimateWithinItsBudget(t *testing.T) {
	for _, c := range []struct{ want, surge, missing int64 }{{40, 1, 0}, {100, 25, 25}, {150, 2, 0}, {300, 10, 10}} {
		s := rolling(c.want, c.surge, c.missing, 0, 0, c.want, c.want)
		short, err := sim.FoldPods(s, 20*time.Second, 1)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := sim.FoldPods(s, 20*time.Second, math.MaxInt32)
		if err != nil {
			t.Fatal(err)
		}
		if c.surge == 1 && short != whole { // Its steps are all alike.
			t.Errorf("%+v: %s by its beginning, and %s", c, short, whole)
		}
		if ratio := float64(short) / float64(whole); ratio < 0.7 || ratio > 1.4 {
			t.Errorf("%+v: %s by its beginning, and %s", c, short, whole)
		}
	}
}

// TestEstimateIsBounded: whatever is recorded, no time leaves the range.
func TestEstimateIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(label string) int64 {
			return rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(0, 1<<31-1)).Draw(t, label)
		}
		s := rolling(n("want"), n("surge"), n("missing"), 0, 0, 0, 0)
		s.ReplicaSets[0].Replicas, s.ReplicaSets[1].MinReady = n("old"), n("minReady")
		fastest := rapid.Int64Range(0, int64(deployment.MaxStartupTime)).Draw(t, "fastest")
		s.ReplicaSets[1].Startup.Fastest = time.Duration(fastest)
		s.ReplicaSets[1].Startup.Slowest = time.Duration(rapid.Int64Range(fastest, int64(deployment.MaxStartupTime)).Draw(t, "slowest"))
		e := sim.Estimate(s, decision.Learnt{})
		if e == nil || e.Code != decision.EstimateKnown {
			return
		}
		if e.From.Before(s.Now) || e.To.Before(e.From) || e.To.Sub(s.Now) > 366*24*time.Hour || e.Steps < 1 {
			t.Errorf("from %s to %s in %d steps", e.From, e.To, e.Steps)
		}
	})
}

// BenchmarkEstimate is what the page of a rollout costs beside its sync.
func BenchmarkEstimate(b *testing.B) {
	for _, want := range []int64{3, 30, 300, 1500} {
		b.Run(fmt.Sprintf("pods=%d", want), func(b *testing.B) {
			s := rolling(want, max(1, want/4), want/4, 0, 0, want, want)
			b.ReportAllocs()
			for b.Loop() {
				if e := sim.Estimate(s, decision.Learnt{}); e == nil || e.Code != decision.EstimateKnown {
					b.Fatalf("%+v", e)
				}
			}
		})
	}
}
