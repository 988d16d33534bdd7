package decision

import "time"

const (
	// StatusWindow is how long a status that only grows may be held back, so that
	// one write covers what comes up, or ends, one after the other.
	StatusWindow = time.Second
	// LongestWindow bounds the window under load.
	LongestWindow = 10 * time.Second
	// windowLags is by how many times the lag of the queues the window grows.
	windowLags = 4
)

// Due is when a status that may wait is written at last. The window begins when
// the first change was held back, or now where none is (zero).
func Due(now, held time.Time, lag time.Duration) time.Time {
	if held.IsZero() {
		held = now
	}
	return held.Add(window(lag)).UTC().Round(0)
}

// window is as long as keys wait for lag in the queues before they are synced:
// the more there is to write, the more each write covers.
func window(lag time.Duration) time.Duration {
	if lag > LongestWindow {
		return LongestWindow
	}
	return min(StatusWindow+windowLags*max(0, lag), LongestWindow)
}
