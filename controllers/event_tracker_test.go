package controllers

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/telemetry"
)

// A key's time in each phase adds up over its whole stay in the queue.
func TestTimeInEachPhase(t *testing.T) {
	inBubble(t, queueOptions{}, func(t *testing.T, q *queue) {
		want := func(step string, spent telemetry.Spent) {
			t.Helper()
			if k, _ := q.KeyState("web"); k.Spent != spent {
				t.Errorf("%s: %+v, want %+v", step, k.Spent, spent)
			}
		}
		const s = time.Second
		q.EnqueueAfter("web", saw("one"), 5*s)
		time.Sleep(2 * s) // In the bubble's time.
		want("waiting", telemetry.Spent{Waiting: 2 * s})
		time.Sleep(4 * s)
		want("ready since a second", telemetry.Spent{Waiting: 5 * s, Ready: s})
		mustGet(t, q)
		time.Sleep(3 * s)
		want("processing", telemetry.Spent{Waiting: 5 * s, Ready: s, Processing: 3 * s})
		q.Enqueue("web", saw("two"))
		time.Sleep(s)
		want("processing and dirty", telemetry.Spent{Waiting: 5 * s, Ready: s, Processing: 4 * s})
		q.Done("web")
		time.Sleep(2 * s)
		want("ready again", telemetry.Spent{Waiting: 5 * s, Ready: 3 * s, Processing: 4 * s})
		mustGet(t, q)
		q.Done("web")
		if _, known := q.KeyState("web"); known {
			t.Error("an idle key is still in the table")
		}
	})
}

// TestSight: what a loop has handled of a cache is seen, a resync is no news, and
// the last state of what went while nobody watched counts.
func TestSight(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(100, 0))
	passed := 0
	s := &eventTracker{clock: clock, ResourceEventHandler: cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { passed++ }, UpdateFunc: func(any, any) { passed++ }, DeleteFunc: func(any) { passed++ },
	}}
	rs := func(rv string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: object("web-1", "r", rv, nil, nil)}
	}
	for _, step := range []struct {
		event func()
		rv    string
		at    int64
	}{
		{func() { s.OnAdd(rs("7"), true) }, "7", 101},
		{func() { s.OnUpdate(rs("7"), rs("9")) }, "9", 102},
		{func() { s.OnUpdate(rs("9"), rs("9")) }, "9", 102},
		{func() { s.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/web-1", Obj: rs("8")}) }, "8", 104},
		{func() { s.OnDelete(nil) }, "", 105},
	} {
		clock.Step(time.Second)
		step.event()
		if rv, at := s.last(); rv != step.rv || at.Unix() != step.at {
			t.Errorf("handled %q at %d, want %q at %d", rv, at.Unix(), step.rv, step.at)
		}
	}
	if passed != 5 {
		t.Errorf("%d of 5 events were passed on", passed)
	}
}
