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

// TestEstimateAsOfLater: a range is told anew once its begin has passed, and no more after its end.
func TestEstimateAsOfLater(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)
	e := Completes(now, now.Add(4*time.Second), now.Add(12*time.Second), 3, &StartupTimes{Pods: 1, Fastest: 3 * time.Second, Slowest: 5 * time.Second})
	for after, want := range map[time.Duration]string{
		0:                "Completes in 4s to 12s, as 1 pod became ready in 3s to 5s; 3 steps are left",
		3 * time.Second:  "Completes in 1s to 9s, as 1 pod became ready in 3s to 5s; 3 steps are left",
		5 * time.Second:  "Completes within 7s, as 1 pod became ready in 3s to 5s; 3 steps are left",
		12 * time.Second: "",
		16 * time.Second: "",
	} {
		got, at := "", now.Add(after)
		if told := AsOf(e, at); told != nil {
			got = told.Words.At(at)
		}
		if got != want {
			t.Errorf("%s later it says %q, want %q", after, got, want)
		}
	}
	if unknown := NoBasis(); AsOf(unknown, now) != unknown || AsOf(nil, now) != nil {
		t.Error("what is not known has passed")
	}
}
