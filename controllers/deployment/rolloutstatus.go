package deployment

import (
	"github.com/loopscope/loopscope/telemetry/decision"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// RolloutStatus is what `kubectl rollout status` does with the status of the
// snapshot, in words of our own. It reads the published status alone, as that
// command does, so it may say less than the loop knows.
func RolloutStatus(s *Snapshot) decision.Words {
	st, w := &s.Status, decision.Words{}
	old, left := st.Replicas-st.Updated, st.Updated-st.Available
	switch {
	case st.ObservedGeneration < s.Generation:
		return w.Say("waits: generation ").Count("generation", s.Generation).Say(" is not observed yet")
	case timedOut(st):
		return w.Say("fails: the progress deadline has been exceeded")
	case st.Updated < s.Want:
		return w.Say("waits: ").Count(fUpdated, st.Updated).Say(" of ").Count(fWanted, s.Want).Say(prose.Plural(s.Want, " pod has", " pods have") + " the new template")
	case old > 0:
		return w.Say("waits: ").Count(fOld, old).Say(prose.Plural(old, " old pod is", " old pods are") + " not gone yet")
	case left > 0:
		return w.Say("waits: ").Count(fAvailable, st.Available).Say(" of ").Count(fUpdated, st.Updated).Say(prose.Plural(st.Updated, " new pod is", " new pods are") + " available")
	default:
		return w.Say("succeeds: the rollout is complete")
	}
}

// timedOut reports whether the published status says that the deadline has passed.
func timedOut(st *Status) bool {
	for _, c := range st.Conditions {
		if c.Type == "Progressing" && c.Reason == "ProgressDeadlineExceeded" {
			return true
		}
	}
	return false
}
