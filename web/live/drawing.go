package live

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/web/page"
)

// drawing is the live parts of a page, rendered. The rows of a list are not in it:
// each is rendered when somebody has it in sight. Nobody changes a drawing.
type drawing struct {
	page      *page.Page
	seq       uint64 // the newest trace that it knows
	frags     []page.Fragment
	changesAt time.Time // of this machine's clock, when the clock alone makes another of it
	down      time.Time // since when no API server had served
	said      *messages
}

// messages are what was sent of a drawing: those who look at the same page have
// mostly seen the same of it and get the same bytes.
type messages struct {
	mu    sync.Mutex
	m     map[uint64]*websocket.PreparedMessage
	begun map[uint64]*readerState // by the reader's rows, and whether it has the drawing already
	ahead map[*readerState]*advance
}

// maxMessages bounds how many different ones are kept of a drawing, and how many
// beginnings and advances.
const maxMessages = 64

// begin returns what readers with these rows begin with, and makes it for the first.
func (x *messages) begin(same bool, rows readerRows, made func() (*readerState, error)) (*readerState, error) {
	sum := page.NewDigest()
	maphash.WriteComparable(&sum, same)
	maphash.WriteComparable(&sum, rows.sight)
	for _, id := range rows.ids {
		maphash.WriteComparable(&sum, id)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.begun[sum.Sum64()]; s != nil {
		return s, nil
	}
	s, err := made()
	if err != nil {
		return nil, err
	}
	return keepFew(&x.begun, sum.Sum64(), s), nil
}

// advance returns the one from what was seen, and makes it for the first of those who
// are in step, and again once what was held back may be sent.
func (x *messages) advance(from *readerState, now time.Time, made func() (*advance, error)) (*advance, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.ahead[from]; s != nil && (s.again.IsZero() || now.Before(s.again)) {
		return s, nil
	}
	s, err := made()
	if err != nil {
		return nil, err
	}
	return keepFew(&x.ahead, from, s), nil
}

// keepFew keeps a value in a table that is bounded: a full one is emptied.
func keepFew[K comparable, V any](table *map[K]V, key K, value V) V {
	if *table == nil || len(*table) >= maxMessages {
		*table = map[K]V{}
	}
	(*table)[key] = value
	return value
}

// of returns the message of that digest, and makes it where there is none.
func (x *messages) of(sum uint64, encoded func() ([]byte, error)) (*websocket.PreparedMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.m[sum]; m != nil {
		return m, nil
	}
	raw, err := encoded()
	if err != nil {
		return nil, err
	}
	m, err := websocket.NewPreparedMessage(websocket.TextMessage, raw)
	if err != nil {
		return nil, fmt.Errorf("prepare message: %w", err)
	}
	return keepFew(&x.m, sum, m), nil
}

// framing is the parts of the frame, drawn once for all pages.
type framing struct {
	mu    sync.Mutex
	at    time.Time
	frags []page.Fragment
}

func (s *Stream) frameFrags(ctx context.Context) ([]page.Fragment, error) {
	x := &s.draws.frame
	x.mu.Lock()
	defer x.mu.Unlock()
	if now := time.Now(); x.frags == nil || now.Sub(x.at) > windowEvery/4 {
		frags := make([]page.Fragment, 0, page.FrameSize)
		for _, p := range page.FrameParts(s.Notice(), s.ModeText(), s.Window()) {
			f, err := page.Render(ctx, p.ID, p.View)
			if err != nil {
				return nil, err
			}
			frags = append(frags, f)
		}
		x.at, x.frags = now, frags
	}
	return x.frags, nil
}
