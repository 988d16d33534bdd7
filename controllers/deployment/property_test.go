package deployment_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// step is one random thing that happens in a world.
func step(t *rapid.T, w *world, fail bool) {
	w.clock = w.clock.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "wait")) * time.Second)
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
	switch kind := rapid.IntRange(0, 19).Draw(t, "kind"); {
	case kind < 7:
		checkedSync(t, w, func() bool { return fail && pick(8) == 0 })
	case kind < 11 && len(w.sets) > 0:
		w.syncSet(w.sets[pick(len(w.sets))])
	case kind < 15 && len(w.sets) > 0:
		m := w.sets[pick(len(w.sets))]
		if len(m.pods) > 0 {
			m.pods[pick(len(m.pods))] = !fail || pick(4) > 0
		}
		if fail && pick(4) == 0 {
			m.lost = append(m.lost, drawLoss(t, w.clock))
		}
		m.ending = min(m.ending, int64(pick(3)))
	default:
		edit(t, w, kind)
	}
}

// drawLoss is a pod that the cluster took away a while ago.
func drawLoss(t *rapid.T, now time.Time) decision.DisruptedPod {
	at := now.Add(-time.Duration(rapid.IntRange(0, 700).Draw(t, "lost")) * time.Second)
	return decision.DisruptedPod{Name: "web-lost", Created: at.Add(-time.Minute), Node: rapid.SampledFrom([]string{"", "node-1", "node-2"}).Draw(t, "node"),
		Disruption: decision.Disruption{At: at, Target: rapid.SampledFrom([]string{"", "PreemptionByScheduler", "EvictionByEvictionAPI", "TerminationByKubelet"}).Draw(t, "target"),
			Reason:  rapid.SampledFrom([]string{"", "Evicted", "OutOfcpu"}).Draw(t, "reason"),
			Message: rapid.SampledFrom([]string{"", "The node was low on resource: memory. ", "Pod was rejected: no room"}).Draw(t, "message")}}
}

// edit is something that a person does.
func edit(t *rapid.T, w *world, kind int) {
	w.edit(func() {
		switch kind {
		case 15:
			w.d.Want = rapid.Int64Range(0, 20).Draw(t, "want")
		case 16:
			w.template = rapid.IntRange(1, 5).Draw(t, "template")
		case 17:
			w.d.Paused = !w.d.Paused
		case 18:
			surge, unavailable := drawAmount(t, "surge"), drawAmount(t, "unavailable")
			w.d.MaxSurge, w.d.MaxUnavailable = &surge, &unavailable
			w.d.Strategy = rapid.SampledFrom([]string{"RollingUpdate", "RollingUpdate", "Recreate"}).Draw(t, "strategy")
		case 19:
			w.d.RollbackTo = rapid.SampledFrom([]string{"", "", "0", "1", "2", "99"}).Draw(t, "rollback")
			w.d.MinReady = rapid.Int64Range(0, 2).Draw(t, "minReady")
			for _, m := range w.sets {
				m.rs.CopyStale = true
			}
		}
	})
}

func drawAmount(t *rapid.T, label string) deployment.IntOrPercent {
	if rapid.Bool().Draw(t, label+" as share") {
		return deployment.IntOrPercent{Percent: fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(t, label))}
	}
	return deployment.IntOrPercent{Int: rapid.Int64Range(0, 5).Draw(t, label)}
}

// checkedSync runs one sync and checks everything that must hold of any.
func checkedSync(t *rapid.T, w *world, lose func() bool) {
	p := w.sync(lose)
	s, v := p.snapshot, p.rounds[0].Verdict
	checkPlan(t, s, v)
	checkSameVerdict(t, s, v)
	checkSaid(t, p)
	ends := *s // Nothing is decided on it, so the actions and what became of them are the same.
	ends.NamespaceTerminating = s.Now
	checkSaid(t, run(&ends, p.try, nil, decision.Recorded(p.rounds)))
}

// checkSaid: what is said of a sync holds together.
func checkSaid(t *rapid.T, p played) {
	for _, problem := range p.problems() {
		t.Fatalf("%s\nsentence: %s\npath:\n%s", problem, p.sentence.At(p.snapshot.Now), render(p)["path"])
	}
	if !known(p.sentence.Code) {
		t.Fatalf("code %q is not declared", p.sentence.Code)
	}
}

// TestDisruptionsDecideNothing: pods that the cluster took away change what is said,
// and nothing that is written.
func TestDisruptionsDecideNothing(t *testing.T) {
	said := 0
	for _, file := range goldenFiles(t) {
		g := readGolden(t, file)
		was, is := play(t, g), play(t, g)
		for i := range is.snapshot.ReplicaSets {
			rs := &is.snapshot.ReplicaSets[i]
			at := is.snapshot.Now.Add(-time.Minute)
			rs.Disrupted = []decision.DisruptedPod{
				{Name: "b", Created: at, Disruption: decision.Disruption{Target: "TerminationByKubelet", At: at.Add(time.Second)}},
				{Name: "a", Disruption: decision.Disruption{Target: "TerminationByKubelet", At: at}},
			}
		}
		if diff := cmp.Diff(deployment.Decide(was.snapshot).Actions, deployment.Decide(is.snapshot).Actions); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		if slices.ContainsFunc(deployment.Diagnose(is.snapshot, decision.Learnt{}).Findings, func(f decision.Finding) bool { return f.Code == diagnosis.Evicted }) {
			said++
		}
	}
	if said == 0 {
		t.Error("nothing tells of the pods: nothing was tested")
	}
}

// checkPlan: the sizes that are asked for never rise above the ceiling where they
// were within it, and what a rolling update removes never goes below the floor.
func checkPlan(t *rapid.T, s *deployment.Snapshot, v decision.Verdict) {
	to, retiring := plannedSizes(s, v)
	total, available, asked, left := int64(0), int64(0), to[""], int64(0)
	for _, rs := range s.ReplicaSets {
		total += rs.Replicas
		available += min(rs.Available, rs.Replicas)
		asked += to[rs.UID]
		left += min(to[rs.UID], rs.Available, rs.Replicas)
	}
	ceiling, floor := bounds(s)
	if total <= ceiling && asked > ceiling {
		t.Fatalf("%d pods would be asked for, the ceiling is %d:\n%s", asked, ceiling, render(played{snapshot: s, rounds: []decision.Round{{Verdict: v}}}))
	}
	if retiring && left < min(available, floor) {
		t.Fatalf("%d of %d would stay available, the floor is %d", left, available, floor)
	}
}

// bounds computes ceiling and floor once more, the slow way.
func bounds(s *deployment.Snapshot) (ceiling, floor int64) {
	if s.Strategy != "RollingUpdate" {
		return s.Want, 0
	}
	number := func(v *deployment.IntOrPercent, round func(float64) float64) int64 {
		switch {
		case v == nil:
			return 0
		case v.Percent == "":
			return v.Int
		}
		percent, _ := strconv.Atoi(strings.TrimSuffix(v.Percent, "%"))
		return int64(round(float64(percent) * float64(s.Want) / 100))
	}
	surge, unavailable := number(s.MaxSurge, math.Ceil), number(s.MaxUnavailable, math.Floor)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return s.Want + surge, max(0, s.Want-unavailable)
}

// plannedSizes are the sizes after the verdict by UID ("" for a new one), and
// whether it retires old pods of a rolling update.
func plannedSizes(s *deployment.Snapshot, v decision.Verdict) (map[string]int64, bool) {
	to, retiring := map[string]int64{}, false
	for _, rs := range s.ReplicaSets {
		to[rs.UID] = rs.Replicas
	}
	for _, a := range v.Actions {
		if a.Size != nil {
			to[a.Target.UID] = a.Size.To
		}
		retiring = retiring || a.Question == "RR-3a" || a.Question == "RR-3b"
	}
	return to, retiring
}

// checkSameVerdict: the same snapshot gives the same verdict, in whatever order
// its ReplicaSets come.
func checkSameVerdict(t *rapid.T, s *deployment.Snapshot, v decision.Verdict) {
	shuffled := *s
	shuffled.ReplicaSets = slices.Clone(s.ReplicaSets)
	rand.New(rand.NewSource(int64(rapid.IntRange(0, 1000).Draw(t, "order")))).Shuffle(len(shuffled.ReplicaSets), func(i, j int) {
		shuffled.ReplicaSets[i], shuffled.ReplicaSets[j] = shuffled.ReplicaSets[j], shuffled.ReplicaSets[i]
	})
	if diff := cmp.Diff(v, deployment.Decide(&shuffled)); diff != "" {
		t.Fatalf("another order gives another verdict:\n%s", diff)
	}
	shuffled.Canonical()
	if diff := cmp.Diff(s.ReplicaSets, shuffled.ReplicaSets); diff != "" {
		t.Fatalf("the canonical order differs:\n%s", diff)
	}
}

// TestAnyHistoryEndsComplete: whatever people, pods and conflicts did, once
// they rest the Deployment becomes complete, cleans up, and writes no more.
func TestAnyHistoryEndsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			step(t, w, true)
		}
		w.edit(func() { w.d.Paused = false })
		if w.calm(400) == 0 {
			t.Fatalf("still writing after 400 passes:\n%s", render(w.sync(func() bool { return false })))
		}
		st := w.d.Status
		if st.Updated != w.d.Want || st.Replicas != w.d.Want || st.Available != w.d.Want || st.ObservedGeneration != w.d.Generation {
			t.Fatalf("at rest, but not complete: %+v, wanted %d", st, w.d.Want)
		}
		if w.d.Revision == "" || int64(len(w.sets)) > *w.d.HistoryLimit+1 {
			t.Fatalf("at rest with revision %q and %d ReplicaSets", w.d.Revision, len(w.sets))
		}
		if p := run(w.snapshot(), decision.Try{}, nil, decision.Nobody); p.sentence.Tone != decision.ToneOK {
			t.Fatalf("complete, but %s", p.sentence.At(p.snapshot.Now))
		}
		for _, c := range st.Conditions {
			if c.Type == "Progressing" && c.Reason != "NewReplicaSetAvailable" {
				t.Fatalf("at rest, but Progressing is %s", c.Reason)
			}
		}
	})
}

// TestRolloutKeepsTheFloor: with pods that never fail, what is really available
// never drops below the floor once it was reached, be reports as late as they like.
func TestRolloutKeepsTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.d.Want = rapid.Int64Range(1, 20).Draw(t, "want")
		surge, unavailable := drawAmount(t, "surge"), drawAmount(t, "unavailable")
		w.d.MaxSurge, w.d.MaxUnavailable = &surge, &unavailable
		if w.calm(100) == 0 {
			t.Fatal("the first rollout does not end")
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if rapid.IntRange(0, 15).Draw(t, "roll") == 0 {
				w.edit(func() { w.template++ })
			}
			quietStep(t, w)
			ceiling, floor := bounds(w.snapshot())
			if got := w.available(); got < floor {
				t.Fatalf("%d available, the floor is %d", got, floor)
			}
			if got := w.asked(); got > ceiling {
				t.Fatalf("%d asked for, the ceiling is %d", got, ceiling)
			}
		}
	})
}

// quietStep is a sync of either loop, or a pod that becomes ready.
func quietStep(t *rapid.T, w *world) {
	w.clock = w.clock.Add(time.Second)
	m := w.sets[rapid.IntRange(0, len(w.sets)-1).Draw(t, "set")]
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		checkedSync(t, w, func() bool { return false })
	case 1:
		w.syncSet(m)
	default:
		if len(m.pods) > 0 {
			m.pods[rapid.IntRange(0, len(m.pods)-1).Draw(t, "pod")] = true
		}
	}
}

// TestStuckScalingEnds plays the defect of [S-1]: the only active ReplicaSet has
// the wanted size and a stale annotation, and the template has changed. A
// conflict between two writes of a scaling leaves that behind.
func TestStuckScalingEnds(t *testing.T) {
	for _, strategy := range []string{"RollingUpdate", "Recreate"} {
		w := newWorld()
		w.d.Strategy = strategy
		if w.calm(50) == 0 {
			t.Fatal("the first rollout does not end")
		}
		w.sets[0].rs.Desired = "7"
		w.edit(func() { w.template++ })
		if w.calm(50) == 0 || w.d.Status.Updated != w.d.Want {
			t.Errorf("%s: the rollout does not end: %+v", strategy, w.d.Status)
		}
	}
}
