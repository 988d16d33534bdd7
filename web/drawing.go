package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry/safebytes"
	"github.com/loopscope/loopscope/views"
)

// frameParts are the parts of the frame, which stand first on every live page.
var frameParts = [...]string{"f-notice", "f-window"}

// fragment is a part as it is sent.
type fragment struct {
	id   string
	wire []byte // its JSON, made once for all readers
	sum  uint64 // digest of that
}

// drawing is the live parts of a page, rendered. The rows of a list are not in it:
// each is rendered when somebody has it in sight. Nobody changes a drawing.
type drawing struct {
	page      *page
	seq       uint64 // the newest trace that it knows
	frags     []fragment
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
	sum := newDigest()
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

// draw renders the parts without the time of day, so that two drawings differ
// only where something has changed.
func (p *page) draw(ctx context.Context) ([]fragment, error) {
	frags := make([]fragment, 0, len(p.parts))
	for _, x := range p.parts {
		f, err := render(ctx, x.id, x.view)
		if err != nil {
			return nil, err
		}
		frags = append(frags, f)
	}
	return frags, nil
}

// digest is that of all parts and rows, by which a reader's page is known to be what was
// drawn. The counter in the header is not in it, which every trace changes.
func (p *page) digest(ctx context.Context, frags []fragment) (string, error) {
	all := newDigest()
	for i := range frags {
		if frags[i].id != "f-window" {
			maphash.WriteComparable(&all, frags[i].sum)
		}
	}
	for _, r := range p.rows {
		f, err := r.paint(ctx)
		if err != nil {
			return "", err
		}
		maphash.WriteComparable(&all, f.sum)
	}
	return strconv.FormatUint(all.Sum64(), 36), nil
}

// scratch is what parts are written into before their size is known: a list in a
// burst renders a hundred of them a second.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxScratch bounds a buffer that is kept, in bytes.
const maxScratch = 64 << 10

func takeScratch() (b *bytes.Buffer, free func()) {
	b = scratch.Get().(*bytes.Buffer)
	b.Reset()
	return b, func() {
		if b.Cap() <= maxScratch {
			scratch.Put(b)
		}
	}
}

// render makes a fragment. Its markup stays as it is in the JSON: no message is ever part
// of a page.
func render(ctx context.Context, id string, view templ.Component) (fragment, error) {
	markup, free := takeScratch()
	defer free()
	if err := view.Render(ctx, markup); err != nil {
		return fragment{}, fmt.Errorf("render %s: %w", id, err)
	}
	text, done := takeScratch()
	defer done()
	e := json.NewEncoder(text)
	e.SetEscapeHTML(false)
	if err := e.Encode(frag{id, string(safebytes.Text(markup.Bytes()))}); err != nil {
		return fragment{}, fmt.Errorf("encode %s: %w", id, err)
	}
	wire := bytes.Clone(bytes.TrimSpace(safebytes.JSON(text.Bytes())))
	return fragment{id, wire, maphash.Bytes(digests, wire)}, nil
}

// digests are compared within this process alone, so that the runtime's own hash
// will do: every reader of a list computes one of a hundred numbers for each message.
var digests = maphash.MakeSeed()

func newDigest() (h maphash.Hash) {
	h.SetSeed(digests)
	return h
}

// pageRow is a row of a list, which many drawings have in common. It is rendered once,
// when somebody needs it. Two rows are the same if their pointers are.
type pageRow struct {
	id   string
	view func() templ.Component
	once sync.Once
	f    fragment
	err  error
}

// paint renders the row. It is safe for concurrent use.
func (r *pageRow) paint(ctx context.Context) (fragment, error) {
	r.once.Do(func() {
		r.f, r.err = render(context.WithoutCancel(ctx), r.id, r.view())
	})
	return r.f, r.err
}

// painted reports whether the row was rendered already.
func (r *pageRow) painted() bool { return r.f.wire != nil }

// framing is the parts of the frame, drawn once for all pages.
type framing struct {
	mu    sync.Mutex
	at    time.Time
	frags []fragment
}

func (s *Server) frameFrags(ctx context.Context) ([]fragment, error) {
	x := &s.draws.frame
	x.mu.Lock()
	defer x.mu.Unlock()
	if now := time.Now(); x.frags == nil || now.Sub(x.at) > windowEvery/4 {
		frags := make([]fragment, 0, len(frameParts))
		for _, p := range []part{{frameParts[0], views.NoticeBar(s.notice())}, {frameParts[1], views.WindowLine(s.window())}} {
			f, err := render(ctx, p.id, p.view)
			if err != nil {
				return nil, err
			}
			frags = append(frags, f)
		}
		x.at, x.frags = now, frags
	}
	return x.frags, nil
}
