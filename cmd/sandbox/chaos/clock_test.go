package chaos_test

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"k8s.io/utils/clock"
)

// wallClock is the machine's clock with hands that can be set. As on a machine
// whose clock is set, only the time of day jumps: how much time has passed
// between two readings, and timers, come from a clock that nobody sets.
type wallClock struct {
	clock.RealClock
	ahead atomic.Int64 // seconds
}

func (c *wallClock) set(ahead time.Duration) { c.ahead.Store(int64(ahead / time.Second)) }

// Now is the time of day as it is set.
func (c *wallClock) Now() time.Time { return setBy(time.Now(), c.ahead.Load()) }

// Since is how long ago t was.
func (c *wallClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// reading is how package time keeps a reading of both clocks: above the 30 bits
// of nanoseconds stand the seconds of the time of day.
type reading struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

// setBy shifts the time of day of a reading and leaves its other clock alone,
// which no function of package time does. TestWallClock holds it to that.
func setBy(t time.Time, seconds int64) time.Time {
	(*reading)(unsafe.Pointer(&t)).wall += uint64(seconds) << 30
	return t
}

func TestWallClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		var c wallClock
		before, real := c.Now(), time.Now()
		c.set(ahead)
		after := c.Now()
		if passed := after.Sub(before); passed < 0 || passed > time.Minute {
			t.Errorf("set by %v: %v passed between two readings", ahead, passed)
		}
		if shown := after.Round(0).Sub(real.Round(0)) - ahead; shown < 0 || shown > time.Minute {
			t.Errorf("set by %v: the time of day is %v off", ahead, shown)
		}
	}
}
