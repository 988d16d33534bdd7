package live

import (
	"context"
	"errors"
	"net/http"
)

// livePath is where websockets are opened.
const livePath = "/live"

// Right reports whether who opened a websocket may still read what is at a path. It is called now and
// then from a goroutine of the websocket, and may take a while.
type Right func(path string) bool

// rightKey is the key of a Right.
type rightKey struct{}

// WithRight is a request of somebody who has that right.
func WithRight(r *http.Request, right Right) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), rightKey{}, right))
}

// rightOf is the right of a request; without one everything may be read.
func rightOf(r *http.Request) Right {
	if right, ok := r.Context().Value(rightKey{}).(Right); ok {
		return right
	}
	return func(string) bool { return true }
}

// errNoRight is for a page that who asks for it may not read.
var errNoRight = errors.New("there is no such page")
