package engine

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// TestSight: what a loop has handled of a cache is seen, a resync is no news, and
// the last state of what went while nobody watched counts.
func TestSight(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(100, 0))
	passed, seen := 0, ""
	s := &eventTracker{clock: clock, ResourceEventHandler: cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { passed++ }, UpdateFunc: func(old, obj any) { passed++; seen = rvOf(old) + " → " + rvOf(obj) }, DeleteFunc: func(any) { passed++ },
	}}
	rs := func(rv string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: lab.Object("web-1", "r", rv, nil, nil)}
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
	if s.OnUpdate(rs("7"), rs("9")); seen != "7 → 9" {
		t.Errorf("passed on was %s", seen)
	}
	if passed != 6 {
		t.Errorf("%d of 6 events were passed on", passed)
	}
}
