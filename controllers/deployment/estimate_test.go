package deployment

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestEstimateOfAnyMoment: what is due is not said to complete in 0s.
func TestEstimateOfAnyMoment(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to time.Duration
		want     string
	}{
		{0, 0, "Completes at any moment"}, {0, 4 * time.Second, "Completes within "}, {900 * time.Millisecond, 4 * time.Second, "Completes within "},
		{time.Second, 4 * time.Second, "Completes in "}, {2 * time.Second, 2 * time.Second, "Completes in "},
	} {
		e := &decision.Estimate{Code: decision.EstimateKnown, From: now.Add(c.from), To: now.Add(c.to), Pods: 1, Steps: 1}
		if w := knownWords(e, now); w[0].Text != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, w[0].Text, c.want)
		}
	}
}
