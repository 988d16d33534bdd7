package live

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/slots"
)

// shareOfCrowd is which part of the open websockets one viewer may have.
const shareOfCrowd = 8

// Crowd is the websockets of all streams of a process. It is safe for concurrent use.
type Crowd struct {
	places *slots.Shares
	most   int

	// mu guards closed and readers: no reader enters once Shutdown waits for the last to leave.
	mu      sync.Mutex
	closed  bool
	readers map[*reader]struct{}
	open    sync.WaitGroup
}

// NewCrowd returns one that has at most that many websockets at once.
func NewCrowd(most int) *Crowd {
	return &Crowd{places: slots.NewShares(most, max(1, most/shareOfCrowd)), most: most, readers: map[*reader]struct{}{}}
}

// acquire takes a place for a websocket until leave is called.
func (x *Crowd) acquire(ctx context.Context) (leave func(), e *answer.Problem) {
	x.mu.Lock()
	defer x.mu.Unlock()
	free, err := x.places.Take(ctx)
	switch {
	case err == nil && x.closed:
		free()
		err = slots.ErrFull
	case errors.Is(err, slots.ErrShare):
		return nil, answer.NewProblem(http.StatusServiceUnavailable, "too-many-of-one", "You have as many live pages open as one user may have.",
			views.Sayf("That is %d. Close one, or read the JSON twins.", x.places.Each()))
	}
	if err != nil {
		return nil, answer.NewProblem(http.StatusServiceUnavailable, "too-many-readers", "Too many live readers are connected, or the console is stopping.",
			views.Sayf("At most %d are served at once. Close a page, or read the JSON twins.", x.most))
	}
	x.open.Add(1)
	return func() { free(); x.open.Done() }, nil
}

// enter lets Shutdown find a reader. One that came while it ran is sent away.
func (x *Crowd) enter(c *reader) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.readers[c] = struct{}{}
	if x.closed {
		c.cancel(errStopping)
	}
}

func (x *Crowd) leave(c *reader) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.readers, c)
}

// Shutdown closes every websocket and waits for it, as long as ctx lasts.
func (x *Crowd) Shutdown(ctx context.Context) error {
	x.mu.Lock()
	x.closed = true
	for c := range x.readers {
		c.cancel(errStopping)
	}
	x.mu.Unlock()
	done := make(chan struct{})
	go func() { x.open.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Disconnect closes every websocket that is open now. Whoever comes back is served as before.
func (x *Crowd) Disconnect() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for c := range x.readers {
		c.cancel(errMoved)
	}
}

// Readers is how many websockets are open.
func (x *Crowd) Readers() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.readers)
}
