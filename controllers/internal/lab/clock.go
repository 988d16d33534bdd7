package lab

import (
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// SetClock is a clock whose time of day can be set: how long ago something was stays the same.
type SetClock struct {
	*testclock.FakeClock
	// By is by how much it was set.
	By time.Duration
}

// Now is the time of day.
func (c *SetClock) Now() time.Time { return c.FakeClock.Now().Add(c.By) }
