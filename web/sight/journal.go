package sight

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Journal is a journal as one viewer sees it. Its numbers and its window are those of all syncs; of
// the syncs themselves it has those that the viewer may see. Its methods are as telemetry.Journal
// has them.
type Journal struct {
	all   *telemetry.Journal
	scope *Scope
	board Board

	mu     sync.Mutex
	synced map[string]uint64 // the scope's changes when a loop's objects were asked for last
}

// NewJournal returns a journal as a scope has it.
func NewJournal(all *telemetry.Journal, scope *Scope) *Journal {
	return &Journal{all: all, scope: scope, board: Board{all.Board(), scope}, synced: map[string]uint64{}}
}

// Loops are those that the journal was told of.
func (j *Journal) Loops() decision.Loops { return j.all.Loops() }

// Last is the number of the newest sync, whosever it is.
func (j *Journal) Last() uint64 { return j.all.Last() }

// LastSeen is the number of the newest sync that the viewer may see of an object that is there.
func (j *Journal) LastSeen() (last uint64) {
	if j.scope == nil {
		return j.all.Last()
	}
	for _, loop := range j.board.Loops() {
		for _, t := range j.board.List(loop) {
			last = max(last, t.Seq)
		}
	}
	return last
}

// Epoch names the run of the process.
func (j *Journal) Epoch() string { return j.all.Epoch() }

// Window is what the journal covers, of all objects.
func (j *Journal) Window() (total uint64, since time.Time, folded uint64) { return j.all.Window() }

// Board is the newest syncs of the objects that the viewer may see.
func (j *Journal) Board() Board { return j.board }

// Prepare finds out what the viewer may see, so that nobody who draws a page has to wait for that.
func (j *Journal) Prepare() {
	if j.scope == nil {
		return
	}
	board, of := j.all.Board(), map[string][]string{}
	for _, loop := range board.Loops() {
		of[loop] = board.Namespaces(loop)
	}
	j.scope.prepareAll(of)
}

// seen returns those of a list that the viewer may see. The list is the caller's.
func (j *Journal) seen(list []*telemetry.Trace) []*telemetry.Trace {
	if j.scope == nil {
		return list
	}
	return slices.DeleteFunc(list, func(t *telemetry.Trace) bool { return !j.scope.SeesSync(t) })
}

// one is a sync that was found, if the viewer may see it.
func (j *Journal) one(t *telemetry.Trace, ok bool) (*telemetry.Trace, bool) {
	if !ok || !j.scope.SeesSync(t) {
		return nil, false
	}
	return t, true
}

// Next returns the syncs after a number that the viewer may see, and as upto the number that the next
// call asks after, also where it returns an error: what came until then was for others. missed counts
// those that are kept no longer, whosever they were.
func (j *Journal) Next(ctx context.Context, after uint64) (batch []*telemetry.Trace, upto, missed uint64, err error) {
	for upto = after; ; {
		batch, more, err := j.all.Next(ctx, upto)
		if err != nil {
			return nil, upto, missed, err
		}
		upto, missed = batch[len(batch)-1].Seq, missed+more
		if batch = j.seen(batch); len(batch) > 0 || missed > 0 {
			return batch, upto, missed, nil
		}
	}
}

// Missed is how many syncs after a number are kept no longer. There has to be a newer one than that.
func (j *Journal) Missed(ctx context.Context, after uint64) (uint64, error) {
	_, missed, err := j.all.Next(ctx, after)
	return missed, err
}

// Get returns the sync with that number.
func (j *Journal) Get(seq uint64) (*telemetry.Trace, bool) { return j.one(j.all.Get(seq)) }

// Of returns the newest kept syncs of an object, oldest first.
func (j *Journal) Of(o telemetry.Object, limit int) []*telemetry.Trace {
	return j.seen(j.all.Of(o, limit))
}

// Since is Of without the syncs up to that number.
func (j *Journal) Since(o telemetry.Object, seq uint64, limit int) []*telemetry.Trace {
	return j.seen(j.all.Since(o, seq, limit))
}

// Before is Of without the syncs from that number on.
func (j *Journal) Before(o telemetry.Object, seq uint64, limit int) []*telemetry.Trace {
	return j.seen(j.all.Before(o, seq, limit))
}

// Prev returns the kept sync of an object before that number.
func (j *Journal) Prev(o telemetry.Object, seq uint64) (*telemetry.Trace, bool) {
	return j.one(j.all.Prev(o, seq))
}

// After returns the kept sync of an object after that number.
func (j *Journal) After(o telemetry.Object, seq uint64) (*telemetry.Trace, bool) {
	return j.one(j.all.After(o, seq))
}

// Family returns the kept syncs of an object and of what belongs to it.
func (j *Journal) Family(o telemetry.Object) []*telemetry.Trace {
	if !j.scope.Sees(o) {
		return nil
	}
	return j.seen(j.all.Family(o))
}

// Marks is Of for who needs no syncs.
func (j *Journal) Marks(o telemetry.Object, limit int) []telemetry.Mark {
	if !j.scope.Sees(o) {
		return nil
	}
	return j.all.Marks(o, limit)
}

// Back visits the marks of an object's kept syncs, the newest first.
func (j *Journal) Back(o telemetry.Object, visit func(*telemetry.Mark) (goOn bool)) {
	if j.scope.Sees(o) {
		j.all.Back(o, visit)
	}
}

// Folded is how many unremarkable syncs of an object are kept as a count alone.
func (j *Journal) Folded(o telemetry.Object) uint64 {
	if !j.scope.Sees(o) {
		return 0
	}
	return j.all.Folded(o)
}

// Synced is the objects of a loop that had a sync after that number. It is not known where the
// viewer's rights have changed since the last call for that loop.
func (j *Journal) Synced(loop string, after uint64) (objects map[telemetry.Object]bool, ok bool) {
	if objects, ok = j.all.Synced(loop, after); j.scope == nil {
		return objects, ok
	}
	for o := range objects {
		if !j.scope.Sees(o) {
			delete(objects, o)
		}
	}
	j.scope.prepare(map[string][]string{loop: j.board.all.Namespaces(loop)})
	now := j.scope.changes.Load()
	j.mu.Lock()
	defer j.mu.Unlock()
	was, known := j.synced[loop]
	j.synced[loop] = now
	return objects, ok && known && was == now
}

// SyncOf finds the sync that wrote a resourceVersion of an object.
func (j *Journal) SyncOf(kind, namespace, name, rv string) (seq uint64, ok bool) {
	seq, ok = j.all.SyncOf(kind, namespace, name, rv)
	return j.numbered(seq, ok)
}

// Named finds the newest sync that created or deleted an object.
func (j *Journal) Named(kind, namespace, name string) (seq uint64, ok bool) {
	seq, ok = j.all.Named(kind, namespace, name)
	return j.numbered(seq, ok)
}

// numbered is the number of a sync that the viewer may see. Of one that is kept no longer nobody
// knows whose it was.
func (j *Journal) numbered(seq uint64, ok bool) (uint64, bool) {
	if !ok || j.scope == nil {
		return seq, ok
	}
	if _, ok = j.Get(seq); !ok {
		return 0, false
	}
	return seq, true
}

// Board is a board as one viewer sees it. Its methods are as telemetry.Board has them.
type Board struct {
	all   *telemetry.Board
	scope *Scope
}

// Row returns what is known of an object.
func (b Board) Row(o telemetry.Object) (telemetry.Row, bool) {
	r, ok := b.all.Row(o)
	if !ok || !b.scope.SeesSync(r.Trace) {
		return telemetry.Row{}, false
	}
	return r, true
}

// Get returns the newest sync of an object.
func (b Board) Get(o telemetry.Object) (*telemetry.Trace, bool) {
	r, ok := b.Row(o)
	return r.Trace, ok
}

// Rows returns what is known of every object of a loop, sorted by namespace and name.
func (b Board) Rows(loop string) []telemetry.Row {
	if b.scope == nil {
		return b.all.Rows(loop)
	}
	namespaces := b.all.Namespaces(loop)
	b.scope.prepare(map[string][]string{loop: namespaces})
	return slices.DeleteFunc(b.candidates(loop, namespaces), func(r telemetry.Row) bool { return !b.scope.SeesSync(r.Trace) })
}

// candidates leaves out the namespaces of which the viewer may see nothing: most of them, where there
// are many and the viewer works in one.
func (b Board) candidates(loop string, namespaces []string) []telemetry.Row {
	if b.scope.Whole(loop) {
		return b.all.Rows(loop)
	}
	return b.all.RowsIn(loop, slices.DeleteFunc(namespaces, func(ns string) bool { return !b.scope.told(loop, ns) }))
}

// List returns the newest sync of every object of a loop, sorted by namespace and name.
func (b Board) List(loop string) []*telemetry.Trace {
	rows := b.Rows(loop)
	list := make([]*telemetry.Trace, len(rows))
	for i := range rows {
		list[i] = rows[i].Trace
	}
	return list
}

// Children returns the newest sync of every object of a loop that an owner controls, sorted by name.
func (b Board) Children(loop, namespace, owner string) []*telemetry.Trace {
	list := b.all.Children(loop, namespace, owner)
	if b.scope == nil {
		return list
	}
	return slices.DeleteFunc(list, func(t *telemetry.Trace) bool { return !b.scope.SeesSync(t) })
}

// Loops are the names of those that have objects, sorted.
func (b Board) Loops() []string {
	names := b.all.Loops()
	if b.scope == nil {
		return names
	}
	return slices.DeleteFunc(names, func(loop string) bool { return !b.scope.Whole(loop) && len(b.Rows(loop)) == 0 })
}

// Len is the number of live objects of all loops.
func (b Board) Len() int {
	if b.scope == nil {
		return b.all.Len()
	}
	n := 0
	for _, loop := range b.all.Loops() {
		n += len(b.Rows(loop))
	}
	return n
}
