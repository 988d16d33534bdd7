package diagnosis

import (
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

const leftAlone = "when the webhook or policy that changes pods leaves their labels alone"

// OfLost tells the owner of pods that do not match its selector as soon as they are created, and what ends that.
func OfLost(lost *decision.LostPods) (lead, then decision.Words) {
	lead = labelled(words("its pods are changed on creation"), lost).Say(", so it releases them and creates others, without end")
	return lead, words("Needs action: unblocks " + leftAlone)
}

// Unmatched is a finding of the same, of n pods that a ReplicaSet lacks.
func Unmatched(n int64, set string, lost *decision.LostPods) decision.Finding {
	return decision.Finding{
		Code: Mutated, Count: n, NeedsAction: true, Unblocks: words(leftAlone),
		After: labelled(words(prose.Plural(n, " is", " are")+" changed on creation"), lost).Say(", and ReplicaSet ").Name(set).Say(" releases " + prose.Plural(n, "it and creates another", "them and creates others")),
	}
}

func labelled(w decision.Words, lost *decision.LostPods) decision.Words {
	if lost.Label == "" {
		return w
	}
	return w.Say(" (label ").Quote(lost.Label).Say(")")
}
