package sim_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
)

func amount(t *rapid.T, label string) deployment.IntOrPercent {
	if rapid.Bool().Draw(t, label+" as share") {
		return deployment.IntOrPercent{Percent: fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(t, label))}
	}
	return deployment.IntOrPercent{Int: rapid.Int64Range(0, 5).Draw(t, label)}
}

// anyCluster is a Deployment without a pod yet, whose pods fare and whose loops
// take turns as drawn. Pods fail only where told to.
func anyCluster(t *rapid.T, fail bool) *sim.Cluster {
	s := web()
	s.Want = rapid.Int64Range(0, 25).Draw(t, "want")
	surge, unavailable := amount(t, "surge"), amount(t, "unavailable")
	s.MaxSurge, s.MaxUnavailable = &surge, &unavailable
	s.MinReady = rapid.SampledFrom([]int64{0, 0, 3, 20}).Draw(t, "minReady")
	s.HistoryLimit = new(rapid.Int64Range(0, 3).Draw(t, "limit"))
	s.CountTerminating = rapid.Bool().Draw(t, "count terminating")
	c, err := sim.From(s)
	if err != nil {
		t.Fatal(err)
	}
	c.Rules = sim.Rules{
		Schedule: millis(t, "schedule", 2_000), Terminate: millis(t, "end", 4_000),
		Fate: func(string, int) sim.Fate {
			if fail && rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				return sim.Stuck(rapid.SampledFrom([]string{"ImagePullBackOff", "CrashLoopBackOff", "Unschedulable", "Error"}).Draw(t, "reason"))
			}
			return sim.ReadyAfter(millis(t, "ready", 8_000))
		},
		Next: func(due int) int { return rapid.IntRange(0, due-1).Draw(t, "turn") },
	}
	return c
}

func millis(t *rapid.T, label string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Millisecond
}

func image(t *rapid.T) sim.Edit {
	return sim.Images(fmt.Sprint("nginx:", rapid.IntRange(1, 4).Draw(t, "image")))
}

// anyEdit is what a person may do to a Deployment.
func anyEdit(t *rapid.T) sim.Edit {
	switch rapid.IntRange(0, 8).Draw(t, "edit") {
	case 0, 1:
		return sim.Replicas(rapid.Int64Range(0, 25).Draw(t, "want"))
	case 2:
		return sim.Pause(rapid.Bool().Draw(t, "paused"))
	case 3:
		return sim.Surge(amount(t, "surge"))
	case 4:
		return sim.Unavailable(amount(t, "unavailable"))
	case 5:
		return sim.MinReady(rapid.Int64Range(0, 10).Draw(t, "minReady"))
	case 6:
		return sim.Strategy(rapid.SampledFrom([]string{"RollingUpdate", "RollingUpdate", "Recreate"}).Draw(t, "strategy"))
	default:
		return image(t)
	}
}

// plan draws edits for the next while.
func plan(t *rapid.T, c *sim.Cluster, edit func(*rapid.T) sim.Edit) {
	at := c.Now()
	for range rapid.IntRange(0, 6).Draw(t, "edits") {
		at = at.Add(millis(t, "pause", 15_000))
		c.EditAt(at, edit(t))
	}
}

// checked runs a cluster and checks every step.
func checked(t *rapid.T, c *sim.Cluster) sim.Result {
	r := c.Run(sim.Bound{Syncs: 5_000})
	for i := range r.Steps {
		if list := problems(&r.Steps[i]); len(list) > 0 {
			t.Fatalf("%s\n%s", strings.Join(list, "\n"), story(r.Steps[max(0, i-6):i+1]))
		}
	}
	if r.End == sim.Unsettled {
		t.Fatalf("does not settle:\n%s", story(r.Steps[max(0, len(r.Steps)-12):]))
	}
	return r
}

// TestAnyRolloutSettles: whatever is edited and whichever pods fail, every step
// keeps to the bounds and the fold comes to a fixpoint. Once all pods are well and nothing
// is paused, that fixpoint is a complete rollout.
func TestAnyRolloutSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t, true)
		plan(t, c, anyEdit)
		r := checked(t, c)
		if len(r.Steps) > 0 {
			last := r.Steps[len(r.Steps)-1]
			c.Rules.Fate = nil
			for _, s := range last.Sets {
				c.Edit(sim.Pods(s.Name, sim.ReadyAfter(time.Second)))
			}
		}
		c.Edit(sim.Pause(false), sim.NewPods("", sim.ReadyAfter(time.Second)))
		if r = checked(t, c); r.End != sim.Complete {
			t.Fatalf("ends %s: %s\n%s", r.End, r.Sentence.At(r.At), story(r.Steps[max(0, len(r.Steps)-12):]))
		}
		atRest(t, c)
	})
}

// atRest: a complete cluster has what is wanted, and running on changes nothing.
func atRest(t *rapid.T, c *sim.Cluster) {
	s := c.Snapshot()
	want, st := s.Want, s.Status
	if st.Updated != want || st.Replicas != want || st.Available != want || st.ObservedGeneration != s.Generation {
		t.Fatalf("complete with %d wanted, but the status is %+v", want, st)
	}
	if old := int64(len(s.ReplicaSets)) - 1; old > *s.HistoryLimit {
		t.Fatalf("%d old revisions are kept, the limit is %d", old, *s.HistoryLimit)
	}
	again := c.Run(sim.Bound{})
	if len(again.Steps) != 0 || again.End != sim.Complete {
		t.Fatalf("goes on after it was at rest, ending %s:\n%s", again.End, story(again.Steps))
	}
}

// TestRolloutKeepsTheFloor: where no pod fails and only the template changes,
// deletions never take the pods that are really available below the floor.
func TestRolloutKeepsTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t, false)
		checked(t, c)
		c.Edit(image(t))
		plan(t, c, image)
		_, floor := bounds(c.Snapshot())
		available := c.Snapshot().Want
		for _, step := range checked(t, c).Steps {
			if step.Available < min(available, floor) {
				t.Fatalf("%d available, the floor is %d:\n%s", step.Available, floor, story([]sim.Step{step}))
			}
			available = step.Available
		}
	})
}

// TestRecreateRunsOneTemplate: under Recreate no pod of one template exists
// beside one of another, not even one that is ending.
func TestRecreateRunsOneTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t, true)
		c.Edit(sim.Strategy("Recreate"))
		checked(t, c)
		plan(t, c, func(t *rapid.T) sim.Edit {
			if rapid.Bool().Draw(t, "scale") {
				return sim.Replicas(rapid.Int64Range(0, 9).Draw(t, "want"))
			}
			return image(t)
		})
		for _, step := range checked(t, c).Steps {
			populated := 0
			for _, s := range step.Sets {
				if s.Pods+s.Terminating > 0 {
					populated++
				}
			}
			if populated > 1 {
				t.Fatalf("%d templates run at once:\n%s", populated, story([]sim.Step{step}))
			}
		}
	})
}

// TestSameClusterSameSteps: a run depends on nothing but the cluster and its rules.
func TestSameClusterSameSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t, true)
		plan(t, c, anyEdit)
		checked(t, c)
		s, edit := c.Snapshot(), anyEdit(t)
		shuffled := *s
		shuffled.ReplicaSets = rapid.Permutation(append(s.ReplicaSets, deployment.ReplicaSet{Name: "web-0", UID: "orphan", RV: "1", Matches: true})).Draw(t, "order")
		s.ReplicaSets = slices.Clone(shuffled.ReplicaSets)
		s.Canonical()
		if diff := differs(steps(t, s, edit), steps(t, &shuffled, edit)); diff != "" {
			t.Fatalf("another order gives other steps:\n%s", diff)
		}
	})
}

// differs is cmp.Diff, which takes a hundred times as long to find nothing as
// reflect.DeepEqual does.
func differs(x, y any) string {
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return cmp.Diff(x, y)
}

// steps runs what a snapshot shows, edited.
func steps(t *rapid.T, s *deployment.Snapshot, e sim.Edit) []sim.Step {
	c, err := sim.From(s)
	if err != nil {
		t.Fatal(err)
	}
	c.Edit(e)
	r := c.Run(sim.Bound{})
	return r.Steps
}

// TestFoldedSyncsAreRepeatable: deciding once more on what a step decided on gives the
// same verdict, in whatever order the ReplicaSets come.
func TestFoldedSyncsAreRepeatable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t, true)
		plan(t, c, anyEdit)
		for _, step := range checked(t, c).Steps {
			if step.Snapshot == nil || len(step.Snapshot.ReplicaSets) == 0 {
				continue
			}
			s := *step.Snapshot
			s.ReplicaSets = rapid.Permutation(s.ReplicaSets).Draw(t, "order")
			again := decision.Sync{Core: deployment.NewSync(&s)}
			again.Run(decision.Recorded([]decision.Round{step.Round}))
			if diff := differs(step.Round, again.Rounds[0]); diff != "" {
				t.Fatalf("another verdict:\n%s", diff)
			}
			if diff := differs(step.Report, again.Report); diff != "" {
				t.Fatalf("another report:\n%s", diff)
			}
		}
	})
}

// TestFaultsAreNoticed proves that the checks above can fail: a loop with a fault
// is found out, by the check that is meant to.
func TestFaultsAreNoticed(t *testing.T) {
	for _, fault := range []struct {
		check  string
		commit func(*decision.Action)
	}{
		{"ceiling", func(a *decision.Action) {
			if a.Size != nil && a.Size.To > a.Size.From {
				a.Size.To++
			}
		}},
		{"floor", func(a *decision.Action) {
			if a.Question == "RR-3b" {
				a.Size.To = max(0, a.Size.To-1)
			}
		}},
		{"reason", func(a *decision.Action) {
			if a.Question == "RR-3b" {
				a.Question = "RR-4"
			}
		}},
	} {
		t.Run(fault.check, func(t *testing.T) {
			c, err := sim.From(web())
			if err != nil {
				t.Fatal(err)
			}
			c.Run(sim.Bound{})
			c.Misdecide(fault.commit)
			c.Edit(sim.Images("nginx:2"))
			var found []string
			r := c.Run(sim.Bound{Syncs: 300})
			for i := range r.Steps {
				found = append(found, problems(&r.Steps[i])...)
			}
			if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, fault.check+":") }) {
				t.Errorf("the fault goes unnoticed; found %q", found)
			}
		})
	}
}
