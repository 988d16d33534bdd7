package sim_test

import (
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/rollout"
	"github.com/loopscope/loopscope/controllers/sim"
)

// bound is surge or unavailable as the arithmetic and as a request have it.
func bound(t *rapid.T, label string) (rollout.Amount, string) {
	n := rapid.Int64Range(0, 120).Draw(t, label)
	if rapid.Bool().Draw(t, label+" as share") {
		share := fmt.Sprintf("%d%%", n)
		return rollout.Amount{Percent: share}, strconv.Quote(share)
	}
	return rollout.Amount{Int: n}, strconv.FormatInt(n, 10)
}

// anyUpdate is an update of 1 to 100 pods with every flag as drawn, whose pods take their
// time and whose loops take turns as drawn; with the limits that it has to keep.
func anyUpdate(t *rapid.T) (*sim.Cluster, *rollingupdate.Snapshot, rollout.Bounds) {
	surge, surgeText := bound(t, "surge")
	unavailable, unavailableText := bound(t, "unavailable")
	one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	r := request(t, fmt.Sprintf(`,"surge":%s,"unavailable":%s,"updatePeriod":%q,"timeout":%q,"cleanup":%q`, surgeText, unavailableText,
		one("period", "0s", "1s", "10s", "1m"), one("timeout", "1s", "20s", "5m"), one("cleanup", "delete", "rename", "preserve")))
	s := updating(rapid.Int64Range(1, 100).Draw(t, "size"), r)
	s.Old.MinReady = rapid.SampledFrom([]int64{0, 0, 3, 20}).Draw(t, "minReady")
	if rapid.Bool().Draw(t, "split already") {
		s.Old.TemplateKey, s.Old.SelectorKey = s.OldKey, s.OldKey
		for i := range s.Old.Pods {
			s.Old.Pods[i].Key = s.OldKey
		}
	}
	c, err := sim.FromRollingUpdate(s)
	if err != nil {
		t.Fatal(err)
	}
	c.Rules = sim.Rules{
		Schedule: millis(t, "schedule", 2_000), Terminate: millis(t, "end", 4_000),
		Fate: func(string, int) sim.Fate { return sim.ReadyAfter(millis(t, "ready", 40_000)) },
		Next: func(due int) int { return rapid.IntRange(0, due-1).Draw(t, "turn") },
	}
	limits, err := rollout.Resolve(s.Old.Size, &surge, &unavailable)
	if err != nil {
		t.Fatal(err)
	}
	return c, s, limits
}

// keeps fails where a step has left too few pods available or too many pods.
func keeps(t *rapid.T, limits rollout.Bounds, steps []sim.Step) {
	floor, ceiling := limits.Floor(), limits.Ceiling()
	for i := range steps {
		pods := int64(0)
		for _, one := range steps[i].Sets {
			pods += one.Pods
		}
		if steps[i].Available < floor || pods > ceiling {
			t.Fatalf("at %s %s has %d pods, %d available: %d to %d are allowed; %s", steps[i].At.Sub(steps[0].At), steps[i].Name, pods, steps[i].Available, floor, ceiling, left(steps[:i+1]))
		}
	}
}

// TestUpdateKeepsItsLimits: an update of any size with any flags never has fewer pods
// available than it may, nor more pods than it may, and completes.
func TestUpdateKeepsItsLimits(t *testing.T) {
	runs, syncs, pods := 0, 0, int64(0)
	rapid.Check(t, func(t *rapid.T) {
		c, s, limits := anyUpdate(t)
		r := c.Run(sim.Bound{})
		keeps(t, limits, r.Steps)
		last := r.Steps[len(r.Steps)-1]
		if r.End != sim.Complete || last.Available != s.Old.Size {
			t.Fatalf("ends %s with %s: %s", r.End, left(r.Steps), r.Sentence.At(r.At))
		}
		for _, one := range last.Sets {
			if !one.New && one.Pods > 0 {
				t.Fatalf("old pods are left: %s", left(r.Steps))
			}
		}
		runs, syncs, pods = runs+1, syncs+len(r.Steps), pods+s.Old.Size
	})
	t.Logf("%d updates of %d pods, %d syncs", runs, pods, syncs)
}

// TestUpdateIsTakenBack: an update that is taken back at any of its steps keeps the same
// limits, and ends with as many pods as there were: old ones, unless it was too late.
func TestUpdateIsTakenBack(t *testing.T) {
	runs, late := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c, s, limits := anyUpdate(t)
		before := c.Run(sim.Bound{Syncs: rapid.IntRange(0, 12*int(s.Old.Size)).Draw(t, "syncs")})
		if rapid.Bool().Draw(t, "paused first") {
			c.Edit(sim.Ask(func(r *rollingupdate.Request) { r.Paused = true }))
			paused := c.Run(sim.Bound{})
			keeps(t, limits, paused.Steps)
			if paused.Sentence.Code != "paused" && paused.End != sim.Complete {
				t.Fatalf("paused: %s", paused.Sentence.At(paused.At))
			}
		}
		c.Edit(sim.Ask(func(r *rollingupdate.Request) { r.Paused, r.Abort = false, true }))
		r := c.Run(sim.Bound{})
		keeps(t, limits, before.Steps)
		keeps(t, limits, r.Steps)
		size := c.Sizes()
		runs++
		available := int64(0)
		for _, one := range size {
			available += one.Available
		}
		switch {
		case available != s.Old.Size || r.End != sim.Aborted && r.End != sim.Complete:
			t.Fatalf("ends %s with %+v: %s", r.End, size, r.Sentence.At(r.At))
		case r.End == sim.Complete:
			late++
		case len(size) != 1 || size[0].New || size[0].Replicas != s.Old.Size:
			t.Fatalf("is taken back to %+v", size)
		}
	})
	t.Logf("%d updates, of which %d were complete or too late", runs, late)
}

// TestUpdateGoesOn: a model that is made of what the loop sees in the middle of an update
// keeps the same limits from there, and completes.
func TestUpdateGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, s, limits := anyUpdate(t)
		c.Run(sim.Bound{Syncs: rapid.IntRange(0, 12*int(s.Old.Size)).Draw(t, "syncs")})
		middle := c.Update()
		if middle.Request == nil || middle.Old == nil {
			return // It has ended.
		}
		again, err := sim.FromRollingUpdate(middle)
		if err != nil {
			t.Fatal(err)
		}
		r := again.Run(sim.Bound{})
		keeps(t, limits, r.Steps)
		if last := r.Steps[len(r.Steps)-1]; r.End != sim.Complete || last.Available != s.Old.Size {
			t.Fatalf("ends %s with %s: %s", r.End, left(r.Steps), r.Sentence.At(r.At))
		}
	})
}
