package replicaset

import (
	"github.com/loopscope/loopscope/telemetry/decision"
)

// reasonCreated and reasonDeleted are those of the events about a pod.
const reasonCreated, reasonDeleted = "SuccessfulCreate", "SuccessfulDelete"

// events are the words of [EV-2] for everything that was created or deleted and
// for the first error of each kind. Claims have none.
func events(rounds []decision.Round) []decision.Event {
	var out []decision.Event
	for _, r := range rounds {
		for i := range r.Verdict.Actions {
			a := &r.Verdict.Actions[i]
			if i < len(r.Outcomes) {
				out = append(out, eventsOf(a, &r.Outcomes[i])...)
			}
		}
	}
	return out
}

func eventsOf(a *decision.Action, o *decision.Outcome) []decision.Event {
	var done, bad decision.Event
	switch a.Kind {
	case decision.CreatePods:
		done = decision.Event{Type: "Normal", Reason: reasonCreated, Message: "Created pod: "}
		bad = decision.Event{Type: "Warning", Reason: reasonCreate, Message: "Error creating: "}
	case decision.DeletePods:
		done = decision.Event{Type: "Normal", Reason: reasonDeleted, Message: "Deleted pod: "}
		bad = decision.Event{Type: "Warning", Reason: reasonDelete, Message: "Error deleting: "}
	default:
		return nil
	}
	var out []decision.Event
	for _, name := range o.Names {
		e := done
		e.Message += name
		out = append(out, e)
	}
	if o.OK() || o.State == decision.NotTried {
		return out
	}
	if f := failure(o); f != nil {
		bad.Message += cause(f)
		out = append(out, bad)
	}
	return out
}
