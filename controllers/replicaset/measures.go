package replicaset

import (
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// staleSkips counts the syncs that waited for their own writes ([RS-1]). Kubernetes counts those of
// ReplicaSets alone.
var staleSkips = decision.Measure{
	Name: "replicaset_controller_stale_sync_skips_total", Help: "Syncs of ReplicaSets that decided nothing, as a cache did not show their own write yet.",
	Labels: []string{"group", "resource"}, Known: [][]string{{"", "pods"}, {"apps", "replicasets"}},
	Of: func(rounds []decision.Round, _ func() decision.Snapshot) []decision.Measured {
		for _, step := range rounds[0].Verdict.Path {
			if step.Question == "RS-1" && step.Answer == decision.No {
				return []decision.Measured{{Labels: staleResource(step.Facts), Value: 1}}
			}
		}
		return nil
	},
}

// staleResource is what a cache lacked.
func staleResource(facts []decision.Fact) []string {
	for _, f := range facts {
		if f.Name == "object" && strings.HasPrefix(f.Value.String(), "Pod ") {
			return []string{"", "pods"}
		}
	}
	return []string{"apps", "replicasets"}
}

// ageRatio is how old the ready pods are that were chosen to go, beside the youngest ready pod ([P-5]).
var ageRatio = decision.Measure{
	Name: "replicaset_controller_sorting_deletion_age_ratio", Help: "Age of each ready pod that was chosen to be deleted, divided by that of the youngest ready one.",
	Buckets: []float64{.25, .5, 1, 2, 4, 8},
	Of: func(rounds []decision.Round, decided func() decision.Snapshot) (list []decision.Measured) {
		for _, r := range rounds {
			for i, a := range r.Verdict.Actions {
				if a.Kind != decision.DeletePods || i >= len(r.Outcomes) || r.Outcomes[i].State == decision.NotTried || !sorted(r.Verdict.Path) {
					continue
				}
				if s, ok := decided().(*Snapshot); ok {
					list = append(list, s.ageRatios(a.Victims)...)
				}
			}
		}
		return list
	},
}

// sorted reports whether pods were ranked: where all go, nobody does.
func sorted(p decision.Path) bool {
	answer, _ := p.Answer("RS-8.rank")
	return answer == decision.Yes
}

// ageRatios are those of the victims that are ready, in whole numbers.
func (s *Snapshot) ageRatios(victims []decision.Victim) (list []decision.Measured) {
	ready, youngest := map[string]time.Duration{}, time.Duration(0)
	for _, p := range newDecider(s).active {
		if !p.Ready {
			continue
		}
		age := s.Now.Sub(p.Created)
		if len(ready) == 0 || age < youngest {
			youngest = age
		}
		ready[p.Name] = age
	}
	for _, v := range victims {
		if age, is := ready[v.Name]; is {
			list = append(list, decision.Measured{Value: float64(age.Milliseconds() / max(1, youngest.Milliseconds()))})
		}
	}
	return list
}
