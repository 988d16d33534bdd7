package replicaset

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// replicaFailure is the only condition of this loop, with its reasons.
const (
	replicaFailure = "ReplicaFailure"
	reasonCreate   = "FailedCreate"
	reasonDelete   = "FailedDelete"
)

// status computes [RS-9], with what this process asked for counted as done.
func status(s *Snapshot, rounds []decision.Round, t tally) Status {
	t = reported(s, rounds, t)
	st := Status{
		ObservedGeneration: s.Generation,
		Replicas:           t.pods,
		FullyLabeled:       t.fullLabels,
		Ready:              t.ready,
		Available:          t.available,
		Conditions:         conditions(s, rounds),
	}
	if s.countsTerminating() {
		st.Terminating = &t.terminating
	}
	return st
}

// countsTerminating reports whether status says how many pods are terminating. A
// ReplicationController's status has no such field.
func (s *Snapshot) countsTerminating() bool {
	return s.CountTerminating && s.Kind != "ReplicationController"
}

// conditions keeps a ReplicaFailure as it is while creating or deleting fails,
// adds it where there was none and removes it where nothing failed.
func conditions(s *Snapshot, rounds []decision.Round) []decision.Condition {
	isFailure := func(c decision.Condition) bool { return c.Type == replicaFailure }
	why, message := manageError(rounds)
	switch {
	case why == "":
		return slices.DeleteFunc(slices.Clone(s.Status.Conditions), isFailure)
	case slices.ContainsFunc(s.Status.Conditions, isFailure):
		return s.Status.Conditions
	default:
		return append(slices.Clone(s.Status.Conditions), decision.Condition{
			Type: replicaFailure, Status: "True", Reason: why, Message: message,
			Transition: s.Now.UTC().Round(0),
		})
	}
}
