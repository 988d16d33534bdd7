package rollingupdate

import (
	"fmt"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

func message(format, to string) string {
	if strings.Contains(format, "%s") {
		return fmt.Sprintf(format, to)
	}
	return format
}

// events tell what was written, on the ReplicationController that it was written to ([RU-9]).
func (t *decider) events(rounds []decision.Round) []decision.Event {
	var out []decision.Event
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if i >= len(r.Outcomes) {
				continue
			}
			e := t.eventOf(a, &r.Outcomes[i])
			if e.Reason == "" {
				continue
			}
			if a.Target.Kind == kindController && a.Target.Name != t.s.Name && a.Kind != decision.Create && a.Kind != decision.Delete {
				on := a.Target
				e.On = &on
			}
			out = append(out, e)
		}
	}
	return out
}

func (t *decider) eventOf(a *decision.Action, o *decision.Outcome) decision.Event {
	if o.State != decision.Written {
		if o.Failure == nil || o.OK() || o.State == decision.Conflicted || o.State == decision.Unknown || o.State == decision.Unanswered {
			return decision.Event{}
		}
		return decision.Event{Type: "Warning", Reason: ReasonFailed, Message: cannot(a) + o.Failure.Message}
	}
	switch {
	case a.Kind == decision.Scale:
		return decision.Event{Type: "Normal", Reason: "ScalingReplicationController", Message: scaled(a)}
	case a.Kind == decision.Create && a.Target.Kind == kindController:
		return decision.Event{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created replication controller " + a.Target.Name}
	case a.Kind == decision.Delete && a.Target.Kind == kindController:
		return decision.Event{Type: "Normal", Reason: "SuccessfulDelete", Message: "Deleted replication controller " + a.Target.Name}
	case a.Kind == decision.UpdateStatus:
		return t.conditionEvent(a)
	}
	return decision.Event{}
}

// ReasonFailed is the reason of the Event of a write that was refused.
const ReasonFailed = "FailedRollingUpdate"

// cannot is how the message of that Event begins; the API server's answer follows.
func cannot(a *decision.Action) string {
	return fmt.Sprintf("Cannot %s %s %s: ", a.Kind.Verb(), a.Target.Kind, a.Target.Name)
}

func scaled(a *decision.Action) string {
	direction := "down"
	if a.Size.To > a.Size.From {
		direction = "up"
	}
	return fmt.Sprintf("Scaled %s replication controller %s from %d to %d", direction, a.Target.Name, a.Size.From, a.Size.To)
}

// conditionEvent tells a condition that has just been published, as it says how the update
// stands.
func (t *decider) conditionEvent(a *decision.Action) decision.Event {
	status, reason, _ := strings.Cut(a.Changes[0].To, " ")
	if reason == "" {
		return decision.Event{}
	}
	e := decision.Event{Type: "Normal", Reason: reason, Message: Message(reason, t.s.NewName, t.v.Invalid)}
	if status == statusFalse {
		e.Type = "Warning"
	}
	return e
}
