package engine

import (
	"testing"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// [RS-3].
func TestExpectations(t *testing.T) {
	const key = "shop/web"
	for _, c := range []struct {
		name             string
		do               func(*Expectations)
		creates, deletes int64
	}{
		{"nothing expected", func(*Expectations) {}, 0, 0},
		{"creations", func(e *Expectations) { e.Expect(key, 3); e.Created(key, 1) }, 2, 0},
		{"all seen", func(e *Expectations) { e.Expect(key, 2); e.Created(key, 1); e.Created(key, 1) }, 0, 0},
		{"more seen than asked for", func(e *Expectations) { e.Expect(key, 1); e.Created(key, 5) }, 0, 0},
		{"deletions count each pod once", func(e *Expectations) {
			e.Expect(key, 0, "a", "b")
			e.Deleted(key, "a")
			e.Deleted(key, "a")
		}, 0, 1},
		{"a pod nobody asked to delete", func(e *Expectations) { e.Expect(key, 0, "a"); e.Deleted(key, "z") }, 0, 1},
		{"a new request replaces the old", func(e *Expectations) { e.Expect(key, 9); e.Expect(key, 0, "a") }, 0, 1},
		{"forgotten", func(e *Expectations) { e.Expect(key, 9); e.Forget(key) }, 0, 0},
		{"one deletion alone", func(e *Expectations) { e.Expect(key, 0, "a") }, 0, 1},
		{"more seen than asked for, and a deletion", func(e *Expectations) { e.Expect(key, 1, "a"); e.Created(key, 5) }, 0, 1},
		{"deletions all seen", func(e *Expectations) { e.Expect(key, 0, "a"); e.Deleted(key, "a") }, 0, 0},
		{"of what nobody asked for", func(e *Expectations) { e.Created(key, 1); e.Deleted(key, "a") }, 0, 0},
		{"another key", func(e *Expectations) { e.Expect("shop/other", 9) }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := NewExpectations(testclock.NewFakeClock(time.Unix(0, 0)))
			c.do(e)
			got := e.Outstanding(key)
			if got.Creates != c.creates || got.Deletes != c.deletes {
				t.Errorf("outstanding = %d creates, %d deletes, want %d and %d", got.Creates, got.Deletes, c.creates, c.deletes)
			}
			waits := c.creates+c.deletes > 0
			if got.Since.IsZero() == waits || got.Expires.IsZero() == waits || (got.Gone == nil) == waits {
				t.Errorf("it waits: %v, for %+v", waits, got)
			}
			if listed, is := e.All()[key]; is != waits || listed.Creates != c.creates || listed.Deletes != c.deletes {
				t.Errorf("listed: %v, %+v", is, listed)
			}
		})
	}
}

// What is still to be seen going is named as long as it is waited for.
func TestExpectedDeletionsAreNamed(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	e := NewExpectations(clock)
	e.Expect("k", 0, "a", "b")
	before := e.Outstanding("k")
	e.Deleted("k", "a")
	if _, b := before.Gone["b"]; len(before.Gone) != 2 || !b {
		t.Errorf("what was read before changed with the next event: %v", before.Gone)
	}
	if _, b := e.Outstanding("k").Gone["b"]; !b || len(e.Outstanding("k").Gone) != 1 {
		t.Errorf("after the first was seen: %v", e.Outstanding("k").Gone)
	}
	clock.Step(expectationLife + time.Nanosecond)
	if len(e.Outstanding("k").Gone) != 0 {
		t.Error("they are named after they stopped blocking")
	}
}

// A status held back is of one object, and not of the next of its name; the
// window counts from the first time.
func TestHeldBackIsOfOneObject(t *testing.T) {
	var h deferredStatuses
	at := time.Unix(1, 0)
	h.note("shop/web", "a", at)
	h.note("shop/web", "a", at.Add(time.Second))
	if got := h.of("shop/web", "a"); !got.Equal(at) {
		t.Errorf("held since %v, want %v", got, at)
	}
	if !h.of("shop/web", "b").IsZero() || !h.of("shop/api", "a").IsZero() {
		t.Error("another object is held back too")
	}
	h.forget("shop/web")
	if !h.of("shop/web", "a").IsZero() {
		t.Error("it is remembered after it went")
	}
}

func TestExpectationsStopBlockingAfterFiveMinutes(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	e := NewExpectations(clock)
	e.Expect("k", 1)
	clock.Step(expectationLife)
	if e.Outstanding("k").Creates != 1 {
		t.Error("expired a moment too early")
	}
	clock.Step(time.Nanosecond)
	if e.Outstanding("k").Creates != 0 {
		t.Error("still blocks after five minutes")
	}
	if e.All()["k"].Creates != 1 {
		t.Error("what was never seen is not shown any more")
	}
}

// setClock is a clock whose time of day is set an hour forward, while a minute passes.
type setClock struct{ *testclock.FakePassiveClock }

func (setClock) Since(time.Time) time.Duration { return time.Minute }

// A time of day that was set ends nobody's wait, nor prolongs it [RS-3].
func TestExpectationsGoByTheTimeThatPassed(t *testing.T) {
	const key = "shop/web"
	began := time.Unix(1_000_000, 0)
	clock := setClock{testclock.NewFakePassiveClock(began)}
	e := NewExpectations(clock)
	e.Expect(key, 1)
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		now := began.Add(jump)
		clock.SetTime(now)
		for name, x := range map[string]Expected{"outstanding": e.Outstanding(key), "listed": e.All()[key]} {
			if x.Creates != 1 || !x.Since.Equal(now.Add(-time.Minute)) || !x.Expires.Equal(now.Add(4*time.Minute)) {
				t.Errorf("%s, set by %s: %+v, want one for a minute, and for four more", name, jump, x)
			}
		}
	}
}

// creeping is a clock that goes on between two readings, as a machine's does.
type creeping struct{ *testclock.FakePassiveClock }

func (c creeping) Now() time.Time {
	c.SetTime(c.FakePassiveClock.Now().Add(70 * time.Nanosecond))
	return c.FakePassiveClock.Now()
}

func (c creeping) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Whoever asks twice gets the same instant: a queue takes timers of two instants for two.
func TestInstantsAreStable(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	for name, c := range map[string]clock.PassiveClock{"no clock that is set": creeping{testclock.NewFakePassiveClock(began.Add(time.Minute))}, "the machine's clock": clock.RealClock{}} {
		for range 1000 {
			if got := asOfNow(c, began); !got.Equal(began) {
				t.Fatalf("%s: %s, want %s", name, got, began)
			}
		}
	}
}

// An instant has no reading of the monotonic clock: whoever subtracts it from the machine's now would
// go by that, of which nobody has set anything.
func TestInstantsAreTimesOfDay(t *testing.T) {
	e, l := NewExpectations(clock.RealClock{}), NewLedger(clock.RealClock{})
	e.Expect("shop/web", 1)
	l.Written(Entry{UID: "u", Resource: "pods", RV: "9"})
	waits, echo := e.All()["shop/web"], l.All()[0]
	for name, at := range map[string]time.Time{"expected since": waits.Since, "expires": waits.Expires, "written": echo.Since, "check": echo.Check} {
		if at.IsZero() || at != at.Round(0) {
			t.Errorf("%s is %s", name, at)
		}
	}
}
