// Package slots shares the processors between those who draw, so that syncs come
// first. It knows neither what is drawn nor for whom.
package slots

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
	"github.com/loopscope/loopscope/web/answer"
)

const (
	// Within is how long a request waits for a slot, and MaxWaiting how many wait at once.
	Within     = 20 * time.Second
	MaxWaiting = 256
	// shareOfWaiting is which part of these one viewer may have.
	shareOfWaiting = 8
	// syncsFor is how long after a sync others are taken to be under way. Until then a
	// slot rests slotRest times as long as it was in use before it is free again.
	syncsFor = time.Second
	slotRest = 1
)

// Slots bound how many pages are drawn at once, whoever asks for them: one processor is
// always left to the loops, and while they sync, a share of the others, too. Slots are
// given in turn to requests, to watched pages and to plans, so that a crowd of one
// kind keeps none of the others waiting for long.
type Slots struct {
	free    *semaphore.Weighted // first come, first served
	waiting *Shares             // requests
	late    atomic.Int64        // watched pages that wait
	last    func() uint64       // the newest sync

	// Requests and watched pages each queue at a door of their own.
	requests, watched *semaphore.Weighted

	mu     sync.Mutex
	seq    uint64 // the newest sync that was seen, and when that was
	seenAt time.Time
}

// New makes slots for this machine. last returns the number of the newest sync, by which they
// know whether syncs are under way.
func New(last func() uint64) *Slots {
	return &Slots{free: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))), last: last,
		waiting: NewShares(MaxWaiting, MaxWaiting/shareOfWaiting), requests: semaphore.NewWeighted(1), watched: semaphore.NewWeighted(1)}
}

// Slot is the right to draw, held by one goroutine. A nil slot bounds nothing.
type Slot struct {
	of    *Slots
	held  bool
	since time.Time
}

// Request takes a slot for a request, which waits a bounded time for it.
func (x *Slots) Request(ctx context.Context) (*Slot, error) {
	leave, err := x.Queue(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	waiting, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	s, err := x.enter(waiting, x.requests)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, errBusy()
	}
	return s, err
}

// Queue counts a request that waits, or turns it away where too many do.
func (x *Slots) Queue(ctx context.Context) (leave func(), err error) {
	leave, err = x.waiting.Take(ctx)
	switch {
	case errors.Is(err, ErrShare):
		return nil, answer.NewProblem(http.StatusTooManyRequests, "too-many-of-one", "You have as many requests waiting as one user may have.",
			views.Sayf("That is %d. Send the next ones when these have been answered.", x.waiting.Each())).RetryIn(5 * time.Second)
	case err != nil:
		return nil, errBusy()
	}
	return leave, nil
}

// Watch takes a slot for what nobody waits for with a request: it is late rather than
// refused.
func (x *Slots) Watch(ctx context.Context) (*Slot, error) {
	x.late.Add(1)
	defer x.late.Add(-1)
	return x.enter(ctx, x.watched)
}

// Queued is how many requests wait for a slot, and how many watched pages.
func (x *Slots) Queued() (requests, watched int64) { return int64(x.waiting.Used()), x.late.Load() }

// enter takes a slot, one at a time of those at that door.
func (x *Slots) enter(ctx context.Context, door *semaphore.Weighted) (*Slot, error) {
	if err := door.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer door.Release(1)
	s := &Slot{of: x}
	return s, s.take(ctx)
}

func errBusy() error {
	return answer.NewProblem(http.StatusServiceUnavailable, "busy", "The console has more readers than it can serve right now.",
		views.Sayf("Syncs come first, so pages are rendered a few at a time. At most %d requests wait for that, for %s each. Try again in a moment.", MaxWaiting, Within)).RetryIn(5 * time.Second)
}

func (s *Slot) take(ctx context.Context) error {
	if err := s.of.free.Acquire(ctx, 1); err != nil {
		return err
	}
	s.held, s.since = true, time.Now()
	return nil
}

// Release gives the slot back. It is free for others after its rest.
func (s *Slot) Release() {
	if s == nil || !s.held {
		return
	}
	s.held = false
	if d := s.of.Rest(time.Since(s.since)); d > 0 {
		time.AfterFunc(d, func() { s.of.free.Release(1) })
		return
	}
	s.of.free.Release(1)
}

// Yield lets others draw in between, and returns an error once ctx has ended.
func (s *Slot) Yield(ctx context.Context) error {
	return s.Without(ctx, func() error { return ctx.Err() })
}

// Without gives the slot back while do waits for something else than a processor, and
// takes it again where that went well.
func (s *Slot) Without(ctx context.Context, do func() error) error {
	if s == nil {
		return do()
	}
	s.Release()
	if err := do(); err != nil {
		return err
	}
	return s.take(ctx)
}

// Rest is how long a slot is not given to anybody after it was in use for that long.
func (x *Slots) Rest(took time.Duration) time.Duration {
	if x.syncing() {
		return slotRest * took
	}
	return 0
}

// syncing reports whether syncs are likely to be under way.
func (x *Slots) syncing() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if seq := x.last(); seq != x.seq {
		x.seq, x.seenAt = seq, now
	}
	return now.Sub(x.seenAt) < syncsFor
}

// Pause waits that long, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
