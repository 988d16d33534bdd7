package deployment

import "github.com/loopscope/loopscope/telemetry/decision"

// Refused reports whether Progressing says that the ReplicaSet which is to be created was refused, and
// whether this comes of it: the sync ends there, without a status ([N-5]). Until that succeeds the
// condition stays as well. See decision.Refusing.
func (s *Snapshot) Refused(p *decision.Prediction) bool {
	switch p.Aspect {
	case decision.AspectCreation, decision.AspectStatus, decision.AspectConditions:
		return refusedCreation(s) != nil && creates(s)
	}
	return false
}

// refusedCreation is the condition which says that a new ReplicaSet was refused; nil where none does.
func refusedCreation(s *Snapshot) *decision.Condition {
	if c := condition(s.Status.Conditions, condProgressing); c != nil && c.Reason == reasonCreateError {
		return c
	}
	return nil
}

// creates reports whether a ReplicaSet is to be created.
func creates(s *Snapshot) bool {
	t := newDecider(newView(s, decision.Learnt{}, s.Now))
	t.decide()
	return t.leaf == leafCreates
}
