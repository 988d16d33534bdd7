package live

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
)

// watchedPages are the pages that are being watched. Each is drawn by one goroutine
// for all who watch it; one more follows the journal and tells those goroutines
// which traces concern their page. So a trace wakes nobody who has nothing to do
// with it, and what readers cost does not grow with what the loops do.
type watchedPages struct {
	mu    sync.Mutex
	m     map[string]*watchedPage
	stop  context.CancelFunc // of the goroutine that follows the journal
	seq   atomic.Uint64      // the newest trace that all pages were told of
	over  atomic.Bool        // the journal has ended
	made  atomic.Uint64      // drawings
	frame framing
}

// watchedPage is one watched page.
type watchedPage struct {
	s       *Stream
	target  *Target
	cancel  context.CancelFunc
	poked   chan struct{} // has one slot: there is something to do
	touches atomic.Pointer[func(*telemetry.Trace) bool]
	dirty   atomic.Uint64 // the newest trace that concerns the page

	mu      sync.Mutex
	readers map[chan<- struct{}]bool // told of every new drawing
	drawing *drawing
	err     error
	at      time.Time // drawn in full
	took    time.Duration
}

// join watches a page: told gets a nudge for every new drawing of it.
func (s *Stream) join(ctx context.Context, to *Target, told chan<- struct{}) *watchedPage {
	d := &s.draws
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil {
		d.m = map[string]*watchedPage{}
	}
	if len(d.m) == 0 {
		following, stop := context.WithCancel(context.WithoutCancel(ctx))
		d.stop = stop
		d.seq.Store(s.Journal.Last())
		go s.follow(following, d.seq.Load())
	}
	x := d.m[to.Address]
	if x == nil {
		drawing, cancel := context.WithCancel(context.WithoutCancel(ctx))
		x = &watchedPage{s: s, target: to, cancel: cancel, poked: make(chan struct{}, 1), readers: map[chan<- struct{}]bool{}}
		d.m[to.Address] = x
		go x.keep(drawing)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.readers[told] = true
	return x
}

// leave ends the watch of one reader, and the goroutines that nobody needs then.
func (x *watchedPage) leave(told chan<- struct{}) {
	d := &x.s.draws
	d.mu.Lock()
	defer d.mu.Unlock()
	x.mu.Lock()
	delete(x.readers, told)
	left := len(x.readers)
	x.mu.Unlock()
	if left > 0 {
		return
	}
	x.cancel()
	delete(d.m, x.target.Address)
	if len(d.m) == 0 {
		d.stop()
	}
}

// follow reads the journal for all watched pages.
func (s *Stream) follow(ctx context.Context, after uint64) {
	d := &s.draws
	for {
		batch, upto, missed, err := s.Journal.Next(ctx, after)
		if err != nil {
			if ctx.Err() == nil {
				d.over.Store(true)
			}
			d.each(func(x *watchedPage) { x.notifyAll() })
			return
		}
		after = upto
		d.each(func(x *watchedPage) { x.note(batch, missed, upto) })
		d.seq.Store(after)
		select { // In a burst, being woken for every trace would cost more than looking at them.
		case <-ctx.Done():
		case <-time.After(followEvery):
		}
	}
}

func (d *watchedPages) each(visit func(*watchedPage)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.m {
		visit(x)
	}
}

// note remembers the newest trace that concerns the page.
func (x *watchedPage) note(batch []*telemetry.Trace, missed, upto uint64) {
	if missed > 0 {
		x.dirty.Store(upto)
		notify(x.poked)
		return
	}
	touches := x.touches.Load()
	for i := len(batch) - 1; i >= 0; i-- {
		if touches == nil || *touches == nil || (*touches)(batch[i]) {
			x.dirty.Store(batch[i].Seq)
			notify(x.poked)
			return
		}
	}
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // It has not come round to the last nudge yet.
	}
}

// hasOneReader reports whether the page has one reader alone.
func (x *watchedPage) hasOneReader() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.readers) == 1
}

func (x *watchedPage) notifyAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for told := range x.readers {
		notify(told)
	}
}

// keep draws the page while somebody watches it: soon after a trace that
// concerns it, when the clock alone changes a sentence, and now and then. While it
// rests from a drawing nothing wakes it: in a burst of traces that would cost the
// loops more than drawing does.
func (x *watchedPage) keep(ctx context.Context) {
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.poked:
			if !x.touched() {
				continue // The drawing knew that trace already.
			}
		case <-due.C:
		}
		rest, wait := x.refresh(ctx)
		due.Reset(rest)
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
		due.Reset(max(wait-rest, 0))
	}
}

// refresh draws what is due. Then the page rests, and waits for a trace, but for no
// longer than it says, its rest included.
func (x *watchedPage) refresh(ctx context.Context) (rest, wait time.Duration) {
	if x.due() {
		x.draw(ctx)
	} else {
		x.reframe(ctx)
	}
	x.mu.Lock()
	now := time.Now()
	rest, wait = x.rest()-now.Sub(x.at), x.wait(now)
	x.mu.Unlock()
	x.notifyAll()
	return max(rest, 0), wait
}

// due reports whether the page has to be drawn.
func (x *watchedPage) due() bool {
	if d := x.drawing; d != nil && d.page.Outdated != nil && d.page.Outdated() { // It may have to ask what its reader may see.
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	return x.stale(now) || now.Sub(x.at) >= x.every()
}

// wait is when the page has to be looked at again, if no trace comes. x is locked.
func (x *watchedPage) wait(now time.Time) time.Duration {
	wait := LookEvery
	if x.drawing != nil && x.drawing.changesAt.After(now) {
		wait = min(wait, x.drawing.changesAt.Sub(now))
	}
	return max(wait, time.Millisecond)
}

// stale reports whether a trace, the clock or the API server has made another of the drawing. x is
// locked.
func (x *watchedPage) stale(now time.Time) bool {
	d := x.drawing
	return d == nil || x.dirty.Load() > d.seq || !d.changesAt.IsZero() && !now.Before(d.changesAt) || !d.down.Equal(x.s.Outage().Began)
}

func (x *watchedPage) touched() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stale(time.Now())
}

// rest is how long the page is not drawn again, so that readers never take more
// than a small part of the machine from the loops. x is locked.
func (x *watchedPage) rest() time.Duration {
	if x.err != nil {
		return LookEvery
	}
	if x.drawing != nil && x.drawing.page.Lost != nil {
		return max(listEvery-time.Duration(x.s.crowd.places.Used())*sendTimePerReader, listLeast, listRest*x.took)
	}
	return max(drawEvery, 5*x.took)
}

// every is how often the page is drawn without a trace. x is locked.
func (x *watchedPage) every() time.Duration {
	if x.drawing != nil && x.drawing.page.Touches != nil && x.drawing.page.Lost == nil {
		return CalmEvery
	}
	return LookEvery
}

// draw makes a new drawing. x is not locked meanwhile: readers come and go.
func (x *watchedPage) draw(ctx context.Context) {
	x.s.Journal.Prepare()
	place, err := x.s.slots.Watch(ctx)
	if err != nil {
		return // Nobody watches any more.
	}
	defer place.Release()
	now, seq, down := time.Now(), x.s.Journal.Last(), x.s.Outage().Began
	d, err := x.s.drawNow(ctx, x.target)
	if ctx.Err() != nil {
		return
	}
	if d != nil {
		d.seq, d.down = seq, down
		if turns := d.page.ChangesAt; !turns.IsZero() {
			d.changesAt = now.Add(max(time.Millisecond, turns.Sub(x.s.Opts.Now())))
		}
		x.touches.Store(&d.page.Touches)
	} else {
		x.touches.Store(nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drawing, x.err, x.at, x.took = d, err, now, time.Since(now)
}

// reframe brings the frame of a page up to date, which every trace changes,
// without drawing the rest of it. Only the goroutine that draws the page changes the drawing.
func (x *watchedPage) reframe(ctx context.Context) {
	if x.drawing == nil || len(x.drawing.frags) < page.FrameSize {
		return
	}
	parts, err := x.s.frameFrags(ctx)
	if err != nil {
		return // The next drawing says what is wrong.
	}
	again := *x.drawing
	again.said = &messages{}
	again.frags = append(append([]page.Fragment(nil), parts...), x.drawing.frags[page.FrameSize:]...)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drawing = &again
}

// current is the newest drawing, and whether one that knows more is on its way.
func (x *watchedPage) current() (d *drawing, pending bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.drawing == nil {
		return nil, x.err == nil, x.err
	}
	return x.drawing, x.dirty.Load() > x.drawing.seq, nil
}

func (s *Stream) drawNow(ctx context.Context, to *Target) (d *drawing, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while drawing %s: %v", to.Path, p)
		}
	}()
	p, err := to.Build(ctx)
	if err != nil {
		return nil, err
	}
	frags, err := p.Draw(views.WithPath(ctx, to.Path))
	if err != nil {
		return nil, err
	}
	d = &drawing{page: p, frags: frags, said: &messages{}}
	s.draws.made.Add(1)
	return d, nil
}
