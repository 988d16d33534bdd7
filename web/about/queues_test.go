package about

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// A key that failed is tried after its last back-off, or before where an earlier time holds.
func TestWhyAKeyIsTriedAgain(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 42, 53, 0, time.UTC)
	backoff := func(after time.Duration) telemetry.Cause {
		return telemetry.Cause{Kind: telemetry.CauseBackoff, Due: now.Add(after)}
	}
	timer := telemetry.Cause{Kind: telemetry.CauseTimer, Due: now.Add(time.Hour)}
	for want, k := range map[string]telemetry.KeyState{
		"tries again 2m 39s after the last try":                                     {Causes: []telemetry.Cause{backoff(77 * time.Second), timer}},
		"tries again before its last back-off is over: an earlier time still holds": {Causes: []telemetry.Cause{backoff(77 * time.Second), backoff(159 * time.Second), timer}},
		"tries again after an error":                                                {Causes: []telemetry.Cause{backoff(77 * time.Second)}, Folded: 1},
	} {
		k.Phase, k.Attempts, k.Backoff, k.Due = telemetry.KeyWaiting, 15, 159*time.Second, now.Add(77*time.Second)
		if got := keyWhy(k).String(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
