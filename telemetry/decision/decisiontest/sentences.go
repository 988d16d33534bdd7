package decisiontest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// ChangesEarly finds an instant at which tell says something else than was said now, though
// that was to stand until ChangesAt: a page that nothing wakes before would still say it.
// It is "" where there is none.
func ChangesEarly(said decision.Sentence, now time.Time, tell func(time.Time) decision.Sentence) string {
	for _, after := range []time.Duration{time.Second, 6 * time.Second, 11 * time.Second, 31 * time.Second, 61 * time.Second, 6 * time.Minute, 11 * time.Minute, time.Hour} {
		at := now.Add(after)
		if !said.ChangesAt.IsZero() && !at.Before(said.ChangesAt) {
			return ""
		}
		again := tell(at)
		again.ChangesAt = said.ChangesAt
		if !reflect.DeepEqual(again, said) {
			return fmt.Sprintf("after %s it says %q, and not %q", after, again.At(at), said.At(at))
		}
	}
	return ""
}
