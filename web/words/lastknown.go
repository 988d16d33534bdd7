package words

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Unseen is why nobody knows what became of an object of an earlier run. unwatched says why this run
// does not look at it, "" where it may.
func Unseen(unwatched string) string {
	if unwatched != "" {
		return ", in an earlier run. " + unwatched + ", so nothing newer is known here"
	}
	return ", in an earlier run. No sync of this run has seen it: it was deleted meanwhile, or its first sync is still to come"
}

// LastKnown is a sentence of the end of the last sync that is known of an object. since says, after that
// time, why nobody knows how it went on.
func LastKnown(said decision.Sentence, at time.Time, since string) decision.Sentence {
	var then decision.Words
	said.Verb, said.ChangesAt = Past(said.Verb), time.Time{}
	said.Then = then.Say("That was at " + DayAndTime(at) + since)
	return said
}

// DayAndTime is an instant that may be of another day.
func DayAndTime(at time.Time) string { return at.UTC().Format(time.DateTime) + " UTC" }

// TimersEnded is said of a sync of an earlier run.
const TimersEnded = "Any timers of this sync ended with its run."
