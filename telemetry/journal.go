package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// DefaultSlow is how long a sync has to run to be of the class slow, unless a
// journal is told otherwise.
const DefaultSlow = time.Second

// maxBatch bounds what one Next returns, so that a reader that fell behind
// writes and checks its deadline in between.
const maxBatch = 256

// ErrEnded is returned by Next when the journal's Run has ended and nothing newer is there.
var ErrEnded = errors.New("journal: ended")

// ErrAhead is returned by Next for a number that was not given out yet. The
// reader's number is of another run of the process: compare Epoch and start again.
var ErrAhead = errors.New("journal: number is ahead of the newest trace; it belongs to another epoch")

// JournalOptions bounds what a journal keeps. The zero value of a field is its default.
type JournalOptions struct {
	// Recent is how many of the newest traces are kept whatever they are, and
	// how far a reader may fall behind. Default 8192.
	Recent int
	// Wrote (default 8192), Failed, Conflicted (2048 each) and Slow (1024) are
	// how many traces of a class are kept beyond those.
	Wrote, Failed, Conflicted, Slow int
	// Bytes bounds all of them together, by the estimated size of their traces.
	// Default 64 MiB. The class that uses most gives up its oldest.
	Bytes int64
	// SlowAfter is how long a sync has to run to be of the class slow. Default DefaultSlow.
	SlowAfter time.Duration
	// Spacing is the least time between two wake-ups of the readers. A burst of
	// traces reaches them as one batch. Default 2 ms.
	Spacing time.Duration
	// Loops are those whose syncs are recorded. Default: none is known.
	Loops decision.Loops
	// Writes is how many resourceVersions SyncOf remembers. Default 65536.
	Writes int
	// Epoch names the run of the process. Default random.
	Epoch string
	// Clock is read when the journal begins. Default time.Now.
	Clock func() time.Time
	// Observe is called once for every trace after it was stored, by the
	// goroutine that recorded it: it must be quick. Calls may be concurrent.
	Observe func(*Trace)
}

func (o JournalOptions) withDefaults() JournalOptions {
	for field, value := range map[*int]int{&o.Recent: 8192, &o.Wrote: 8192, &o.Failed: 2048, &o.Conflicted: 2048, &o.Slow: 1024, &o.Writes: 1 << 16} {
		if *field <= 0 {
			*field = value
		}
	}
	if o.Bytes <= 0 {
		o.Bytes = 64 << 20
	}
	if o.SlowAfter <= 0 {
		o.SlowAfter = DefaultSlow
	}
	if o.Spacing <= 0 {
		o.Spacing = 2 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Epoch == "" {
		o.Epoch = fmt.Sprintf("%08x", rand.Uint32())
	}
	return o
}

// Journal is the record of the newest syncs, numbered from 1 within an epoch.
//
// There are no subscriptions: a reader is an integer, the number of the last
// trace it has seen, and asks for the Next ones. Recording stores the trace and,
// where a reader waits, nudges a channel with one slot; one goroutine, Run, wakes
// the readers. Readers
// take the newest traces without a lock, so the cost of recording does not
// depend on how many there are or what they do. Where nobody calls Run, recording
// wakes the readers itself.
//
// A reader that first looks at the Board and then follows misses nothing if it
// asks in this order: n := Last(), then the Board, then Next(ctx, n). A trace is
// on the board before its number is the last one. What was recorded in between
// is seen twice.
//
// All methods are safe for concurrent use.
type Journal struct {
	opts  JournalOptions
	began time.Time
	board *Board
	wrote *writes
	// steering are the loops that work on objects of others.
	steering map[string]bool

	// recent holds trace n in slot n modulo its length.
	recent []atomic.Pointer[kept]
	last   atomic.Uint64
	nudge  chan struct{}
	wake   atomic.Pointer[chan struct{}]
	// waiting is how many readers wait: recording nudges nobody for nobody.
	waiting atomic.Int64
	runs    atomic.Bool // Run was called
	ended   atomic.Bool

	// mu guards what is below. Record and look-ups take it, Next never does.
	mu      sync.RWMutex
	oldest  uint64 // in recent; Recent traces back or fewer
	shelves [shelfCount]shelf
	objects map[Object]*objectTraces
	held    uint64 // traces, in recent or on shelves
	bytes   int64
	shelved int64 // of bytes, what stands on a shelf
	folded  uint64
	loaded  bool   // a recording; never changes once there are readers
	follows bool   // the record of another process; never changes either
	took    uint64 // from it
	// happened is all that there was, whatever of it is kept.
	happened happened
}

// Loops are those that the journal was told of.
func (j *Journal) Loops() decision.Loops { return j.opts.Loops }

// NewJournal returns an empty journal. Traces can be recorded and read at once; Run
// takes the waking of readers off the syncs.
func NewJournal(o JournalOptions) *Journal {
	o = o.withDefaults()
	j := &Journal{
		opts:     o,
		began:    o.Clock(),
		board:    newBoard(),
		wrote:    newWrites(o.Loops, o.Writes),
		steering: map[string]bool{},
		recent:   make([]atomic.Pointer[kept], o.Recent),
		nudge:    make(chan struct{}, 1),
		oldest:   1,
		objects:  map[Object]*objectTraces{},
	}
	for class, limit := range map[int]int{shelfWrote: o.Wrote, shelfFailed: o.Failed, shelfConflicted: o.Conflicted, shelfSlow: o.Slow} {
		j.shelves[class].limit = limit
	}
	for i := range o.Loops {
		if o.Loops[i].Steers() {
			j.steering[o.Loops[i].Name] = true
		}
	}
	wake := make(chan struct{})
	j.wake.Store(&wake)
	return j
}

// Record sets Version, Epoch and Seq and keeps the trace, which nobody may
// change from then on. It never waits for a reader that follows with Next, and for
// look-ups, which hold the journal's lock, no longer than one takes. It never panics:
// a trace that cannot be recorded must not stop a sync.
func (j *Journal) Record(t *Trace) {
	if t == nil {
		return
	}
	defer func() { _ = recover() }()
	j.number(t)
	j.tell(t)
}

// number gives the trace its number and stores it.
func (j *Journal) number(t *Trace) {
	steered := j.steered(t)
	j.mu.Lock()
	defer j.mu.Unlock()
	t.Version, t.Epoch, t.Seq = TraceVersion, j.opts.Epoch, j.last.Load()+1
	j.store(t, steered)
}

// store keeps a trace. That its number is the last one is said at the end, when everything
// else can be seen. The journal is locked.
func (j *Journal) store(t *Trace, steered []Object) {
	j.board.keepOwner(t)
	j.wrote.note(t)
	j.happened.note(t)
	j.keep(t, steered)
	j.board.put(t)
	j.last.Store(t.Seq)
}

// tell wakes those who wait for what was stored.
func (j *Journal) tell(t *Trace) {
	if j.waiting.Load() > 0 { // A reader that begins to wait now looks once more for what was just stored.
		j.nudgeOrWake()
	}
	if j.opts.Observe != nil {
		j.opts.Observe(t)
	}
}

// nudgeOrWake has the pump wake the readers, or wakes them where there is none.
func (j *Journal) nudgeOrWake() {
	if !j.runs.Load() {
		j.wakeAll()
		return
	}
	select {
	case j.nudge <- struct{}{}:
	default: // The pump has not come round to the last nudge yet and will see this trace too.
	}
}

// Run wakes waiting readers when there is something new, until ctx ends. Then
// readers get what is left and ErrEnded. It is called once.
func (j *Journal) Run(ctx context.Context) {
	j.runs.Store(true)
	defer func() {
		j.ended.Store(true)
		j.wakeAll()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.nudge:
		}
		j.wakeAll()
		select { // Let a burst gather.
		case <-ctx.Done():
			return
		case <-time.After(j.opts.Spacing):
		}
	}
}

// wakeAll puts up a new channel before it closes the old one, so that a reader
// that finds nothing new after it took a channel cannot miss its closing.
func (j *Journal) wakeAll() {
	next := make(chan struct{})
	close(*j.wake.Swap(&next))
}

// Next returns the traces after that number, oldest first and a few hundred at
// most, and how many of them were missed because they are kept no longer. It
// waits until there is one. The next call asks after the last one's Seq.
func (j *Journal) Next(ctx context.Context, after uint64) (batch []*Trace, missed uint64, err error) {
	waits := false
	defer func() {
		if waits {
			j.waiting.Add(-1)
		}
	}()
	for {
		wake := *j.wake.Load()
		ended := j.ended.Load()
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		switch last := j.last.Load(); {
		case after > last:
			return nil, 0, ErrAhead
		case after < last && (j.loaded || j.follows):
			return j.Kept(after, maxBatch), 0, nil // Gaps are the recording's own: nobody missed them here.
		case after < last:
			batch, more := j.collect(after, last)
			if len(batch) > 0 {
				return batch, missed + more, nil
			}
			missed, after = missed+last-after, last // Overtaken while reading: none of them is there any more.
			continue
		case ended:
			return nil, 0, ErrEnded
		}
		if !waits { // From here on recording wakes this reader; what came until now is seen by looking again.
			waits = true
			j.waiting.Add(1)
			continue
		}
		select {
		case <-ctx.Done():
		case <-wake:
		}
	}
}

// follow calls add with everything that is recorded, from the first trace that is
// kept, until ctx or the journal ends. It pauses between two looks.
func (j *Journal) follow(ctx context.Context, pause time.Duration, add func(batch []*Trace, missed uint64)) {
	for after := uint64(0); ; {
		batch, missed, err := j.Next(ctx, after)
		if err != nil {
			return
		}
		add(batch, missed)
		after = batch[len(batch)-1].Seq
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// collect reads the slots after that number. A slot that holds another trace
// was overwritten; an empty one was given up for its size.
func (j *Journal) collect(after, last uint64) (batch []*Trace, missed uint64) {
	slots := uint64(len(j.recent))
	from := after + 1
	if last > slots && from <= last-slots {
		missed = last - slots + 1 - from
		from += missed
	}
	batch = make([]*Trace, 0, min(maxBatch, last-from+1))
	reported := missed
	for seq := from; seq <= last && len(batch) < maxBatch; seq++ {
		k := j.recent[seq%slots].Load()
		if k == nil || k.Seq != seq {
			missed++
			continue
		}
		batch = append(batch, k.trace)
		reported = missed // What is missing behind the last one is for the next call to say.
	}
	return batch, reported
}

// Last is the number of the newest trace, 0 before the first.
func (j *Journal) Last() uint64 { return j.last.Load() }

// Epoch names the run of the process that the numbers belong to.
func (j *Journal) Epoch() string { return j.opts.Epoch }

// Board is the newest trace of every live object.
func (j *Journal) Board() *Board { return j.board }

// Window says how many traces were recorded since when, and how many of them
// were unremarkable and are kept as a count alone.
func (j *Journal) Window() (total uint64, since time.Time, folded uint64) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.loaded {
		s := &j.shelves[shelfLoaded]
		return uint64(len(s.items) - s.gone), j.began, j.folded
	}
	return j.recorded(), j.began, j.folded
}

// recorded is how many traces there ever were. The journal is locked.
func (j *Journal) recorded() uint64 {
	if j.follows {
		return j.took
	}
	return j.last.Load()
}

// SyncOf finds the sync that wrote a resourceVersion of an object: an event
// with it is the echo of our own write. Versions of long ago are forgotten. A
// sync is found once it was recorded, and an echo can be faster than that: ask
// again when the echo's own sync is recorded.
func (j *Journal) SyncOf(kind, namespace, name, rv string) (seq uint64, ok bool) {
	if rv == "" {
		return 0, false
	}
	return j.wrote.find(written{kind, namespace, name, rv})
}

// Named finds the newest sync that created or deleted an object of that name.
func (j *Journal) Named(kind, namespace, name string) (seq uint64, ok bool) {
	return j.wrote.find(written{kind: kind, namespace: namespace, name: name})
}
