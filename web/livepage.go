package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
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

// watch is a page that one reader looks at.
type watch struct {
	shared *shared
	had    string    // digest of the parts as the reader had them
	rows   []string  // on the reader's screen
	seen   *seen     // nil before the first message
	again  time.Time // when a fragment may be sent that was sent a moment ago; zero for none

	missed    uint64
	restarted bool
	gone      string // what the reader was told last about that
}

// seen is what some readers have of a page. Nobody changes it: those who are in
// step share it, and so what is found out for one is known for all.
type seen struct {
	rows  map[string]bool   // on the screen
	has   map[string]placed // every fragment as they have it
	order []string          // as they were told last
}

// advance is how those who have seen something come to know a drawing.
type advance struct {
	next    *seen // the same one where nothing has changed
	changed []fragment
	order   []string  // nil where it is the same
	again   time.Time // when a fragment may be sent that was sent a moment ago; zero for none
}

// placed is a fragment on a reader's page.
type placed struct {
	sum uint64
	at  time.Time // when it was sent, zero where it may be swapped at once
}

// sendPage keeps one page up to date: it sends what differs in each new drawing.
func (c *reader) sendPage(ctx context.Context) error {
	var w *watch
	told := make(chan struct{}, 1)
	c.wakes(func() { nudge(told) })
	defer func() {
		if w != nil {
			w.shared.part(told)
		}
	}()
	pulse, ping := time.Now().Add(pulseEvery), time.Now().Add(pingEvery)
	due := time.NewTimer(pulseEvery)
	defer due.Stop()
	for {
		sent := false
		if sub := c.take(); sub != nil {
			var err error
			if w, err = c.begin(ctx, sub, w, told); err != nil {
				return err
			}
		}
		if w != nil {
			var err error
			if sent, err = c.follow(ctx, w); err != nil {
				return err
			}
		}
		now := time.Now()
		if sent {
			pulse = now.Add(pulseEvery)
		} else if !now.Before(pulse) {
			pulse = now.Add(pulseEvery)
			if err := c.send(update{}, nil); err != nil {
				return err
			}
		}
		if !now.Before(ping) {
			ping = now.Add(pingEvery)
			if err := c.ping(); err != nil {
				return err
			}
		}
		next := earlier(pulse, ping)
		if w != nil {
			next = earlier(next, w.again)
		}
		due.Reset(time.Until(next))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-told:
		case <-due.C:
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// begin looks at another page, or at the same again.
func (c *reader) begin(ctx context.Context, sub *subscribe, old *watch, told chan struct{}) (*watch, error) {
	if _, _, err := c.s.find(sub.Page); err != nil {
		return old, err
	}
	w := &watch{had: sub.V, rows: sub.Rows}
	w.shared = c.s.join(ctx, sub.Page, told)
	if old != nil && old.shared != w.shared {
		old.shared.part(told)
	}
	c.after = sub.After
	if w.restarted = sub.Epoch != c.s.journal.Epoch(); w.restarted || c.after > c.s.journal.Last() {
		c.after = c.s.journal.Last()
	}
	return w, c.catchUp(ctx, w)
}

// catchUp counts what came and went while the reader was away.
func (c *reader) catchUp(ctx context.Context, w *watch) error {
	last := c.s.journal.Last()
	if c.after >= last {
		return nil
	}
	_, missed, err := c.s.journal.Next(ctx, c.after)
	if err != nil {
		return err
	}
	c.after = last
	if w.missed += missed; missed > 0 {
		c.s.opts.Readers.Missed(missed)
	}
	return nil
}

// follow sends what has changed since the reader's last message.
func (c *reader) follow(ctx context.Context, w *watch) (sent bool, err error) {
	if c.s.draws.over.Load() {
		return false, telemetry.ErrEnded
	}
	if known := c.s.draws.seq.Load(); known > c.after+fellBehind {
		if err := c.catchUp(ctx, w); err != nil {
			return false, err
		}
	}
	d, pending, err := w.shared.current()
	switch {
	case err != nil:
		return true, c.cannot(w, err)
	case d == nil, w.seen == nil && pending:
		return false, nil // The drawing that is on its way is waited for.
	}
	w.gone = ""
	if !pending {
		c.after = max(c.after, c.s.draws.seq.Load())
	}
	if w.seen == nil {
		return true, c.first(ctx, w, d)
	}
	return c.sendChanges(ctx, w, d)
}

// first sends the whole page, or just its number where the reader has exactly that.
func (c *reader) first(ctx context.Context, w *watch, d *drawing) error {
	same := d.digest == w.had && !w.restarted
	w.seen = d.said.begin(same, w.rows, func() *seen { return d.begin(same, w.rows) })
	if same {
		return c.send(update{Seq: d.seq}, nil) // Nothing to place, but the page is followed from here on.
	}
	_, err := c.sendChanges(ctx, w, d)
	return err
}

// begin is what a reader has that shows these rows: the drawing itself, or nothing.
func (d *drawing) begin(same bool, rows []string) *seen {
	s := &seen{rows: make(map[string]bool, len(rows)), has: map[string]placed{}}
	for _, id := range rows {
		s.rows[id] = true
	}
	if same {
		s.order = d.page.order
		for _, f := range d.frags {
			s.has[f.id] = placed{sum: f.sum}
		}
	}
	return s
}

// cannot tells the page that it cannot be drawn any more. It is tried again.
func (c *reader) cannot(w *watch, err error) error {
	var e *asked
	if !errors.As(err, &e) {
		return err
	}
	if w.gone == e.Heading {
		return nil
	}
	w.gone = e.Heading
	return c.send(update{Gone: e.Heading}, nil)
}

// sendChanges sends every fragment that differs from what the reader has and
// was not swapped a moment ago.
func (c *reader) sendChanges(ctx context.Context, w *watch, d *drawing) (bool, error) {
	now := time.Now()
	a, err := d.said.advance(w.seen, now, func() (*advance, error) { return d.after(ctx, w.seen, now) })
	if err != nil {
		return false, err
	}
	w.seen, w.again = a.next, a.again
	m := update{Seq: d.seq, Missed: w.missed, Restarted: w.restarted, Order: a.order}
	if len(a.changed) == 0 && m.Order == nil && m.Missed == 0 && !m.Restarted {
		return false, nil
	}
	own := w.missed > 0 || w.restarted
	w.missed, w.restarted = 0, false
	if own || w.shared.lone() {
		return true, c.send(m, a.changed)
	}
	return true, c.sendShared(m, a.changed, d.said)
}

// after is the advance from what was seen to the drawing. What is placed for the first
// time may be swapped at once by the first change.
func (d *drawing) after(ctx context.Context, s *seen, now time.Time) (*advance, error) {
	frags, err := d.onScreen(ctx, s.rows)
	if err != nil {
		return nil, err
	}
	x, at := &advance{next: s}, now
	if len(s.has) == 0 {
		at = time.Time{}
	}
	for _, f := range frags {
		was, ok := s.has[f.id]
		if ok && was.sum == f.sum {
			continue
		}
		gap := swapEvery
		if f.id == "f-window" {
			gap = windowEvery
		}
		if free := was.at.Add(gap); now.Before(free) {
			x.again = earlier(free, x.again)
			continue
		}
		x.changed = append(x.changed, f)
	}
	if d.page.order != nil && !slices.Equal(d.page.order, s.order) {
		x.order = d.page.order
	}
	if len(x.changed) == 0 && x.order == nil {
		return x, nil
	}
	x.next = &seen{rows: s.rows, has: maps.Clone(s.has), order: s.order}
	for _, f := range x.changed {
		x.next.has[f.id] = placed{f.sum, at}
	}
	if x.order != nil {
		x.next.order = x.order
	}
	return x, nil
}

// onScreen is the fragments that a reader with these rows can show: no other row,
// and each of them, on this page of the list or not.
func (d *drawing) onScreen(ctx context.Context, shown map[string]bool) ([]fragment, error) {
	if d.page.row == nil {
		return d.frags, nil
	}
	list, rows := make([]fragment, 0, len(d.frags)), 0
	for _, f := range d.frags {
		row := strings.HasPrefix(f.id, "r-")
		if row && !shown[f.id] {
			continue
		}
		if list = append(list, f); row {
			rows++
		}
	}
	if rows == len(shown) { // Every row that the reader has is on this page.
		return list, nil
	}
	for id := range shown {
		if slices.ContainsFunc(list, func(f fragment) bool { return f.id == id }) {
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
		one := []fragment{f}
		if err := encode(one); err != nil {
			return nil, err
		}
		list = append(list, one[0])
	}
	return list, nil
}

// send completes a message and writes it.
func (c *reader) send(m update, frags []fragment) error {
	raw, err := c.complete(m, frags)
	if err != nil {
		return err
	}
	return c.write(raw)
}

// sendShared writes a message that other readers of the drawing may have got, too.
func (c *reader) sendShared(m update, frags []fragment, said *messages) error {
	m.Seq = max(m.Seq, c.after)
	sum := newDigest()
	maphash.WriteComparable(&sum, m.Seq)
	for _, id := range m.Order {
		maphash.WriteComparable(&sum, id)
	}
	for i := range frags {
		maphash.WriteComparable(&sum, frags[i].sum)
	}
	p, err := said.of(sum.Sum64(), func() ([]byte, error) { return c.complete(m, frags) })
	if err != nil {
		return err
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.s.opts.WriteTimeout))
	return writeError(c.conn.WritePreparedMessage(p))
}

// complete is a message as it is sent, with fragments that are encoded already.
func (c *reader) complete(m update, frags []fragment) ([]byte, error) {
	m.Seq, m.Epoch, m.Now = max(m.Seq, c.after), c.s.journal.Epoch(), c.s.opts.Now().UnixMilli()
	head, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode update: %w", err)
	}
	if len(frags) == 0 {
		return head, nil
	}
	size := len(head) + 16
	for _, f := range frags {
		size += len(f.wire) + 1
	}
	raw := append(append(make([]byte, 0, size), head[:len(head)-1]...), `,"frags":[`...)
	for i, f := range frags {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, f.wire...)
	}
	return append(raw, "]}"...), nil
}
