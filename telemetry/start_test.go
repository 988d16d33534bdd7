package telemetry

import (
	"testing"
)

// TestStartStepDone: a step is done when it was there, or is not waited for.
func TestStartStepDone(t *testing.T) {
	for s, want := range map[StartStep]bool{{}: false, {Took: 1}: true, {Skipped: true}: true, {Error: "refused"}: false} {
		if got := s.Done(); got != want {
			t.Errorf("%+v: %t", s, got)
		}
	}
}
