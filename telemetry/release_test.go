package telemetry

import (
	"testing"
)

// TestReleaseBefore: of a release that is not known nothing is said.
func TestReleaseBefore(t *testing.T) {
	for r, want := range map[Release]bool{{"v1.33.5", 33}: true, {"v1.34.0", 34}: false, {"v1.35.0", 35}: false, {}: false} {
		if got := r.Before(34); got != want {
			t.Errorf("%+v: %t", r, got)
		}
	}
}
