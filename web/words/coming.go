package words

import (
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Coming is a sync that has not ended: a worker has its key, or will have it. What is known of its
// object is from before it. The zero value is none.
type Coming struct {
	Processing bool      // and not ready
	Since      time.Time // in that phase
}

// ComingOf is the sync of a key that comes after that one; nil for none.
func ComingOf(k *telemetry.KeyState, after *telemetry.Trace) Coming {
	var started, ended time.Time
	if after != nil {
		started, ended = after.Started, after.Ended
	}
	switch k.Phase {
	case telemetry.KeyReady:
		if started.Before(k.Since) { // Otherwise a worker has taken it since, for that sync.
			return Coming{Since: k.Since}
		}
	case telemetry.KeyProcessing, telemetry.KeyDirty:
		taken := k.Taken
		if taken.IsZero() {
			taken = k.Since
		}
		if ended.Before(taken) { // Otherwise it is that sync, whose key is about to be given back.
			return Coming{true, taken}
		}
	}
	return Coming{}
}

// None reports whether there is no such sync.
func (c Coming) None() bool { return c.Since.IsZero() }

// Same reports whether both are the same sync in the same phase.
func (c Coming) Same(d Coming) bool { return c.Processing == d.Processing && c.Since.Equal(d.Since) }

// Long is that sync where it takes long enough to be spoken of, and none otherwise.
func (c Coming) Long(now time.Time) Coming {
	if now.Sub(c.Since) < time.Second {
		return Coming{}
	}
	return c
}

// Words say where its key is, and for how long.
func (c Coming) Words() decision.Words {
	if c.Processing {
		return decision.Words{}.Say("It has been processing for ").Since(c.Since)
	}
	return decision.Words{}.Say("It has been ready for ").Since(c.Since).Say(" and waits for a free worker")
}

// Before is a sentence that was told before that sync.
func (c Coming) Before(said decision.Sentence) decision.Sentence {
	said.Verb, said.ChangesAt = Past(said.Verb), time.Time{}
	said.Then = c.Words().Say(": what is said here is from before that sync")
	return said
}

// TimersComing is said of the timers of an object whose next sync has not ended.
const TimersComing = "The sync that has not ended yet sets its own timers."
