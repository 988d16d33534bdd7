package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// calculate fills in the counts and the Available condition ([ST-1], [ST-2]). The counts
// are what the ReplicaSets report; only the unavailable ones start from what
// was asked for. A ReplicaSet made by this sync was asked for as well.
func (c *settler) calculate() {
	st := &c.report.Status
	*st = Status{ObservedGeneration: c.s.Generation, Collisions: st.Collisions, Conditions: st.Conditions}
	asked := int64(0)
	for _, rs := range c.children {
		asked += rs.Replicas
		st.Replicas += rs.StatusReplicas
		st.Ready += rs.Ready
		st.Available += rs.Available
	}
	if made := c.created(); made != nil {
		asked += made.Size.To
	}
	st.Updated = c.updated()
	st.Unavailable = max(0, asked-st.Available)
	st.Terminating = c.terminating()
	c.availability()
}

// terminating sums the terminating pods. ReplicaSets that were never observed
// have none; any other unknown number makes the sum unknown.
func (c *settler) terminating() *int64 {
	if !c.s.CountTerminating {
		return nil
	}
	sum := int64(0)
	for _, rs := range c.children {
		switch {
		case rs.Terminating != nil:
			sum += *rs.Terminating
		case rs.ObservedGeneration != 0:
			return nil
		}
	}
	return &sum
}

func (c *settler) availability() {
	missing := int64(0)
	if c.s.Strategy == rollingUpdate && c.boundsErr == nil {
		missing = c.bounds.Missing()
	}
	next := c.condition(condAvailable, "False", reasonBelow, "Deployment does not have minimum availability.")
	if c.report.Status.Available >= c.s.Want-missing {
		next = c.condition(condAvailable, "True", reasonMinimum, "Deployment has minimum availability.")
	}
	setCondition(&c.report.Status, next)
}

// progress sets the Progressing condition of a rollout ([RR-5]).
func (c *settler) progress() {
	if c.s.Deadline == nil {
		dropCondition(&c.report.Status, condProgressing)
		return
	}
	if c.doneBefore() {
		return
	}
	switch name := c.rolled(); {
	case c.doneNow():
		c.setProgressing("True", reasonDone, name+" has successfully progressed.")
	case c.progressed():
		c.refreshProgressing(name + " is progressing.")
	case c.overdue():
		c.setProgressing("False", reasonDeadline, name+" has timed out progressing.")
	}
}

// rolled names what is being rolled out the way the messages do.
func (c *settler) rolled() string {
	if made := c.created(); made != nil {
		return `ReplicaSet "` + made.Target.Name + `"`
	}
	if c.newSet != nil {
		return `ReplicaSet "` + c.newSet.Name + `"`
	}
	return `Deployment "` + c.s.Name + `"`
}

// refreshProgressing rewrites the condition even where its reason stands, as
// the deadline counts from its time; the transition keeps its time.
func (c *settler) refreshProgressing(message string) {
	next := c.condition(condProgressing, "True", reasonUpdated, message)
	st := &c.report.Status
	if now := condition(st.Conditions, condProgressing); now != nil {
		if now.Status == "True" {
			next.Transition = now.Transition
		}
		dropCondition(st, condProgressing)
	}
	setCondition(st, next)
}

// failure copies the ReplicaFailure of the new ReplicaSet, or else of the first
// one that has any ([ST-6]).
func (c *settler) failure() {
	source := c.failing()
	if source == nil {
		c.report.Path.Name(qFailure, none)
		dropCondition(&c.report.Status, condReplicaFailure)
		return
	}
	c.report.Path.Name(qFailure, source.Failure.Reason, decision.Text("replicaSet", source.Name))
	f := *source.Failure
	f.Type, f.Updated = condReplicaFailure, f.Transition
	setCondition(&c.report.Status, f)
}

// failing is the ReplicaSet whose failure the Deployment shows.
func (v *view) failing() *ReplicaSet {
	if v.newSet != nil && v.newSet.Failure != nil {
		return v.newSet
	}
	for _, rs := range v.old {
		if rs.Failure != nil {
			return rs
		}
	}
	return nil
}

// setCondition follows Kubernetes' rule: the same status and reason leave the
// old one untouched, the same status keeps its transition, and what is
// replaced goes to the end.
func setCondition(st *Status, next decision.Condition) {
	if now := condition(st.Conditions, next.Type); now != nil {
		if now.Status == next.Status && now.Reason == next.Reason {
			return
		}
		if now.Status == next.Status {
			next.Transition = now.Transition
		}
	}
	dropCondition(st, next.Type)
	st.Conditions = append(st.Conditions, next)
}

func dropCondition(st *Status, kind string) {
	st.Conditions = slices.DeleteFunc(st.Conditions, func(c decision.Condition) bool { return c.Type == kind })
}

// copyStatus shares nothing with the snapshot that settling could change.
func copyStatus(st Status) Status {
	st.Conditions = slices.Clone(st.Conditions)
	return st
}
