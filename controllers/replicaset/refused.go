package replicaset

import (
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Refused reports whether ReplicaFailure says that the pods which are to be created or deleted were
// refused ([RS-9]). Until that succeeds the condition stays as well. See decision.Refusing.
func (s *Snapshot) Refused(p *decision.Prediction) bool {
	c, pods := failing(s.Status.Conditions), count(s).pods
	if c == nil || c.Status != "True" {
		return false
	}
	creates := pods < s.Want && c.Reason == reasonCreate
	deletes := pods > s.Want && c.Reason == reasonDelete
	switch p.Aspect {
	case decision.AspectCreation:
		return creates
	case decision.AspectDeletion:
		return deletes
	case decision.AspectConditions:
		return creates || deletes
	}
	return false
}

// refusedBefore is who refuses the pods that this sync only planned to create or to delete, as the
// status says since somebody else tried; nil where it does not.
func refusedBefore(s *Snapshot, rounds []decision.Round) *decision.Finding {
	c, pods := failing(s.Status.Conditions), count(s).pods
	refused := func(aspect decision.Aspect, kind decision.ActionKind) bool {
		return s.Refused(&decision.Prediction{Predictable: decision.Predictable{Aspect: aspect, Of: "Pod"}}) && planned(last(rounds), kind)
	}
	switch {
	case refused(decision.AspectCreation, decision.CreatePods):
		return new(diagnosis.OfRefusal(diagnosis.Refusal{Namespace: s.Namespace, Message: c.Message, Count: s.Want - pods, Since: c.Transition}))
	case refused(decision.AspectDeletion, decision.DeletePods):
		return new(diagnosis.OfDeletion(diagnosis.Refusal{Namespace: s.Namespace, Message: c.Message, Count: pods - s.Want, Since: c.Transition}))
	}
	return nil
}

// planned reports whether a round has an action of the kind that is left to somebody else.
func planned(r decision.Round, kind decision.ActionKind) bool {
	for i := range r.Verdict.Actions {
		if r.Verdict.Actions[i].Kind == kind && i >= len(r.Outcomes) {
			return true
		}
	}
	return false
}
