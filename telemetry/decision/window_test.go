package decision

import (
	"testing"
	"time"
)

// The window counts from the first change held back and grows with the lag, up
// to a bound that no lag passes.
func TestDue(t *testing.T) {
	now := time.Date(2026, time.March, 14, 9, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		held time.Time
		lag  time.Duration
		want time.Duration
	}{
		{time.Time{}, 0, time.Second}, {now.Add(-400 * time.Millisecond), 0, 600 * time.Millisecond},
		{time.Time{}, time.Second, 5 * time.Second}, {time.Time{}, time.Minute, 10 * time.Second},
		{time.Time{}, 1<<63 - 1, 10 * time.Second}, {time.Time{}, -time.Hour, time.Second},
	} {
		if got := Due(now, c.held, c.lag).Sub(now); got != c.want {
			t.Errorf("held since %v, lag %s: due in %s, want %s", c.held, c.lag, got, c.want)
		}
	}
}
