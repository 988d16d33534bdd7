package words

import (
	"fmt"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// Failure says why a write or a sync failed.
func Failure(f *decision.Failure) views.Text {
	text := views.Text{}.Code(prose.Clip(f.Message, 600))
	switch {
	case f.Code != 0 && f.Reason != "":
		text = text.Plain(fmt.Sprintf(" (%d %s)", f.Code, f.Reason))
	case f.Reason != "":
		text = text.Plain(" (" + f.Reason + ")")
	}
	if f.Terminal {
		text = text.Plain(" No retry can fix it.")
	}
	return text
}

// causeWords say what kind of event a cause is.
var causeWords = map[telemetry.CauseKind]string{
	telemetry.CauseAdded: "added", telemetry.CauseModified: "modified", telemetry.CauseDeleted: "deleted",
	telemetry.CauseTombstone: "deleted, last state unknown", telemetry.CauseResync: "resync", telemetry.CauseBackoff: "the end of its back-off",
	telemetry.CauseTimer: "timer", telemetry.CausePodReason: "new status of", telemetry.CauseStart: "first list after start",
	telemetry.CauseLead:  "this process becoming the leader",
	telemetry.CauseAsked: "enqueued by its controller",
}

// Cause says what kind of event woke a sync.
func Cause(k telemetry.CauseKind) string {
	if w, ok := causeWords[k]; ok {
		return w
	}
	return string(k)
}

// CauseFor says what kind of event woke a sync, and what for: of a timer, which one. The code of a
// back-off says how the sync before ended, which is told there.
func CauseFor(c telemetry.Cause) string {
	switch {
	case c.Code == telemetry.CodeAnswersAgain:
		return "the API server serves again"
	case c.Code == telemetry.CodeFirstLeader:
		return Cause(c.Kind) + ", the first since it started"
	case c.Code == "" || c.Kind == telemetry.CauseBackoff:
		return Cause(c.Kind)
	}
	return Cause(c.Kind) + ": " + Timer(c.Code)
}

// FromTo writes a change as "from → to", and alone what is the same or stands on one side.
func FromTo(from, to string) string {
	switch {
	case from == to:
		return to
	case from == "":
		return to
	case to == "":
		return from
	default:
		return from + " → " + to
	}
}

// Change writes a change of a field.
func Change(c decision.Change) string {
	if c.From == "" && c.To == "" {
		return c.Field
	}
	return c.Field + " " + prose.Clip(FromTo(prose.OrNone(c.From), prose.OrNone(c.To)), 300)
}
