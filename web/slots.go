package web

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loopscope/loopscope/views"
)

const (
	// slotWithin is how long a request waits for a slot, and maxWaiting how many wait at once.
	slotWithin = 20 * time.Second
	maxWaiting = 256
	// syncsFor is how long after a sync others are taken to be under way. Until then a
	// slot rests slotRest times as long as it was in use before it is free again.
	syncsFor = time.Second
	slotRest = 1
)

// slots bound how many pages are drawn at once, whoever asks for them: one processor is
// always left to the loops, and while they sync, a share of the others, too. Slots are
// given in turn to requests, to watched pages and to plans, so that a crowd of one
// kind keeps none of the others waiting for long.
type slots struct {
	free    *semaphore.Weighted // first come, first served
	waiting atomic.Int64        // requests
	late    atomic.Int64        // watched pages that wait
	last    func() uint64       // the newest sync

	// Requests and watched pages each queue at a door of their own.
	requests, watched *semaphore.Weighted

	mu     sync.Mutex
	seq    uint64 // the newest sync that was seen, and when that was
	seenAt time.Time
}

func newSlots(last func() uint64) *slots {
	return &slots{free: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))), last: last,
		requests: semaphore.NewWeighted(1), watched: semaphore.NewWeighted(1)}
}

// slot is the right to draw, held by one goroutine. A nil slot bounds nothing.
type slot struct {
	of    *slots
	held  bool
	since time.Time
}

// request takes a slot for a request, which waits a bounded time for it.
func (x *slots) request(ctx context.Context) (*slot, error) {
	leave, err := x.queue()
	if err != nil {
		return nil, err
	}
	defer leave()
	waiting, cancel := context.WithTimeout(ctx, slotWithin)
	defer cancel()
	s, err := x.enter(waiting, x.requests)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, errBusy()
	}
	return s, err
}

// queue counts a request that waits, or turns it away where too many do.
func (x *slots) queue() (leave func(), err error) {
	leave = func() { x.waiting.Add(-1) }
	if x.waiting.Add(1) > maxWaiting {
		leave()
		return nil, errBusy()
	}
	return leave, nil
}

// watch takes a slot for what nobody waits for with a request: it is late rather than
// refused.
func (x *slots) watch(ctx context.Context) (*slot, error) {
	x.late.Add(1)
	defer x.late.Add(-1)
	return x.enter(ctx, x.watched)
}

// queued is how many requests wait for a slot, and how many watched pages.
func (x *slots) queued() (requests, watched int64) { return x.waiting.Load(), x.late.Load() }

// enter takes a slot, one at a time of those at that door.
func (x *slots) enter(ctx context.Context, door *semaphore.Weighted) (*slot, error) {
	if err := door.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer door.Release(1)
	s := &slot{of: x}
	return s, s.take(ctx)
}

func errBusy() error {
	return problem(http.StatusServiceUnavailable, "busy", "The console has more readers than it can serve right now.",
		views.Sayf("Syncs come first, so pages are rendered a few at a time. At most %d requests wait for that, for %s each. Try again in a moment.", maxWaiting, slotWithin)).retryIn(5 * time.Second)
}

func (s *slot) take(ctx context.Context) error {
	if err := s.of.free.Acquire(ctx, 1); err != nil {
		return err
	}
	s.held, s.since = true, time.Now()
	return nil
}

// release gives the slot back. It is free for others after its rest.
func (s *slot) release() {
	if s == nil || !s.held {
		return
	}
	s.held = false
	if d := s.of.rest(time.Since(s.since)); d > 0 {
		time.AfterFunc(d, func() { s.of.free.Release(1) })
		return
	}
	s.of.free.Release(1)
}

// yield lets others draw in between, and returns an error once ctx has ended.
func (s *slot) yield(ctx context.Context) error {
	return s.without(ctx, func() error { return ctx.Err() })
}

// without gives the slot back while do waits for something else than a processor, and
// takes it again where that went well.
func (s *slot) without(ctx context.Context, do func() error) error {
	if s == nil {
		return do()
	}
	s.release()
	if err := do(); err != nil {
		return err
	}
	return s.take(ctx)
}

// rest is how long a slot is not given to anybody after it was in use for that long.
func (x *slots) rest(took time.Duration) time.Duration {
	if x.syncing() {
		return slotRest * took
	}
	return 0
}

// syncing reports whether syncs are likely to be under way.
func (x *slots) syncing() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if seq := x.last(); seq != x.seq {
		x.seq, x.seenAt = seq, now
	}
	return now.Sub(x.seenAt) < syncsFor
}

// inSlot lets a handler answer into memory while it has a slot, so that none is held
// by a reader who takes its answer slowly.
func (s *Server) inSlot(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		place, err := s.slots.request(r.Context())
		if err != nil {
			s.fail(w, r, true, err)
			return
		}
		a := &answer{header: http.Header{}}
		func() {
			defer place.release()
			next.ServeHTTP(a, r)
		}()
		a.write(w, r)
	}
}
