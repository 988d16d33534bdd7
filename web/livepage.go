package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// update is a message to a page.
type update struct {
	Seq   uint64 `json:"seq"`
	Epoch string `json:"epoch"`
	// Now is the server's time in Unix milliseconds, for countdowns.
	Now   int64  `json:"now"`
	Frags []frag `json:"frags,omitempty"`
	// Missed counts traces that came while the page fell behind and are kept no
	// longer; From is the first number after them.
	Missed uint64 `json:"missed,omitempty"`
	// Restarted is set where the page's numbers are of an earlier run.
	Restarted bool `json:"restarted,omitempty"`
	// Order is the rows as they would be sorted now, where that has changed.
	Order []string `json:"order,omitempty"`
	// Gone says that the page cannot be drawn any more, and why.
	Gone string `json:"gone,omitempty"`
}

type frag struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// drawings are pages that are being watched, drawn once for all who watch them.
type drawings struct {
	mu sync.Mutex
	m  map[string]*shared
}

type shared struct {
	readers int
	mu      sync.Mutex
	drawing *drawing
	err     error
	seq     uint64 // what it was drawn after
	at      time.Time
	took    time.Duration
}

func (d *drawings) join(address string) *shared {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil {
		d.m = map[string]*shared{}
	}
	x := d.m[address]
	if x == nil {
		x = &shared{}
		d.m[address] = x
	}
	x.readers++
	return x
}

func (d *drawings) part(address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.m[address]; x != nil {
		if x.readers--; x.readers == 0 {
			delete(d.m, address)
		}
	}
}

// watch is a page that one reader looks at.
type watch struct {
	address string
	shared  *shared
	sent    map[string]uint64    // digest of every fragment as the reader has it
	sentAt  map[string]time.Time // when it was sent
	rows    []string             // on the reader's screen
	order   []string             // as the reader was told last
	page    *page

	touched   bool // by a trace since it was drawn last
	drawn     time.Time
	next      time.Time // when to draw again, if no trace comes
	missed    uint64
	restarted bool
	gone      string // what the reader was told last about that
}

// sendPage keeps one page up to date. It draws at once when a trace touches the
// page, and otherwise once a second.
func (c *reader) sendPage(ctx context.Context) error {
	var w *watch
	defer func() {
		if w != nil {
			c.s.draws.part(w.address)
		}
	}()
	pulse, ping := time.Now().Add(pulseEvery), time.Now().Add(pingEvery)
	for {
		if sub := c.take(); sub != nil {
			next, err := c.begin(ctx, sub, w)
			if err != nil {
				return err
			}
			w = next
		}
		due := earlier(pulse, ping)
		if w != nil {
			due = earlier(due, w.next)
		}
		batch, missed, err := c.wait(ctx, due)
		if err != nil {
			return err
		}
		w.note(batch, missed)
		sent, err := c.refresh(ctx, w)
		if err != nil {
			return err
		}
		now := time.Now()
		if sent {
			pulse = now.Add(pulseEvery)
		} else if !now.Before(pulse) {
			pulse = now.Add(pulseEvery)
			if err := c.send(update{}); err != nil {
				return err
			}
		}
		if !now.Before(ping) {
			ping = now.Add(pingEvery)
			if err := c.ping(); err != nil {
				return err
			}
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// begin looks at another page, or at the same again, and sends all of it, or
// just its number where the reader has exactly that.
func (c *reader) begin(ctx context.Context, sub *subscribe, old *watch) (*watch, error) {
	if _, _, err := c.s.find(sub.Page); err != nil {
		return old, err
	}
	w := &watch{address: sub.Page, shared: c.s.draws.join(sub.Page), sent: map[string]uint64{}, sentAt: map[string]time.Time{}, rows: sub.Rows}
	if old != nil {
		c.s.draws.part(old.address)
	}
	c.after = sub.After
	if w.restarted = sub.Epoch != c.s.journal.Epoch(); w.restarted || c.after > c.s.journal.Last() {
		c.after = c.s.journal.Last()
	}
	d, _, err := c.s.look(ctx, w, 0)
	if err != nil {
		return w, c.cannot(w, err)
	}
	w.page, w.order, w.drawn, w.next = d.page, d.page.order, time.Now(), time.Now().Add(lookEvery)
	if d.digest == sub.V && !w.restarted {
		for _, f := range d.frags {
			w.sent[f.id] = f.sum
		}
		return w, c.send(update{Seq: d.seq}) // Nothing to place, but the page is followed from here on.
	}
	_, err = c.sendChanges(ctx, w, d)
	clear(w.sentAt) // What was just placed may be swapped at once by the first change.
	return w, err
}

// cannot tells the page that it cannot be drawn any more. It is tried again.
func (c *reader) cannot(w *watch, err error) error {
	var e *asked
	if !errors.As(err, &e) {
		return err
	}
	w.next = time.Now().Add(lookEvery)
	w.touched = false
	if w.gone == e.Heading {
		return nil
	}
	w.gone = e.Heading
	return c.send(update{Gone: e.Heading})
}

// note remembers what came in.
func (w *watch) note(batch []*telemetry.Trace, missed uint64) {
	if w == nil {
		return
	}
	w.missed += missed
	if missed > 0 || w.page == nil || w.page.touches == nil {
		w.touched = w.touched || len(batch) > 0
		return
	}
	w.touched = w.touched || slices.ContainsFunc(batch, w.page.touches)
}

// refresh draws the page where there is a reason to, and sends what has changed.
func (c *reader) refresh(ctx context.Context, w *watch) (sent bool, err error) {
	now := time.Now()
	if w == nil || !w.touched && now.Before(w.next) {
		return false, nil
	}
	fresh := uint64(0)
	if w.touched {
		fresh = c.after
	}
	d, wait, err := c.s.look(ctx, w, fresh)
	if err != nil {
		return true, c.cannot(w, err)
	}
	if wait > 0 {
		w.next = now.Add(wait)
		return false, nil
	}
	w.touched, w.page, w.drawn = false, d.page, now
	w.next = now.Add(lookEvery)
	if turns := d.page.turns; !turns.IsZero() {
		w.next = earlier(w.next, now.Add(max(time.Millisecond, turns.Sub(c.s.opts.Now()))))
	}
	return c.sendChanges(ctx, w, d)
}

// look returns the drawing of a page that knows the trace fresh. Where it was
// drawn a moment ago without that trace, it returns how long to wait instead.
func (s *Server) look(ctx context.Context, w *watch, fresh uint64) (*drawing, time.Duration, error) {
	x := w.shared
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	age, rest := now.Sub(x.at), x.rest()
	if drawn := x.drawing != nil || x.err != nil; drawn && age < rest {
		if x.seq < fresh {
			return nil, rest - age, nil
		}
		return x.drawing, 0, x.err
	}
	q, build, err := s.find(w.address)
	if err != nil {
		return nil, 0, err
	}
	seq := s.journal.Last()
	x.drawing, x.err = s.drawNow(ctx, q, build)
	x.seq, x.at, x.took = seq, now, time.Since(now)
	if x.drawing != nil {
		x.drawing.seq = seq
	}
	return x.drawing, 0, x.err
}

// rest is how long the page is not drawn again, so that readers never take more
// than a small part of the machine from the loops.
func (x *shared) rest() time.Duration {
	if x.drawing != nil && x.drawing.page.row != nil {
		return max(listEvery, listRest*x.took)
	}
	return max(drawEvery, 5*x.took)
}

func (s *Server) drawNow(ctx context.Context, q *query, build builder) (d *drawing, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while drawing %s: %v", q.path, p)
		}
	}()
	p, err := build(q)
	if err != nil {
		return nil, err
	}
	return draw(ctx, p)
}

// sendChanges sends every fragment that differs from what the reader has and
// was not swapped a moment ago.
func (c *reader) sendChanges(ctx context.Context, w *watch, d *drawing) (bool, error) {
	m := update{Seq: d.seq, Missed: w.missed, Restarted: w.restarted}
	frags, err := w.onScreen(ctx, d)
	if err != nil {
		return false, err
	}
	now := time.Now()
	for _, f := range frags {
		if was, ok := w.sent[f.id]; ok && was == f.sum {
			continue
		}
		gap := swapEvery
		if f.id == "f-window" {
			gap = windowEvery
		}
		if at := w.sentAt[f.id].Add(gap); now.Before(at) {
			w.next = earlier(w.next, at)
			continue
		}
		w.sent[f.id], w.sentAt[f.id] = f.sum, now
		m.Frags = append(m.Frags, frag{f.id, f.html})
	}
	if d.page.order != nil && !slices.Equal(d.page.order, w.order) {
		m.Order, w.order = d.page.order, d.page.order
	}
	if len(m.Frags) == 0 && m.Order == nil && m.Missed == 0 && !m.Restarted {
		return false, nil
	}
	w.missed, w.restarted = 0, false
	return true, c.send(m)
}

// onScreen is the fragments that the reader can show: no row that it does not
// have, and every row that it has, on this page of the list or not.
func (w *watch) onScreen(ctx context.Context, d *drawing) ([]fragment, error) {
	if d.page.row == nil {
		return d.frags, nil
	}
	var list []fragment
	drawn := map[string]bool{}
	for _, f := range d.frags {
		drawn[f.id] = true
		if !strings.HasPrefix(f.id, "r-") || slices.Contains(w.rows, f.id) {
			list = append(list, f)
		}
	}
	for _, id := range w.rows {
		if drawn[id] {
			continue
		}
		view, ok := d.page.row(id)
		if !ok {
			continue
		}
		f, err := paint(ctx, id, view)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

func (c *reader) send(m update) error {
	m.Seq, m.Epoch, m.Now = max(m.Seq, c.after), c.s.journal.Epoch(), c.s.opts.Now().UnixMilli()
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode update: %w", err)
	}
	return c.write(raw)
}
