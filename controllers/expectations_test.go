package controllers

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// [RS-3].
func TestExpectations(t *testing.T) {
	const key = "shop/web"
	for _, c := range []struct {
		name             string
		do               func(*expectations)
		creates, deletes int64
	}{
		{"nothing expected", func(*expectations) {}, 0, 0},
		{"creations", func(e *expectations) { e.expect(key, 3); e.created(key, 1) }, 2, 0},
		{"all seen", func(e *expectations) { e.expect(key, 2); e.created(key, 1); e.created(key, 1) }, 0, 0},
		{"more seen than asked for", func(e *expectations) { e.expect(key, 1); e.created(key, 5) }, 0, 0},
		{"deletions count each pod once", func(e *expectations) {
			e.expect(key, 0, "a", "b")
			e.deleted(key, "a")
			e.deleted(key, "a")
		}, 0, 1},
		{"a pod nobody asked to delete", func(e *expectations) { e.expect(key, 0, "a"); e.deleted(key, "z") }, 0, 1},
		{"a new request replaces the old", func(e *expectations) { e.expect(key, 9); e.expect(key, 0, "a") }, 0, 1},
		{"forgotten", func(e *expectations) { e.expect(key, 9); e.forget(key) }, 0, 0},
		{"another key", func(e *expectations) { e.expect("shop/other", 9) }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newExpectations(testclock.NewFakeClock(time.Unix(0, 0)))
			c.do(e)
			got := e.outstanding(key)
			if got.Creates != c.creates || got.Deletes != c.deletes {
				t.Errorf("outstanding = %d creates, %d deletes, want %d and %d", got.Creates, got.Deletes, c.creates, c.deletes)
			}
		})
	}
}

// What is still to be seen going is named as long as it is waited for.
func TestExpectedDeletionsAreNamed(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	e := newExpectations(clock)
	e.expect("k", 0, "a", "b")
	before := e.outstanding("k")
	e.deleted("k", "a")
	if _, b := before.gone["b"]; len(before.gone) != 2 || !b {
		t.Errorf("what was read before changed with the next event: %v", before.gone)
	}
	if _, b := e.outstanding("k").gone["b"]; !b || len(e.outstanding("k").gone) != 1 {
		t.Errorf("after the first was seen: %v", e.outstanding("k").gone)
	}
	clock.Step(expectationLife + time.Nanosecond)
	if len(e.outstanding("k").gone) != 0 {
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
	e := newExpectations(clock)
	e.expect("k", 1)
	clock.Step(expectationLife)
	if e.outstanding("k").Creates != 1 {
		t.Error("expired a moment too early")
	}
	clock.Step(time.Nanosecond)
	if e.outstanding("k").Creates != 0 {
		t.Error("still blocks after five minutes")
	}
	if e.all()["k"].Creates != 1 {
		t.Error("what was never seen is not shown any more")
	}
}
