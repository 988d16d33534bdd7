package live

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"golang.org/x/time/rate"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
)

// Update is a message to a page.
type Update struct {
	Seq   uint64 `json:"seq"`
	Epoch string `json:"epoch"`
	// Now is the server's time in Unix milliseconds, for countdowns.
	Now   int64       `json:"now"`
	Frags []page.Swap `json:"frags,omitempty"`
	// Missed counts traces that came while the page fell behind and are kept no
	// longer; From is the first number after them.
	Missed uint64 `json:"missed,omitempty"`
	// Restarted is set where the page's numbers are of an earlier run.
	Restarted bool `json:"restarted,omitempty"`
	// Order is the rows as they would be sorted now, where that has changed: nil where it has
	// not, and empty where no row is left.
	Order []string `json:"order,omitzero"`
	// Gone says that the page cannot be drawn any more, and why.
	Gone string `json:"gone,omitempty"`
}

// watch is a page that one reader looks at.
type watch struct {
	shared *watchedPage
	had    string // digest of the parts as the reader had them
	rows   readerRows
	seen   *readerState // nil before the first message
	again  time.Time    // when a fragment may be sent that was sent a moment ago; zero for none

	missed    uint64
	restarted bool
	gone      string // what the reader was told last about that
}

// path is the one whose right the reader needs.
func (w *watch) path() string {
	if w == nil {
		return livePath
	}
	return w.shared.target.Path
}

// sendPage keeps one page up to date: it sends what differs in each new drawing.
func (c *reader) sendPage(ctx context.Context) error {
	var w *watch
	told := make(chan struct{}, 1)
	c.wakes(func() { notify(told) })
	defer func() {
		if w != nil {
			w.shared.leave(told)
		}
	}()
	begins := rate.NewLimiter(BeginRate, BeginBurst)
	pulse, ping := time.Now().Add(pulseEvery), time.Now().Add(pingEvery)
	due := time.NewTimer(pulseEvery)
	defer due.Stop()
	for {
		sent := false
		var later time.Time // when a subscription may be looked at, zero for none that waits
		if sub, wait := c.takeAt(begins); wait > 0 {
			later = time.Now().Add(wait)
		} else if sub != nil {
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
			if err := c.pulse(w); err != nil {
				return err
			}
		}
		if !now.Before(ping) {
			ping = now.Add(pingEvery)
			if err := c.check(w.path()); err != nil {
				return err
			}
		}
		next := earlier(pulse, ping)
		next = earlier(next, later)
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

// takeAt takes the newest subscription, unless it has to wait.
func (c *reader) takeAt(limit *rate.Limiter) (sub *Subscribe, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		return nil, 0
	}
	r := limit.Reserve()
	if wait = r.Delay(); wait > 0 {
		r.Cancel()
		return nil, wait
	}
	sub, c.next = c.next, nil
	return sub, 0
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// begin looks at another page, or at the same again.
func (c *reader) begin(ctx context.Context, sub *Subscribe, old *watch, told chan struct{}) (*watch, error) {
	to, err := c.s.site.Find(sub.Page)
	if err == nil && !c.may(to.Path) {
		err = errNoRight
	}
	if err != nil {
		return old, malformed{err.Error()}
	}
	rows := readerRows{sub.Rows, sub.Sight}
	if sub.Scrolled && old != nil && old.seen != nil && old.shared.target.Address == sub.Page {
		scrolled := *old.seen
		old.rows, scrolled.rows = rows, rows.inSight()
		old.seen = &scrolled
		return old, nil
	}
	w := &watch{had: sub.V, rows: rows}
	w.shared = c.s.join(ctx, to, told)
	if old != nil && old.shared != w.shared {
		old.shared.leave(told)
	}
	c.after = sub.After
	if w.restarted = sub.Epoch != c.s.Journal.Epoch(); w.restarted || c.after > c.s.Journal.Last() {
		c.after = c.s.Journal.Last()
	}
	return w, c.catchUp(ctx, w)
}

// catchUp counts what came and went while the reader was away.
func (c *reader) catchUp(ctx context.Context, w *watch) error {
	last := c.s.Journal.Last()
	if c.after >= last {
		return nil
	}
	place, err := c.s.slots.Watch(ctx)
	if err != nil {
		return context.Cause(ctx)
	}
	missed, err := c.s.Journal.Missed(ctx, c.after)
	place.Release()
	if err != nil {
		return err
	}
	c.after = last
	if w.missed += missed; missed > 0 {
		c.s.Opts.Readers.Missed(missed)
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
	if err != nil {
		w.again = time.Time{} // Nothing can be sent when that time has come.
	}
	switch {
	case err != nil:
		return c.cannot(w, err)
	case d == nil, w.seen == nil && pending:
		return false, nil // The drawing that is on its way is waited for.
	}
	isBack := w.gone != ""
	w.gone = ""
	if !pending {
		c.after = max(c.after, c.s.draws.seq.Load())
	}
	if w.seen == nil {
		return true, c.first(ctx, w, d)
	}
	if sent, err = c.sendChanges(ctx, w, d); err == nil && !sent && isBack {
		return true, c.pulse(w)
	}
	return sent, err
}

// pulse says that nothing has changed, and whether the page can be drawn.
func (c *reader) pulse(w *watch) error {
	if w == nil {
		return c.send(Update{}, nil)
	}
	return c.send(Update{Gone: w.gone}, nil)
}

// first sends the whole page, or just its number where the reader has exactly that.
func (c *reader) first(ctx context.Context, w *watch, d *drawing) error {
	same := false
	if w.had != "" && !w.restarted {
		digest, err := d.page.Digest(ctx, d.frags)
		if err != nil {
			return err
		}
		same = digest == w.had
	}
	seen, err := d.said.begin(same, w.rows, func() (*readerState, error) { return d.begin(ctx, same, w.rows) })
	if err != nil {
		return err
	}
	if w.seen = seen; same {
		return c.send(Update{Seq: d.seq}, nil) // Nothing to place, but the page is followed from here on.
	}
	_, err = c.sendChanges(ctx, w, d)
	return err
}

// cannot tells the page that it cannot be drawn any more. It is tried again.
func (c *reader) cannot(w *watch, err error) (sent bool, _ error) {
	var e *answer.Problem
	if !errors.As(err, &e) {
		return false, err
	}
	if w.gone == e.Heading {
		return false, nil
	}
	w.gone = e.Heading
	return true, c.pulse(w)
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
	m := Update{Seq: d.seq, Missed: w.missed, Restarted: w.restarted, Order: a.order}
	if len(a.changed) == 0 && m.Order == nil && m.Missed == 0 && !m.Restarted {
		return false, nil
	}
	own := w.missed > 0 || w.restarted
	w.missed, w.restarted = 0, false
	if own || w.shared.hasOneReader() {
		return true, c.send(m, a.changed)
	}
	return true, c.sendShared(m, a.changed, d.said)
}

// send completes a message and writes it.
func (c *reader) send(m Update, frags []page.Fragment) error {
	raw, err := c.complete(m, frags)
	if err != nil {
		return err
	}
	return c.write(raw)
}

// sendShared writes a message that other readers of the drawing may have got, too.
func (c *reader) sendShared(m Update, frags []page.Fragment, said *messages) error {
	m.Seq = max(m.Seq, c.after)
	p, err := said.of(digestOf(m, frags), func() ([]byte, error) { return c.complete(m, frags) })
	if err != nil {
		return err
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.s.Opts.WriteTimeout))
	return writeError(c.conn.WritePreparedMessage(p))
}

// digestOf tells messages of one drawing apart.
func digestOf(m Update, frags []page.Fragment) uint64 {
	sum := page.NewDigest()
	maphash.WriteComparable(&sum, m.Seq)
	maphash.WriteComparable(&sum, m.Order == nil)
	for _, id := range m.Order {
		maphash.WriteComparable(&sum, id)
	}
	for i := range frags {
		maphash.WriteComparable(&sum, frags[i].Sum)
	}
	return sum.Sum64()
}

// complete is a message as it is sent, with fragments that are encoded already.
func (c *reader) complete(m Update, frags []page.Fragment) ([]byte, error) {
	m.Seq, m.Epoch, m.Now = max(m.Seq, c.after), c.s.Journal.Epoch(), c.s.Opts.Now().UnixMilli()
	head, err := answer.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode update: %w", err)
	}
	if len(frags) == 0 {
		return head, nil
	}
	size := len(head) + 16
	for _, f := range frags {
		size += len(f.Wire) + 1
	}
	raw := append(append(make([]byte, 0, size), head[:len(head)-1]...), `,"frags":[`...)
	for i, f := range frags {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, f.Wire...)
	}
	return append(raw, "]}"...), nil
}
