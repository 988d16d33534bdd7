package sim_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/sim"
	"github.com/loopscope/loopscope/telemetry/decision"
)

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

// problems is everything that must hold of one step and does not.
func problems(step *sim.Step) []string {
	list := undeclared(step)
	if step.Snapshot != nil {
		list = append(list, unsafe(step.Snapshot, step.Round.Verdict)...)
		list = append(list, strays(step)...)
	}
	return list
}

// unsafe plays the sizes of a verdict one after the other. Their sum must never
// rise above the ceiling, or further above it; and the pods that a rolling
// update removes must leave those available that the floor asks for, or all.
func unsafe(s *deployment.Snapshot, v decision.Verdict) (list []string) {
	ceiling, floor := bounds(s)
	size, total, kept := map[string]int64{}, int64(0), int64(0)
	for _, rs := range s.ReplicaSets {
		size[rs.UID] = rs.Replicas
		total += rs.Replicas
		kept += min(rs.Available, rs.Replicas)
	}
	for _, a := range v.Actions {
		if a.Size == nil {
			continue
		}
		before, available := total, kept
		total += a.Size.To - size[a.Target.UID]
		size[a.Target.UID] = a.Size.To
		if total > max(before, ceiling) {
			list = append(list, fmt.Sprintf("ceiling: %s to %d makes %d, more than %d", a.Target.Name, a.Size.To, total, ceiling))
		}
		kept = 0
		for _, rs := range s.ReplicaSets {
			kept += min(rs.Available, rs.Replicas, size[rs.UID])
		}
		if retires(a) && kept < min(available, floor) {
			list = append(list, fmt.Sprintf("floor: %s to %d leaves %d available, less than %d", a.Target.Name, a.Size.To, kept, floor))
		}
	}
	return list
}

// retires reports whether an action removes old pods of a rolling update.
// Scaling down does what it was asked to do and knows no floor.
func retires(a decision.Action) bool { return strings.HasPrefix(a.Question, "RR-3") }

// undeclared lists writes that no answered question declares.
func undeclared(step *sim.Step) (list []string) {
	catalogue := deployment.Catalogue
	if step.Snapshot == nil {
		catalogue = replicaset.Catalogue
	}
	path := step.Round.Verdict.Path
	for _, a := range step.Round.Verdict.Actions {
		said, asked := path.Answer(a.Question)
		q, _ := catalogue.Find(a.Question)
		if answer, ok := q.Answer(said); !asked || !ok || !slices.Contains(answer.Writes, a.Kind) {
			list = append(list, fmt.Sprintf("reason: %s of %s follows from %q, answered %q", a.Kind, a.Target.Name, a.Question, said))
		}
	}
	for _, h := range step.Round.Verdict.Held {
		if !slices.ContainsFunc(path, func(p decision.Step) bool { return p.Question == h.Question && p.Holds }) {
			list = append(list, fmt.Sprintf("reason: %s of %s is held by %q, which does not hold", h.Kind, h.Target.Name, h.Question))
		}
	}
	return list
}

// strays lists what a sentence says that is no fact of its sync.
func strays(step *sim.Step) (list []string) {
	facts := decision.Facts([]decision.Round{step.Round}, step.Report, deployment.Numbers(step.Snapshot)...)
	words := []decision.Words{step.Sentence.Lead, step.Sentence.Then}
	for _, h := range step.Round.Verdict.Held {
		words = append(words, h.Unblocks)
	}
	for _, w := range words {
		for _, s := range w.Strays(facts) {
			list = append(list, fmt.Sprintf("sentence: %q is no fact, in %q", s, step.Sentence.At(step.At)))
		}
	}
	return list
}

// story prints the writes of steps, for people who look for a fault.
func story(steps []sim.Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s %s %s at %s: ", s.At.Format("15:04:05.000"), s.Loop, s.Name, s.Round.Verdict.Leaf())
		for _, a := range s.Round.Verdict.Actions {
			fmt.Fprintf(&b, "%s %s %+v %d; ", a.Kind, a.Target.Name, a.Size, a.Count)
		}
		fmt.Fprintf(&b, "publish %v, sets %+v\n  %s\n", s.Report != nil && s.Report.Publish, s.Sets, s.Sentence.At(s.At))
	}
	return b.String()
}
