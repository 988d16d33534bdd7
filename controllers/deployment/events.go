package deployment

import (
	"fmt"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// reasonScaling is the reason of the event about a new size.
const reasonScaling = "ScalingReplicaSet"

// events are the Kubernetes Events of the sync, in the order of its writes
// ([EV-1]). Only what was written is told.
func (c *settler) events(rounds []decision.Round) []decision.Event {
	var list []decision.Event
	for _, r := range rounds {
		for i, o := range r.Outcomes {
			if i < len(r.Verdict.Actions) && o.State == decision.Written {
				list = append(list, c.scalingEvents(&r.Verdict.Actions[i])...)
			}
		}
	}
	switch {
	case c.branch == branchSelectsAll:
		list = append(list, warning("SelectingAll", "This deployment is selecting all pods. A non-empty selector is required."))
	case c.refusedCreate() != nil:
		list = append(list, warning(reasonCreateError, c.refusedCreate().message()))
	}
	return append(list, c.rollbackEvents()...)
}

func (c *settler) scalingEvents(a *decision.Action) []decision.Event {
	if a.Size == nil || a.Size.From == a.Size.To {
		return nil
	}
	direction := "up"
	if a.Size.To < a.Size.From {
		direction = "down"
	}
	sizes := fmt.Sprintf("from %d to %d", a.Size.From, a.Size.To)
	switch {
	case c.s.SizeEventsBefore132 && a.Kind == decision.CreateReplicaSet:
		sizes = fmt.Sprintf("to %d", a.Size.To)
	case c.s.SizeEventsBefore132:
		sizes = fmt.Sprintf("to %d from %d", a.Size.To, a.Size.From)
	}
	return []decision.Event{{Type: "Normal", Reason: reasonScaling, Message: fmt.Sprintf("Scaled %s replica set %s %s", direction, a.Target.Name, sizes)}}
}

// rollbackEvents tell how a rollback ended ([RB-4]).
func (c *settler) rollbackEvents() []decision.Event {
	switch c.leaf {
	case leafNoRevision:
		return []decision.Event{warning("DeploymentRollbackRevisionNotFound", "Unable to find last revision.")}
	case leafNoSource:
		return []decision.Event{warning("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")}
	case leafSame:
		return []decision.Event{warning("DeploymentRollbackTemplateUnchanged",
			fmt.Sprintf("The rollback revision contains the same template as current deployment %q", c.s.Name))}
	case leafRestores:
		if len(c.last.Outcomes) > 0 && c.last.Outcomes[0].State == decision.Written {
			return []decision.Event{{Type: "Normal", Reason: "DeploymentRollback",
				Message: fmt.Sprintf("Rolled back deployment %q to revision %d", c.s.Name, c.asked)}}
		}
	}
	return nil
}

func warning(reason, message string) decision.Event {
	return decision.Event{Type: "Warning", Reason: reason, Message: message}
}
