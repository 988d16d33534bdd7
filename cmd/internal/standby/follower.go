package standby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/loopscope/loopscope/cmd/internal/leadership"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/redact"
)

const (
	// look is how often it is looked who leads.
	look = 250 * time.Millisecond
	// shortestPause and longestPause are between two tries to connect.
	shortestPause, longestPause = 500 * time.Millisecond, 30 * time.Second
	// linger is how long the stream of a leader is read on after another one leads: its last
	// syncs may be under way.
	linger = 2 * time.Second
	// grace is how long what was received is shown after a cut. Most are over by then.
	grace = 5 * time.Second
	// keptGaps bounds the gaps that are remembered, and maxError what is said of a failure, in bytes.
	keptGaps, maxError = 32, 300
	// stopping is why a console closes a stream of which it has sent everything.
	stopping = "the console is stopping"
)

// Options say whom to follow. All but Logger are required.
type Options struct {
	// Config has the credentials of this process.
	Config *rest.Config
	// Vouch is nil where a console may be shown credentials that it could use itself, such as a
	// token: anybody who may write the Lease says where that is.
	Vouch func(context.Context, leadership.Console) error
	// Leadership is who leads, and Console where that one's syncs can be had.
	Leadership func() telemetry.Leadership
	Console    func() leadership.Console
	// Begin makes the journal of a run of a leader. What was begun before gets no more syncs.
	Begin func(epoch string) *telemetry.Journal
	// Known reports whether the syncs of a loop are kept.
	Known func(loop string) bool
	// Missed takes every gap in what was received. It must not block.
	Missed func(telemetry.MissedSyncs)
	// Logger takes why the leader cannot be followed. Default: slog.Default().
	Logger *slog.Logger
}

// Follower receives what the leader decides. Its methods are safe for concurrent use.
type Follower struct {
	opts  Options
	began time.Time

	mu     sync.Mutex
	state  telemetry.Following // of no leader while this process leads, or nobody does
	missed []telemetry.MissedSyncs
	run    run
}

// run is what was received of one run of a leader.
type run struct {
	epoch   string
	journal *telemetry.Journal
	seq     uint64    // of the last sync that came
	full    uint64    // up to which there are all that the leader had when it was asked
	ended   time.Time // when the last sync ended that was kept
	gap     *telemetry.MissedSyncs
	next    uint64 // the first sync after the gap
	whole   bool   // nothing can be missing that has not been told
}

// New follows nobody before Run.
func New(o Options) *Follower {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Follower{opts: o, began: time.Now()}
}

// Run follows whoever leads until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	pause := shortestPause
	for ctx.Err() == nil {
		leader := f.see()
		if leader.URL == "" {
			pauseFor(ctx, look)
			continue
		}
		came, err := f.follow(ctx, leader)
		f.cut(ctx, leader, err)
		if came {
			pause = shortestPause
		}
		pause = f.rest(ctx, leader, pause)
	}
	return nil
}

// rest waits before the next try to connect, and returns how long the pause after that one is. It is over as
// soon as another one leads, or the same one elsewhere: nobody waits for a console that nobody needs any more.
func (f *Follower) rest(ctx context.Context, leader leadership.Console, pause time.Duration) (next time.Duration) {
	over := time.Now().Add(wait.Jitter(pause, 0.5))
	for left := pause; left > 0 && ctx.Err() == nil; left = time.Until(over) {
		pauseFor(ctx, min(look, left))
		if !f.leads(leader) {
			return shortestPause
		}
	}
	return min(2*pause, longestPause)
}

// leads reports whether it is still who leads, as far as is known, and at that address.
func (f *Follower) leads(leader leadership.Console) bool {
	now, l := f.opts.Console(), f.opts.Leadership()
	return l.Leader == "" || l.Leader == leader.Identity && now.URL == leader.URL
}

// pauseFor waits, unless ctx ends first.
func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// State adds to what is known of the leader how its syncs come, and what is missing of them.
func (f *Follower) State(l telemetry.Leadership) telemetry.Leadership {
	f.mu.Lock()
	defer f.mu.Unlock()
	l.Missed = f.missed // It is replaced and never changed.
	if l.StandsBy && f.state.Leader != "" {
		state := f.state
		state.Shown = f.shown()
		l.Following = &state
	}
	return l
}

// Shown is the journal of what the leader decides; nil where that is not known, or this process
// leads.
func (f *Follower) Shown() *telemetry.Journal {
	if !f.opts.Leadership().StandsBy {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.shown() {
		return nil
	}
	return f.run.journal
}

// shown reports whether what was received is all there is, or was until a moment ago. Callers hold
// the mutex.
func (f *Follower) shown() bool {
	return f.run.journal != nil && f.run.seq >= f.run.full && (f.state.Connected || time.Since(f.state.Since) < grace)
}

// see notes who leads, and gives where that one's syncs can be had. What the last one may have
// done unseen is a gap from then on.
func (f *Follower) see() leadership.Console {
	l, leader := f.opts.Leadership(), f.opts.Console()
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.Leader == "" || l.Leader == f.state.Leader {
		if leader.URL == "" && l.Leader != "" && leader.Identity == l.Leader {
			f.state.From, f.state.Error = "", "the Lease does not say where its console is"
		}
		return leader
	}
	if f.state.Leader != "" && !f.run.whole {
		f.miss(telemetry.MissedSyncs{Leader: f.state.Leader, From: f.run.ended})
	}
	f.run.whole, f.run.seq, f.run.epoch, f.run.ended = false, 0, "", later(l.Since, f.began)
	f.state = telemetry.Following{Leader: leader.Identity, From: leader.URL, Since: time.Now().UTC()}
	return leader
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b.UTC()
}

// miss remembers a gap. Callers hold the mutex.
func (f *Follower) miss(m telemetry.MissedSyncs) {
	known := []any{"leader", m.Leader, "from", m.From}
	if !m.To.IsZero() {
		known = append(known, "to", m.To)
	}
	if m.Count > 0 {
		known = append(known, "count", m.Count)
	}
	f.opts.Logger.Warn("Syncs of the leader were not received", known...)
	f.opts.Missed(m)
	list := append([]telemetry.MissedSyncs(nil), f.missed...)
	list = append(list, m)
	f.missed = list[max(0, len(list)-keptGaps):]
}

// follow receives until the stream ends, or its sender has not led for a while. came is whether
// there was anything.
func (f *Follower) follow(ctx context.Context, leader leadership.Console) (came bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.mu.Lock()
	epoch, after := f.run.epoch, f.run.seq
	f.mu.Unlock()
	conn, err := f.dial(ctx, leader, epoch, after)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go f.watch(ctx, leader, cancel)
	alive := bound(conn)
	for first := true; ; first = false {
		kind, text, err := conn.ReadMessage()
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return came, err
		}
		alive()
		m, err := parse(kind, text)
		if err == nil {
			err = f.take(leader, m, first)
		}
		if err != nil {
			return came, err
		}
		came = true
	}
}

var errChanged = errors.New("another process leads")

// watch ends a stream some time after its sender has ceased to lead, or has moved.
func (f *Follower) watch(ctx context.Context, leader leadership.Console, end context.CancelCauseFunc) {
	for {
		pauseFor(ctx, look)
		if f.leads(leader) {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		pauseFor(ctx, linger)
		end(errChanged)
		return
	}
}

// take takes a message, of which the first has to be a hello of that leader.
func (f *Follower) take(leader leadership.Console, m message, first bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case (m.hello != nil) != first:
		return errMessage
	case m.hello != nil:
		return f.begin(leader, m.hello)
	case m.gap != nil:
		return f.skip(leader, m.gap)
	}
	return f.keep(m.trace)
}

// errSelf is where a leader of before was killed and this process serves at its address.
var errSelf = errors.New("that address is this process's own now")

// begin takes who sends. Callers hold the mutex.
func (f *Follower) begin(leader leadership.Console, h *hello) error {
	if h.By != leader.Identity {
		if h.By == f.opts.Leadership().Identity {
			return errSelf
		}
		return fmt.Errorf("it is that of %q, and not of the leader", clip(h.By))
	}
	if h.Epoch != f.run.epoch {
		f.run = run{epoch: h.Epoch, journal: f.opts.Begin(h.Epoch), ended: f.run.ended}
	}
	f.run.resume()
	f.run.full = h.Last
	f.connected(leader)
	f.run.whole = f.run.seq >= f.run.full
	return nil
}

// resume leaves out of a gap what was asked for anew, which its sender counts once more: all after the last
// sync that came.
func (r *run) resume() {
	if r.gap != nil {
		r.gap.Count -= min(r.gap.Count, r.next-1-r.seq)
		r.next = r.seq + 1
	}
}

func (f *Follower) connected(leader leadership.Console) {
	f.opts.Logger.Info("The leader's syncs are received", "leader", leader.Identity, "from", leader.URL)
	f.state = telemetry.Following{Leader: leader.Identity, From: leader.URL, Connected: true, Since: time.Now().UTC()}
}

// skip notes a gap, which is told with the first sync after it. One before all that was asked for
// may have nothing in it: then nobody can tell how many are missing. Callers hold the mutex.
func (f *Follower) skip(leader leadership.Console, g *gap) error {
	if g.Next <= f.run.seq {
		return errMessage
	}
	m := &telemetry.MissedSyncs{Leader: leader.Identity, From: f.run.ended, Count: g.Missed}
	if g.Missed == 0 {
		return nil
	}
	if f.run.seq == 0 {
		m.Count = 0
	}
	if before := f.run.gap; before != nil { // Nothing came between the two.
		m.From, m.Count = before.From, before.Count+m.Count
	}
	f.run.gap, f.run.next = m, g.Next
	return nil
}

// keep takes a sync. What its sender would have done while it stood by itself is not what
// happened, but ends a gap as any other does. Callers hold the mutex.
func (f *Follower) keep(t *telemetry.Trace) error {
	r := &f.run
	if t.Epoch != r.epoch || t.Seq <= r.seq {
		return errMessage
	}
	r.seq = t.Seq
	r.whole = r.seq >= r.full
	if r.gap != nil && t.Seq >= r.next {
		if r.gap.To = t.Ended.UTC(); r.gap.To.After(r.gap.From) { // Else it was before the leader led.
			f.miss(*r.gap)
		}
		r.gap = nil
	}
	if t.Standby || !f.opts.Known(t.Loop) {
		return nil
	}
	r.ended = later(t.Ended, r.ended)
	r.journal.Follow(t)
	return nil
}

// cut notes that the stream has ended. A console that stops has sent everything before. That this process
// ends is no warning.
func (f *Follower) cut(ctx context.Context, leader leadership.Console, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run.whole = f.run.whole && (stopped(err) || errors.Is(err, errChanged))
	if f.state.Leader != leader.Identity {
		return
	}
	if ctx.Err() == nil && (f.state.Connected || f.state.Error == "") {
		f.opts.Logger.Warn("The leader's syncs are not received", "leader", leader.Identity, "from", leader.URL, "error", err)
	}
	if f.state.Connected {
		f.state.Connected, f.state.Since = false, time.Now().UTC()
	}
	f.state.Error = prose.Clip(redact.Line(err.Error()), maxError)
}

// stopped reports whether a stream ended because its sender did.
func stopped(err error) bool {
	var closed *websocket.CloseError
	return errors.As(err, &closed) && closed.Code == websocket.CloseGoingAway && closed.Text == stopping
}
