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

// Window is the window while keys wait for lag in the queues before they are
// synced: the more there is to write, the more each write covers.
func Window(lag time.Duration) time.Duration {
	if lag > LongestWindow {
		return LongestWindow
	}
	return min(StatusWindow+windowLags*max(0, lag), LongestWindow)
}
