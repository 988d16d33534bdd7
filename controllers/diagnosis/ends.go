package diagnosis

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Subject is the pods of a finding; a single one is named.
func Subject(f *decision.Finding) decision.Words {
	if f.Count == 1 && len(f.Pods) == 1 {
		return decision.Words{}.Name(f.Pods[0])
	}
	return decision.Words{}.Count(f.Fact(), f.Count)
}

// Ends is what ends all of the findings, as a sentence of its own.
func Ends(list []decision.Finding) decision.Words {
	w := decision.Words{}.Say("Unblocks ")
	if slices.ContainsFunc(list, func(f decision.Finding) bool { return f.NeedsAction }) {
		w = decision.Words{}.Say("Needs action: unblocks ")
	}
	if len(list) > 2 {
		return append(w, AllEnd...)
	}
	return append(w, Together(list)...)
}

// AllEnd is when several findings end, where there is no saying for each of them.
var AllEnd = decision.Words{{Text: "only when all of them are resolved"}}

// Together is when all of the findings end; the same is not said twice.
func Together(list []decision.Finding) (w decision.Words) {
	for i := range list {
		if slices.ContainsFunc(list[:i], func(f decision.Finding) bool { return slices.Equal(f.Unblocks, list[i].Unblocks) }) {
			return AllEnd
		}
		if i > 0 {
			w = w.Say(" and ")
		}
		w = append(w, list[i].Unblocks...)
	}
	return w
}
