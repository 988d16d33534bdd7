package queue

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"

	"github.com/loopscope/loopscope/telemetry"
)

// saw is a cause that can be told from others.
func saw(object string) telemetry.Cause {
	return telemetry.Cause{Kind: telemetry.CauseModified, Object: object}
}

func timer(code string) telemetry.Cause {
	return telemetry.Cause{Kind: telemetry.CauseTimer, Code: code}
}

// pass lets that much of the bubble's time go by, and everything that it wakes run.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// inBubble runs body on a started queue under a fake clock. Goroutines that the
// queue leaves behind fail the test.
func inBubble(t *testing.T, o Options[string], body func(*testing.T, *Queue[string])) {
	synctest.Test(t, func(t *testing.T) {
		q := New(o)
		q.Start()
		defer q.ShutDown()
		body(t, q)
	})
}

// mustGet takes a key that has to be ready.
func mustGet(t *testing.T, q *Queue[string]) Work[string] {
	t.Helper()
	if q.Len() == 0 {
		t.Fatalf("no key is ready: %+v", q.State())
	}
	w, shutdown := q.Get()
	if shutdown {
		t.Fatal("get: shut down")
	}
	return w
}

// told is the names of causes: the object, or the code of a timer.
func told(causes []telemetry.Cause) []string {
	list := []string{}
	for _, c := range causes {
		list = append(list, c.Object+c.Code)
	}
	return list
}

func wantTold(t *testing.T, what string, got []telemetry.Cause, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), told(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantKey(t *testing.T, q *Queue[string], key string, phase telemetry.KeyPhase, since time.Time) telemetry.KeyState {
	t.Helper()
	k, _ := q.KeyState(key)
	if k.Phase != phase || !k.Since.Equal(since) {
		t.Errorf("%s is %q since %v, want %q since %v", key, k.Phase, k.Since, phase, since)
	}
	return k
}

func TestBeforeStartOnlyTheTableIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // A goroutine would keep the bubble from ending.
		start := time.Now()
		q := New(Options[string]{Name: "deployment"})
		q.Enqueue("b", saw("b1"))
		q.EnqueueAfter("later", timer("deadline"), 5*time.Second)
		q.Enqueue("a", saw("a1"))
		q.Enqueue("b", saw("b2"))
		if due := q.Retry("failed", timer("refused")); !due.Equal(start.Add(5 * time.Millisecond)) {
			t.Errorf("retry is due at %v", due)
		}
		if _, shutdown := q.Get(); !shutdown {
			t.Error("Get handed out a key before Start")
		}
		s := q.State()
		if s.Name != "deployment" || s.Ready != 2 || s.Waiting != 2 || q.Len() != 0 {
			t.Errorf("state: %+v", s)
		}
		k := wantKey(t, q, "b", telemetry.KeyReady, start)
		wantTold(t, "b", k.Causes, "b1", "b2")
		q.ShutDown()
		q.Start()
		q.Enqueue("c", saw("c1"))
		q.EnqueueAfter("c", timer("c2"), time.Second)
		var keys []string
		for _, k := range q.State().Keys {
			keys = append(keys, k.Key)
		}
		if want := []string{"a", "b", "failed", "later"}; !slices.Equal(keys, want) {
			t.Errorf("after a shutdown there are %v, want %v as before", keys, want)
		}
	})
}

func TestStartReplaysInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Enqueue("b", saw("b1"))
		q.EnqueueAfter("later", timer("deadline"), 5*time.Second)
		q.EnqueueAfter("b", timer("check"), 4*time.Second)
		q.Enqueue("a", saw("a1"))
		q.Enqueue("b", saw("b2"))
		pass(2 * time.Second)
		q.Start()
		defer q.ShutDown()
		w := mustGet(t, q)
		wantTold(t, w.Key, w.Causes, "b1", "b2")
		if w.Key != "b" || !w.Queued.Equal(time.Now()) {
			t.Errorf("first is %s, queued %v", w.Key, w.Queued)
		}
		q.Done("b")
		w = mustGet(t, q)
		wantTold(t, w.Key, w.Causes, "a1")
		q.Done("a")
		pass(2 * time.Second)
		w = mustGet(t, q)
		wantTold(t, w.Key, w.Causes, "check")
		q.Done("b")
		pass(time.Second)
		w = mustGet(t, q)
		wantTold(t, w.Key, w.Causes, "deadline")
		q.Done("later")
		if s := q.State(); len(s.Keys) != 0 || s.Adds != 4 {
			t.Errorf("state at the end: %+v", s)
		}
	})
}

// What needs no wait is enqueued before Start as well, whichever way it came.
func TestStartReplaysWhatNeedsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		q := New(Options[string]{Limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](0, 0)})
		q.EnqueueAfter("a", timer("overdue"), -time.Second)
		q.Retry("b", timer("refused"))
		pass(time.Second)
		q.Enqueue("a", saw("a1")) // It is ready since the first.
		wantKey(t, q, "a", telemetry.KeyReady, start)
		wantKey(t, q, "b", telemetry.KeyReady, start)
		q.Start()
		defer q.ShutDown()
		for _, want := range [][]string{{"a", "overdue", "a1"}, {"b", "refused"}} {
			w := mustGet(t, q)
			if wantTold(t, w.Key, w.Causes, want[1:]...); w.Key != want[0] {
				t.Errorf("got %s, want %s", w.Key, want[0])
			}
			q.Done(w.Key)
		}
	})
}

// A second Start leaves the queue as it is.
func TestStartsOnce(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		q.Enqueue("web", saw("one"))
		live := q.live
		q.Start()
		if q.live != live || q.Len() != 1 {
			t.Errorf("there is another queue, or %d keys are ready", q.Len())
		}
		wantTold(t, "sync", mustGet(t, q).Causes, "one")
		q.Done("web")
	})
}

func TestPhasesOfAKey(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		start := time.Now()
		q.Enqueue("web", saw("one"))
		wantKey(t, q, "web", telemetry.KeyReady, start)
		pass(time.Second)
		q.Enqueue("web", saw("two")) // Joins the first: still ready since then.
		wantKey(t, q, "web", telemetry.KeyReady, start)
		w := mustGet(t, q)
		wantTold(t, "first sync", w.Causes, "one", "two")
		if !w.Queued.Equal(start) {
			t.Errorf("queued %v, want %v", w.Queued, start)
		}
		wantKey(t, q, "web", telemetry.KeyProcessing, start.Add(time.Second))
		pass(time.Second)
		q.Enqueue("web", saw("three"))
		pass(time.Second)
		q.Enqueue("web", saw("four"))
		k := wantKey(t, q, "web", telemetry.KeyDirty, start.Add(2*time.Second))
		wantTold(t, "of a dirty key", k.Causes, "three", "four")
		if !k.Taken.Equal(start.Add(time.Second)) {
			t.Errorf("taken %v, want when the worker got it", k.Taken)
		}
		if s := q.State(); s.Busy != 1 || s.Dirty != 1 || s.Ready != 0 || s.Adds != 2 {
			t.Errorf("state: %+v", s)
		}
		q.Done("web")
		if k := wantKey(t, q, "web", telemetry.KeyReady, start.Add(3*time.Second)); !k.Taken.IsZero() {
			t.Errorf("a ready key is taken since %v", k.Taken)
		}
		w = mustGet(t, q)
		wantTold(t, "second sync", w.Causes, "three", "four")
		if !w.Queued.Equal(start.Add(3 * time.Second)) {
			t.Errorf("queued %v, want when the first sync was done", w.Queued)
		}
		q.Done("web")
		if k, ok := q.KeyState("web"); ok {
			t.Errorf("an idle key is remembered: %+v", k)
		}
	})
}

func TestEarlierOfTwoTimersHoldsForBoth(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		start := time.Now()
		q.EnqueueAfter("web", timer("deadline"), 10*time.Minute)
		pass(time.Second)
		q.EnqueueAfter("web", timer("min-ready"), 9*time.Second)
		q.EnqueueAfter("web", timer("echo"), 30*time.Second)
		k := wantKey(t, q, "web", telemetry.KeyWaiting, start)
		wantTold(t, "waiting", k.Causes, "deadline", "min-ready", "echo")
		if !k.Due.Equal(start.Add(10*time.Second)) || k.Code != "min-ready" {
			t.Errorf("due %v for %q", k.Due, k.Code)
		}
		pass(9*time.Second - 1)
		wantKey(t, q, "web", telemetry.KeyWaiting, start)
		pass(1)
		wantKey(t, q, "web", telemetry.KeyReady, start.Add(10*time.Second))
		w := mustGet(t, q)
		wantTold(t, "sync", w.Causes, "deadline", "min-ready", "echo")
		if due := w.Causes[0].Due; !due.Equal(start.Add(10 * time.Minute)) {
			t.Errorf("the deadline was due at %v", due)
		}
		q.Done("web")
		pass(time.Hour) // The later two are forgotten by client-go too.
		if q.Len() != 0 || len(q.State().Keys) != 0 {
			t.Errorf("state: %+v", q.State())
		}
	})
}

func TestAnEventDoesNotDisarmATimer(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		due := time.Now().Add(time.Minute)
		for range 100 { // Every sync arms it again.
			q.EnqueueAfter("web", telemetry.Cause{Kind: telemetry.CauseTimer, Code: "deadline", Due: due}, time.Until(due))
			q.Enqueue("web", saw("event"))
			w := mustGet(t, q)
			wantTold(t, "sync by an event", w.Causes, "event")
			if k, _ := q.KeyState("web"); !k.Due.Equal(due) || k.Phase != telemetry.KeyProcessing {
				t.Fatalf("at work, and the timer: %+v", k)
			}
			q.Done("web")
			pass(100 * time.Millisecond)
		}
		pass(time.Until(due))
		w := mustGet(t, q)
		wantTold(t, "sync by the clock", w.Causes, "deadline")
		if w.Folded != 0 {
			t.Errorf("%d copies of the timer were counted", w.Folded)
		}
		q.Done("web")
	})
}

// A key has one time, the earliest that was asked for: that of a retry may be another's.
func TestDueOfATimeThatHolds(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		start := time.Now()
		if due := q.EnqueueAfter("web", timer("deadline"), 7*time.Millisecond); !due.Equal(start.Add(7 * time.Millisecond)) {
			t.Errorf("the timer is due after %v", due.Sub(start))
		}
		for n, want := range []time.Duration{5, 5, 5} { // The back-offs are 5, 10 and 20 ms.
			want *= time.Millisecond
			if due := q.Retry("web", timer("refused")); !due.Equal(start.Add(want)) {
				t.Errorf("failure %d: due after %v, want %v", n, due.Sub(start), want)
			}
			synctest.Wait()
		}
		if due := q.EnqueueAfter("web", timer("deadline"), time.Minute); !due.Equal(start.Add(5 * time.Millisecond)) {
			t.Errorf("the timer is due after %v", due.Sub(start))
		}
		if due := q.EnqueueAfter("web", timer("now"), 0); !due.Equal(start) {
			t.Errorf("at once is after %v", due.Sub(start))
		}
		synctest.Wait()
		q.Done(mustGet(t, q).Key)
		pass(5 * time.Millisecond)
		mustGet(t, q)
		if due := q.Retry("web", timer("refused")); !due.Equal(start.Add(45 * time.Millisecond)) {
			t.Errorf("after they ended: due after %v", due.Sub(start))
		}
	})
}

func TestRetryBacksOffUntilForgotten(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		for n, wait := range []time.Duration{5, 10, 20, 40, 80} {
			now := time.Now()
			wait *= time.Millisecond
			if due := q.Retry("web", timer("refused")); !due.Equal(now.Add(wait)) {
				t.Errorf("failure %d: due after %v, want %v", n, due.Sub(now), wait)
			}
			synctest.Wait()
			k := wantKey(t, q, "web", telemetry.KeyWaiting, now)
			if k.Attempts != n+1 || k.Backoff != wait || k.Code != "refused" || q.NumRequeues("web") != n+1 {
				t.Errorf("failure %d: %+v, %d requeues", n, k, q.NumRequeues("web"))
			}
			pass(wait)
			w := mustGet(t, q)
			if w.Attempts != n+1 || !w.Causes[0].Due.Equal(now.Add(wait)) {
				t.Errorf("failure %d: %+v", n, w)
			}
			q.Done("web")
			if k, is := q.KeyState("web"); is || len(q.State().Keys) != 0 {
				t.Errorf("failure %d: the key is remembered, and is nowhere: %+v", n, k)
			}
		}
		q.Retry("web", timer("refused"))
		q.Forget("web")
		k := wantKey(t, q, "web", telemetry.KeyWaiting, time.Now())
		if k.Attempts != 0 || k.Backoff != 0 || q.NumRequeues("web") != 0 {
			t.Errorf("forgotten: %+v", k)
		}
		pass(160 * time.Millisecond)
		q.Done(mustGet(t, q).Key)
		if s := q.State(); len(s.Keys) != 0 || s.Errors != 6 || s.Timers != 0 {
			t.Errorf("state: %+v", s)
		}
	})
}

func TestCausesAreBounded(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
		for i := range maxCauses + 36 {
			q.Enqueue("web", saw(fmt.Sprint(i)))
		}
		if k, _ := q.KeyState("web"); len(k.Causes) != maxCauses || k.Folded != 36 {
			t.Errorf("%d causes and %d folded", len(k.Causes), k.Folded)
		}
		w := mustGet(t, q)
		if len(w.Causes) != maxCauses || w.Folded != 36 || w.Causes[0].Object != "0" {
			t.Errorf("%d causes and %d folded, the first %q", len(w.Causes), w.Folded, w.Causes[0].Object)
		}
		q.Done("web")
		q.Enqueue("web", saw("next"))
		if w := mustGet(t, q); len(w.Causes) != 1 || w.Folded != 0 {
			t.Errorf("the next sync: %+v", w)
		}
		q.Done("web")
	})
}

func TestShutDownDrainsAndDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Start()
		q.Enqueue("web", saw("one"))
		waiting := make(chan bool)
		q.ShutDown()
		q.Enqueue("other", saw("two"))
		q.EnqueueAfter("other", timer("three"), 0)
		q.EnqueueAfter("other", timer("later"), time.Second)
		q.Retry("other", timer("four"))
		if _, shutdown := q.Get(); shutdown {
			t.Error("what was ready is lost")
		}
		q.Done("web")
		go func() {
			_, shutdown := q.Get()
			waiting <- shutdown
		}()
		if !<-waiting {
			t.Error("a key after the shutdown")
		}
		if s := q.State(); len(s.Keys) != 0 || s.Adds != 1 || s.Timers != 0 || s.Errors != 0 {
			t.Errorf("state: %+v", s)
		}
		q.ShutDown()
	})
}

// A key's time in each phase adds up over its whole stay in the queue.
func TestTimeInEachPhase(t *testing.T) {
	inBubble(t, Options[string]{}, func(t *testing.T, q *Queue[string]) {
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
		q.EnqueueAfter("web", saw("three"), 0)
		want("at once", telemetry.Spent{})
	})
}
