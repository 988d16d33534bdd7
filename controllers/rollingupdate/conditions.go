package rollingupdate

import "github.com/loopscope/loopscope/telemetry/decision"

// CondProgressing is the type of the condition in which both say how the update stands ([RU-9]).
const CondProgressing = "Progressing"

// The statuses of a condition.
const (
	statusTrue    = "True"
	statusFalse   = "False"
	statusUnknown = "Unknown"
)

// The reasons of the condition.
const (
	reasonProgressing = "RollingUpdateProgressing"
	reasonAborting    = "RollingUpdateAborting"
	reasonPaused      = "RollingUpdatePaused"
	// ReasonDeadline is that of an update that has not moved within its timeout.
	ReasonDeadline = "ProgressDeadlineExceeded"
	reasonInvalid  = "RollingUpdateInvalid"
	reasonComplete = "RollingUpdateComplete"
	reasonAborted  = "RollingUpdateAborted"
)

// conditions asks [RU-9] whether both say how it stands, and has them say it; without a status
// neither is to say anything. A new one that is on its own says already that it is complete.
func (t *decider) conditions(status, reason string) bool {
	var stale []*Controller
	for _, c := range []*Controller{t.s.Old, t.s.New} {
		if c == nil || c == t.s.New && (reason == reasonInvalid || status == "" || t.isCleaning()) {
			continue // One that cannot be updated to, or is on its own, may be another update's.
		}
		if p := c.Progress; p == nil || p.Status != status || p.Reason != reason {
			stale = append(stale, c)
		}
	}
	if t.v.Path.Ask("RU-9.conditions", len(stale) == 0, decision.Text("status", status), decision.Text("reason", reason)) {
		return true
	}
	for _, c := range stale {
		was := decision.Condition{}
		if c.Progress != nil {
			was = *c.Progress
		}
		t.act(decision.Action{
			Kind: decision.UpdateStatus, Target: t.s.ref(c), Question: "RU-9.conditions",
			Changes: []decision.Change{{Field: "status.conditions[" + CondProgressing + "]", From: named(was), To: named(decision.Condition{Status: status, Reason: reason})}},
		})
	}
	return false
}

// named prints a condition by status and reason, which is how it stands in a Change.
func named(c decision.Condition) string {
	if c.Status == "" {
		return ""
	}
	return c.Status + " " + c.Reason
}

// messages are what the condition says in words, by its reason.
var messages = map[string]string{
	reasonProgressing: "The rolling update to %s is going on.",
	reasonAborting:    "The rolling update to %s is being taken back.",
	reasonPaused:      "The rolling update to %s is paused.",
	ReasonDeadline:    "The rolling update to %s has not moved within its timeout.",
	reasonInvalid:     "The rolling update cannot be carried out: %s",
	reasonComplete:    "The rolling update to %s is complete.",
	reasonAborted:     "The rolling update to %s was taken back.",
}
