package sim_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/controllers/sim"
)

func anyAmount(t *rapid.T, label string) *intstr.IntOrString {
	if rapid.Bool().Draw(t, label+" as share") {
		return &intstr.IntOrString{Type: intstr.String, StrVal: fmt.Sprintf("%d%%", rapid.IntRange(0, 120).Draw(t, label))}
	}
	return &intstr.IntOrString{IntVal: rapid.Int32Range(0, 120).Draw(t, label)}
}

// anyUpdate is an update of 1 to 100 pods with every flag as drawn, whose pods take their
// time and whose loops take turns as drawn.
func anyUpdate(t *rapid.T) (*sim.Cluster, *rollingupdate.Snapshot) {
	r := request(t, func(r *rollingupdate.Request) {
		r.Surge, r.Unavailable = anyAmount(t, "surge"), anyAmount(t, "unavailable")
		*r.UpdatePeriod = rollingupdate.Period(rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second, time.Minute}).Draw(t, "period"))
		*r.Timeout = rollingupdate.Period(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 5 * time.Minute}).Draw(t, "timeout"))
		r.Cleanup = rapid.SampledFrom([]rollingupdate.Cleanup{rollingupdate.Delete, rollingupdate.Rename, rollingupdate.Preserve}).Draw(t, "cleanup")
	})
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
	return c, s
}

// keeps fails where a step has left too few pods available or too many pods.
func keeps(t *rapid.T, s *rollingupdate.Snapshot, steps []sim.Step) {
	floor, ceiling := limits(s.Request, s.Old.Size)
	for i := range steps {
		pods := int64(0)
		for _, one := range steps[i].Sets {
			pods += one.Pods
		}
		if steps[i].Available < floor || pods > ceiling {
			t.Fatalf("at %s %s has %d pods, %d available: %d to %d are allowed; %s", steps[i].At.Sub(s.Now), steps[i].Name, pods, steps[i].Available, floor, ceiling, left(steps[:i+1]))
		}
	}
}

// TestUpdateKeepsItsLimits: an update of any size with any flags never has fewer pods
// available than it may, nor more pods than it may, and completes.
func TestUpdateKeepsItsLimits(t *testing.T) {
	runs, syncs, pods := 0, 0, int64(0)
	rapid.Check(t, func(t *rapid.T) {
		c, s := anyUpdate(t)
		r := c.Run(sim.Bound{})
		keeps(t, s, r.Steps)
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
		c, s := anyUpdate(t)
		before := c.Run(sim.Bound{Syncs: rapid.IntRange(0, 12*int(s.Old.Size)).Draw(t, "syncs")})
		if rapid.Bool().Draw(t, "paused first") {
			c.Edit(sim.Ask(func(r *rollingupdate.Request) { r.Paused = true }))
			paused := c.Run(sim.Bound{})
			keeps(t, s, paused.Steps)
			if paused.Sentence.Code != "paused" && paused.End != sim.Complete {
				t.Fatalf("paused: %s", paused.Sentence.At(paused.At))
			}
		}
		c.Edit(sim.Ask(func(r *rollingupdate.Request) { r.Paused, r.Abort = false, true }))
		r := c.Run(sim.Bound{})
		keeps(t, s, before.Steps)
		keeps(t, s, r.Steps)
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
