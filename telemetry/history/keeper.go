package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

const (
	// commitSize is how many syncs are committed together, about.
	commitSize = 4 * syncsPerBlock
	// longestPause bounds the time between two attempts after failures.
	longestPause = 10 * time.Second
	// trimChunks bounds the transactions that make room between two commits.
	trimChunks = 4
	// lastDrain bounds the writing of what is left when the program ends.
	lastDrain = 5 * time.Second
	// atRisk is how old a sync is at most when it is on the disk: what a killed process
	// loses. A commit may take twice as long as the slowest of late for that.
	atRisk = time.Second
	// unknownCommit is what a commit is taken to last before there were some.
	unknownCommit = 250 * time.Millisecond
	// shortestPause is between two commits, however slow they are.
	shortestPause = 100 * time.Millisecond
)

// Journal is what a Keeper reads.
type Journal interface {
	// Next returns the traces after that number and how many were missed; see telemetry.Journal.
	Next(ctx context.Context, after uint64) (batch []*telemetry.Trace, missed uint64, err error)
	// Last is the number of the newest trace.
	Last() uint64
	// Kept is what the journal still has after a number, oldest first, and no more than limit.
	Kept(after uint64, limit int) []*telemetry.Trace
	// Happened is how many there were after a number and up to another; see telemetry.Journal.
	Happened(after, upto uint64) uint64
}

// Keeper writes the journal into a file for as long as the program runs, and
// answers from it. Where the file cannot be had or written, it says so once,
// goes on trying, and counts what the journal could not hold until then.
type Keeper struct {
	path string
	opts Options
	log  *slog.Logger
	// writing is held by whoever opens or writes the file, and guards slow, about what the slowest
	// commit of late took, and the bookmarks.
	writing   sync.Mutex
	slow      time.Duration
	bookmarks map[Journal]bookmark

	mu    sync.RWMutex // guards what follows
	store *Store       // nil while it is not open
	held  *heldFile    // what is read meanwhile, where that can be; nil otherwise
	why   error        // it is not open, or not written
	tally telemetry.ArchiveState
	said  bool   // that syncs are not kept for now
	since uint64 // Dropped when that was said
	// waiting are the journals that could not be kept up with, and up to where they were kept.
	waiting map[Journal]uint64
	gone    uint64 // syncs of files that were left, and not kept again yet
}

var _ telemetry.Archive = (*Keeper)(nil)

// Keep names the file. Run opens it, keeps syncs in it and closes it again.
func Keep(path string, o Options, log *slog.Logger) *Keeper {
	k := &Keeper{path: path, opts: o.withDefaults(), log: log, slow: unknownCommit, waiting: map[Journal]uint64{}, bookmarks: map[Journal]bookmark{}}
	k.tally = telemetry.ArchiveState{Path: path, MaxAge: k.opts.MaxAge, MaxBytes: k.opts.MaxBytes}
	return k
}

// open tries to have the file, if it is not open yet. Who writes does so, so that readers need
// not wait for it.
func (k *Keeper) open() bool {
	if k.store != nil {
		return true
	}
	store, err := Open(k.path, k.opts)
	k.readMeanwhile(err)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.failed(err)
		return false
	}
	if len(store.closed) > 0 {
		k.log.Warn("Others could read or change the history: its files now have mode 0600, and their contents may have been altered", "files", store.closed)
	}
	k.store = store
	k.gone -= min(k.gone, uint64(store.kept)) // It can be the file that was left, or have some of its syncs.
	k.healthy()
	return true
}

// failed notes an error, and logs the first of a row. The keeper is locked.
func (k *Keeper) failed(err error) {
	if k.tally.Error == "" {
		k.tally.ErrorSince = k.opts.Clock().UTC()
	}
	if !k.said {
		k.said, k.since = true, k.tally.Dropped
		k.log.Error("Syncs are not kept for now; everything else continues", "error", err)
	}
	k.tally.Errors++
	k.tally.Error, k.why = err.Error(), err
}

// healthy notes that nothing is in the way of keeping syncs. The keeper is locked.
func (k *Keeper) healthy() {
	k.tally.Error, k.tally.ErrorSince, k.why = "", time.Time{}, nil
}

// Run keeps what the journal records until ctx ends, then what is left, and
// closes the file. What Also keeps has to end before.
func (k *Keeper) Run(ctx context.Context, journal Journal) error {
	k.Also(ctx, journal)
	k.writing.Lock()
	defer k.writing.Unlock()
	return k.close()
}

// Also keeps what another journal records until ctx or the journal ends, and then what is left.
func (k *Keeper) Also(ctx context.Context, journal Journal) {
	after, pause := uint64(0), k.opts.Retry
	for {
		next, err := k.keepBatch(ctx, journal, after)
		after = next
		switch {
		case ctx.Err() != nil, errors.Is(err, telemetry.ErrEnded):
			k.finish(context.WithoutCancel(ctx), journal, after)
			return
		case err != nil:
			rest(ctx, pause)
			pause = min(2*pause, longestPause)
		default:
			pause = k.opts.Retry
		}
	}
}

// keepBatch keeps one batch and returns the number up to which the journal was read.
// After a failure the journal itself holds what is to be kept, as far as it reaches.
func (k *Keeper) keepBatch(ctx context.Context, journal Journal, after uint64) (uint64, error) {
	if !k.ready(ctx) {
		k.reached(journal, after, errNotOpen)
		return after, errNotOpen
	}
	batch, err := next(ctx, journal, after)
	if err != nil {
		return after, err
	}
	if len(batch) == 0 {
		k.reached(journal, after, nil)
		return after, nil
	}
	next, took, err := k.write(ctx, journal, batch, after)
	k.reached(journal, next, err)
	if err == nil && journal.Last()-next < commitSize {
		rest(ctx, k.pause(took)-took)
	}
	return next, err
}

func (k *Keeper) ready(ctx context.Context) bool {
	k.writing.Lock()
	defer k.writing.Unlock()
	return k.prepare(ctx)
}

// prepare has the file open, where it should be, and with all that can be in it of what was kept. The
// caller writes.
func (k *Keeper) prepare(ctx context.Context) bool {
	k.leaveMoved()
	return k.open() && k.restore(ctx)
}

// write keeps a batch and makes room, and gives the number up to which the journal was read and
// how long that took.
func (k *Keeper) write(ctx context.Context, journal Journal, batch []*telemetry.Trace, after uint64) (uint64, time.Duration, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	began := time.Now()
	next, err := k.add(ctx, journal, batch, after)
	if err != nil {
		return next, 0, err
	}
	if err := k.trim(ctx); err != nil {
		return next, 0, err
	}
	return next, time.Since(began), nil
}

// pause is from the beginning of one commit to that of the next, which took that long:
// the fewer commits, the less each sync costs, but none may come to the disk too late.
func (k *Keeper) pause(took time.Duration) time.Duration {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.slow = max(took, k.slow*7/8)
	return min(k.opts.Every, max(atRisk-2*k.slow, shortestPause))
}

// add keeps a batch, and gives the number up to which the journal was kept. What a process would have
// done while another one led is not kept: that one's syncs are what happened. The caller writes.
func (k *Keeper) add(ctx context.Context, journal Journal, batch []*telemetry.Trace, after uint64) (uint64, error) {
	if !k.prepare(ctx) {
		return after, errNotOpen
	}
	missed, end := lost(journal, after, batch), batch[len(batch)-1].Seq
	batch = happened(batch)
	if err := k.keep(ctx, batch, missed); err != nil {
		return after, err
	}
	if len(batch) > 0 {
		k.bookmarks[journal] = bookmarkAt(batch[len(batch)-1])
	}
	return end, nil
}

// keep writes a batch, before which so many syncs were missed.
func (k *Keeper) keep(ctx context.Context, batch []*telemetry.Trace, missed uint64) error {
	written, err := k.put(ctx, batch)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tally.Written += uint64(written)
	k.tally.Dropped += missed + uint64(len(batch)-written)
	if written > 0 {
		k.healthy()
	}
	return nil
}

// put writes a batch without what can never be stored.
func (k *Keeper) put(running context.Context, batch []*telemetry.Trace) (written int, err error) {
	ctx := context.WithoutCancel(running)
	written, err = len(batch), k.store.Add(ctx, batch...)
	if errors.Is(err, errUnfit) {
		written, err = k.keepWhatFits(ctx, batch)
	}
	if err != nil {
		k.fail(err)
		if k.store != nil { // Full can be the file's own limit: what is too much goes before the next try.
			_ = k.trim(running)
		}
	}
	return written, err
}

// keepWhatFits leaves out what can never be stored, which must not hold up what
// comes after it.
func (k *Keeper) keepWhatFits(ctx context.Context, batch []*telemetry.Trace) (written int, err error) {
	for _, t := range batch {
		switch err := k.store.Add(ctx, t); {
		case errors.Is(err, errUnfit):
			k.log.Error("A sync is not kept", "error", err)
		case err != nil:
			return written, err
		default:
			written++
		}
	}
	return written, nil
}

func (k *Keeper) trim(ctx context.Context) error {
	gone, err := k.store.Trim(ctx, trimChunks)
	k.mu.Lock()
	k.tally.Expired += uint64(gone)
	k.mu.Unlock()
	if err == nil || ctx.Err() != nil {
		return nil
	}
	k.fail(err)
	return err
}

// finish keeps what is left.
func (k *Keeper) finish(ctx context.Context, journal Journal, after uint64) {
	ctx, cancel := context.WithTimeout(ctx, lastDrain)
	defer cancel()
	k.writing.Lock()
	defer k.writing.Unlock()
	if k.store != nil {
		k.prepare(ctx)
	}
	for after < journal.Last() {
		batch, _, err := journal.Next(ctx, after)
		if err != nil {
			break
		}
		if after, err = k.add(ctx, journal, batch, after); err != nil {
			break
		}
		k.reached(journal, after, nil)
	}
	delete(k.bookmarks, journal)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.waiting, journal)
	k.tally.Dropped += journal.Happened(after, journal.Last())
}

// close closes the file for good.
func (k *Keeper) close() error {
	k.readMeanwhile(nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store == nil {
		return nil
	}
	err := k.store.Close()
	k.store, k.why, k.tally.Error = nil, errClosed, errClosed.Error()
	if err != nil {
		return fmt.Errorf("history %s: close: %w", k.path, err)
	}
	return nil
}

// rest waits, unless ctx ends first.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

var (
	errNotOpen = errors.New("history: the file is not open yet")
	errClosed  = errors.New("history: it is closed, as the program ends")
)

// reading is the file that can be read, or why there is none.
func (k *Keeper) reading() (*reader, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	switch {
	case k.store != nil:
		return k.store.reader, nil
	case k.held != nil:
		return k.held.reader, nil
	}
	return nil, cmp.Or(k.why, errNotOpen)
}

// ask asks the file.
func ask[T any](k *Keeper, of func(*reader) (T, error)) (answer T, err error) {
	s, err := k.reading()
	if err != nil {
		return answer, err
	}
	return of(s)
}

// Search lists a page of what the query finds.
func (k *Keeper) Search(ctx context.Context, q telemetry.Query) (telemetry.Hits, error) {
	return ask(k, func(s *reader) (telemetry.Hits, error) { return s.Search(ctx, q) })
}

// Get reads one sync.
func (k *Keeper) Get(ctx context.Context, epoch string, seq uint64) (*telemetry.Trace, error) {
	return ask(k, func(s *reader) (*telemetry.Trace, error) { return s.Get(ctx, epoch, seq) })
}

// AsOf reads the newest sync of the object that had started at that moment.
func (k *Keeper) AsOf(ctx context.Context, o telemetry.Object, at time.Time) (*telemetry.Trace, error) {
	return ask(k, func(s *reader) (*telemetry.Trace, error) { return s.AsOf(ctx, o, at) })
}

// Each calls visit with every sync that the query finds.
func (k *Keeper) Each(ctx context.Context, q telemetry.Query, visit func(*telemetry.Trace) error) error {
	_, err := ask(k, func(s *reader) (struct{}, error) { return struct{}{}, s.Each(ctx, q, visit) })
	return err
}

// State is how the history stands now. The file is read without the lock, which a commit needs.
func (k *Keeper) State() telemetry.ArchiveState {
	k.mu.RLock()
	state := k.tally
	k.mu.RUnlock()
	if r, err := k.reading(); err == nil {
		file := r.State()
		state.Kept, state.Bytes, state.Oldest, state.Newest = file.Kept, file.Bytes, file.Oldest, file.Newest
	}
	return state
}
