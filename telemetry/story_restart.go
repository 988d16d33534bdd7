package telemetry

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Restart is a time in which one run of the program ended and the next began.
type Restart struct {
	// From is when the last known sync of the earlier run ended, To when the first of the next one began.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// restarted reports whether the program was started anew between two syncs, of which the later is the first of
// its run. One that stands by has seen what the leader did, and one that takes over from a leader what that did.
func restarted(before, t *Trace) bool {
	return before != nil && before.Epoch != t.Epoch && !t.Standby &&
		slices.ContainsFunc(t.Causes, func(c Cause) bool {
			return c.Kind == CauseStart || c.Kind == CauseLead && c.Code == CodeFirstLeader
		})
}

// restartBeats are the restarts in a story, and that just before its first sync, each where it may have begun.
func restartBeats(s *Story, before *Trace, syncs []*Trace) []Beat {
	var list []Beat
	for _, t := range syncs {
		if restarted(before, t) {
			list = append(list, Beat{Kind: BeatRestart, At: later(before.Ended, s.Began), Object: "Loopscope", Restart: &Restart{before.Ended, t.Started}})
		}
		before = t
	}
	return list
}

func (r *Restart) tell() decision.Words {
	return decision.Words{}.Say("The manager was restarted between ").Clock(r.From).Say(" and ").Clock(r.To).
		Say(". What happened while it was not running is not recorded")
}
