package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/loopscope/loopscope/telemetry"
)

var moment = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// A worker takes the key between the record of a cause and its Add, so the
// follow-up sync finds nothing and says who had it.
func TestFollowUpWithoutCausesSaysWhoTookThem(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		q.Enqueue("web", saw("one"))
		var w Work[string]
		q.ready.put("web", func() {
			q.table.enqueued("web", saw("two"))
			w = mustGet(t, q)
		})
		wantTold(t, "the sync in between", w.Causes, "one", "two")
		wantKey(t, q, "web", telemetry.KeyDirty, time.Now())
		q.Taken("web", 41)
		q.Done("web")
		w = mustGet(t, q)
		if len(w.Causes) != 0 || w.TakenBy != 41 {
			t.Errorf("the follow-up: %+v", w)
		}
		q.Done("web")
	})
}

// Three moments that a scheduler finds once in a thousand runs, held still.
func TestTheTableBetweenTwoSteps(t *testing.T) {
	t.Run("a worker takes a key that an add has just joined", func(t *testing.T) {
		table := newKeyTable(clock.RealClock{}, strings.ToLower)
		table.adding()
		table.pushed("web")
		table.added("web", false)
		table.adding()
		table.touched()
		table.popped("web")
		table.added("web", false)
		if s := table.state(true); s.Busy != 1 || s.Dirty != 0 || s.Adds != 1 {
			t.Errorf("state: %+v", s)
		}
	})
	t.Run("a key is forgotten before its add", func(t *testing.T) {
		inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
			q.ready.put("web", func() {
				q.table.enqueued("web", saw("one"))
				q.Forget("web")
			})
			wantTold(t, "sync", mustGet(t, q).Causes, "one")
			q.Done("web")
		})
	})
	t.Run("an add follows a key that has left the table", func(t *testing.T) {
		inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
			q.table.arm("web", timer("late"), 0)
			q.live.AddAfter("web", 0)
			wantTold(t, "first sync", mustGet(t, q).Causes, "late")
			q.Taken("web", 7)
			q.Done("web")
			if _, known := q.KeyState("web"); known {
				t.Error("the key has not left the table")
			}
			for range 2 { // A sync that found nothing has taken nothing.
				q.live.AddAfter("web", 0)
				if w := mustGet(t, q); len(w.Causes) != 0 || w.TakenBy != 7 {
					t.Errorf("the late one: %+v", w)
				}
				q.Taken("web", 8)
				q.Done("web")
			}
		})
	})
}

// In the instant in which a timer is due, client-go may see to it before or after what is asked for
// then. Whatever it forgets for it, or keeps that the table gave out already, the table does not wait on.
func TestTheInstantInWhichATimerIsDue(t *testing.T) {
	for name, meanwhile := range map[string]func(*keyTable[string]){
		"a timer without a wait": func(table *keyTable[string]) {
			table.arm("web", timer("now"), 0)
			table.timerFired("web")
			table.arm("web", timer("later"), time.Second) // Dropped for the one that is due.
		},
		"a retry without a wait": func(table *keyTable[string]) {
			table.failed(timer("now"))
			table.backedOff("web", 0, 1)
			table.timerFired("web")
			table.arm("web", timer("later"), time.Second)
		},
		"a timer that is given out before client-go has it": func(table *keyTable[string]) {
			table.arm("web", timer("now"), time.Second)
			table.timerFired("web")
			table.pushed("web")
			table.popped("web")
			table.arm("web", timer("later"), time.Minute) // Dropped for that one.
			pass(time.Second)
			table.done("web")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newKeyTable(clock.RealClock{}, strings.ToLower)
				table.replay()
				table.arm("web", timer("due"), time.Second)
				pass(time.Second)
				meanwhile(table)
				table.timerFired("web")
				table.pushed("web")
				k, _ := table.keyState("web")
				if names := told(k.Causes); !slices.Contains(names, "later") || !k.Due.IsZero() {
					t.Errorf("woken by %q, and waits for %v", names, k.Due)
				}
			})
		})
	}
}

// A worker is done with a key before the add without a wait is, of which it has the cause already.
func TestAnAddWithoutAWaitThatIsLate(t *testing.T) {
	table := newKeyTable(clock.RealClock{}, strings.ToLower)
	table.replay()
	table.arm("web", timer("now"), 0)
	table.pushed("web")
	table.popped("web")
	table.done("web")
	table.arm("web", timer("later"), time.Hour)
	table.timerFired("web") // by the add
	if k, _ := table.keyState("web"); k.Due.IsZero() {
		t.Errorf("the timer has been given out with the add: %+v", k)
	}
}

// client-go may keep a time that the table has given out: when it comes, the key has waited for nothing.
func TestATimeThatTheTableGaveOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newKeyTable(clock.RealClock{}, strings.ToLower)
		table.backedOff("web", time.Second, 3) // Keeps the key in the table.
		table.pushed("web")
		table.popped("web")
		table.done("web")
		pass(time.Second)
		table.timerFired("web")
		if k, _ := table.keyState("web"); k.Spent.Waiting != 0 {
			t.Errorf("%+v", k)
		}
	})
}

func TestTakersAreBounded(t *testing.T) {
	m := takers[string]{syncs: map[string]uint64{}}
	if m.remember("nobody", 0); len(m.syncs) != 0 {
		t.Errorf("%v is remembered of nobody", m.syncs)
	}
	for i := range uint64(10_000) {
		m.remember(fmt.Sprint(i), i)
	}
	first := uint64(10_000 - len(m.order))
	if m.of("9999") != 9999 || m.of(fmt.Sprint(first)) != first || m.of(fmt.Sprint(first-1)) != 0 || len(m.syncs) != len(m.order) {
		t.Errorf("%d remembered, the newest is %d", len(m.syncs), m.of("9999"))
	}
}

// Calls that client-go makes of keys that are nowhere leave nothing behind.
func TestTheTableOfKeysThatAreNowhere(t *testing.T) {
	table := newKeyTable(clock.RealClock{}, strings.ToLower)
	table.added("web", true)
	table.added("web", false)
	table.done("web")
	table.forgotten("web")
	table.takenBy("web", 7)
	if _, known := table.keyState("web"); known || len(table.keys) != 0 {
		t.Errorf("keys: %v", table.keys)
	}
	table.backedOff("web", time.Second, 3) // Nothing is failing.
	if k, _ := table.keyState("web"); !k.Due.IsZero() || k.Attempts != 3 || k.Backoff != time.Second {
		t.Errorf("%+v", k)
	}
	if table.forgotten("web"); len(table.replay()) != 0 {
		t.Error("a key of which nothing is left is added at the start")
	}
	table.enqueued("late", saw("one"))
	table.adding()
	table.added("late", true) // It was dropped: the queue was shutting down.
	if _, known := table.keyState("late"); known || table.keys["late"] != nil {
		t.Error("a key that was dropped is kept")
	}
	if got := soonest(nil, "none"); got != "none" {
		t.Errorf("of no timers the code is %q", got)
	}
	list := []telemetry.Cause{{Code: "b", Due: moment.Add(2)}, {Code: "a", Due: moment.Add(1)}, {Code: "c", Due: moment.Add(1)}}
	if got := soonest(list, "none"); got != "a" {
		t.Errorf("the first timer is %q", got)
	}
}

// A timer that is armed already is not armed twice; one of another kind, code or time is.
func TestTimersAreArmedOnce(t *testing.T) {
	one := telemetry.Cause{Kind: telemetry.CauseTimer, Code: "echo", Due: moment}
	otherKind, otherCode, otherTime := one, one, one
	otherKind.Kind, otherCode.Code, otherTime.Due = telemetry.CauseBackoff, "deadline", moment.Add(1)
	var l causeList
	for range 2 {
		for _, c := range []telemetry.Cause{one, otherKind, otherCode, otherTime} {
			l.addTimer(c)
		}
	}
	if len(l.kept) != 4 || l.folded != 0 {
		t.Errorf("armed are %+v", l.kept)
	}
}
