package slots

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loopscope/loopscope/web/answer"
)

// TestSyncsComeFirst: while syncs are under way a slot rests as long as it was used, and
// the reader does not wait for that.
func TestSyncsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seq := uint64(1)
		x := New(func() uint64 { return seq })
		x.free = semaphore.NewWeighted(1)
		use := func() (waited time.Duration) {
			began := time.Now()
			s, err := x.Request(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			waited = time.Since(began)
			time.Sleep(40 * time.Millisecond)
			s.Release()
			return waited
		}
		use()
		time.Sleep(2 * syncsFor)
		use()
		if waited := use(); waited != 0 {
			t.Errorf("a page waits %s after another though nothing syncs", waited)
		}
		seq++
		use()
		if waited := use(); waited != slotRest*40*time.Millisecond {
			t.Errorf("a page waits %s after another while syncs are under way", waited)
		}
	})
}

// TestWaitingIsBounded: a request is told to come again when its time is over, or when
// too many wait already; one whose reader leaves takes no place.
func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(func() uint64 { return 0 })
		x.free = semaphore.NewWeighted(1)
		held, err := x.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		busy := func(err error) bool {
			var e *answer.Problem
			return errors.As(err, &e) && e.Status == http.StatusServiceUnavailable && e.Code == "busy" && e.Retry > 0
		}
		began := time.Now()
		if _, err := x.Request(t.Context()); !busy(err) || time.Since(began) != Within {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range MaxWaiting {
			go func() { _, _ = x.Request(ctx) }()
		}
		synctest.Wait()
		began = time.Now()
		if _, err := x.Request(t.Context()); !busy(err) || time.Since(began) != 0 {
			t.Errorf("one too many, after %s: %v", time.Since(began), err)
		}
		cancel()
		synctest.Wait()
		if n := x.waiting.Used(); n != 0 {
			t.Errorf("%d that have left still wait", n)
		}
		held.Release()
		if s, err := x.Request(t.Context()); err != nil {
			t.Error(err)
		} else {
			s.Release()
		}
	})
}

// TestCrowdsTakeTurns: a watched page and a plan come to their turn beside any number of
// requests, and a request beside any number of watched pages.
func TestCrowdsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(func() uint64 { return 0 })
		x.free = semaphore.NewWeighted(1)
		first, err := x.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var mu sync.Mutex
		enter := func(name string, take func(context.Context) (*Slot, error)) {
			go func() {
				s, err := take(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(time.Millisecond) // so that the next one is at the door
				s.Release()
			}()
			synctest.Wait()
		}
		for range 50 {
			enter("request", x.Request)
		}
		for range 50 {
			enter("watched", x.Watch)
		}
		first.Release()
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(order) != 100 || order[1] != "watched" || order[2] != "request" {
			t.Errorf("%d came, in this order: %v", len(order), order[:min(len(order), 6)])
		}
	})
}
