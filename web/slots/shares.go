package slots

import (
	"context"
	"errors"
	"sync"
)

// Why there is no place: errors of Shares.Take.
var (
	// ErrFull: all places are taken.
	ErrFull = errors.New("all places are taken")
	// ErrShare: who asks has as many as one viewer may have.
	ErrShare = errors.New("one viewer has no more places than these")
)

// Shares are a number of places, of which one viewer has a part at most. It is safe for concurrent use.
type Shares struct {
	all, each int

	mu   sync.Mutex
	used int
	of   map[string]int
}

// NewShares returns as many places, of which one viewer may have each.
func NewShares(all, each int) *Shares { return &Shares{all: all, each: each, of: map[string]int{}} }

// Take takes a place, or says that there is none. leave gives it back and is called once. A context
// that is nobody's may have all places.
func (x *Shares) Take(ctx context.Context) (leave func(), err error) {
	who, _ := ctx.Value(whoKey{}).(string)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.used >= x.all:
		return nil, ErrFull
	case who != "" && x.of[who] >= x.each:
		return nil, ErrShare
	}
	x.used++
	x.of[who]++
	return func() { x.leave(who) }, nil
}

func (x *Shares) leave(who string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used--
	if x.of[who]--; x.of[who] == 0 {
		delete(x.of, who)
	}
}

// Used is how many places are taken.
func (x *Shares) Used() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.used
}

// Each is how many places one viewer may have.
func (x *Shares) Each() int { return x.each }

// whoKey is the key of whose a context is.
type whoKey struct{}

// Whose is a context of what is done for a viewer of that name, whose share it counts to.
func Whose(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}
