package telemetry

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Board holds the newest trace of every live object, however long ago its sync
// was. It has its own short locks, so that many readers of whole lists do not
// hold up recording. Its methods are safe for concurrent use.
type Board struct {
	mu       sync.RWMutex // guards the maps, which change when objects come, go or change owner
	rows     map[Object]*place
	children map[Object]map[Object]*place // by loop, namespace and owner
	loops    map[string]map[string]int    // how many objects each has in each namespace
}

// place is where the row of an object is found. Rows are replaced and never changed.
type place struct {
	row   atomic.Pointer[Row]
	owner string
}

// Row is what the board knows of an object.
type Row struct {
	// Trace is its newest sync.
	Trace *Trace
	// SinceTone is when the tone of its sentence changed last, as far as the
	// sentence or the syncs since the start of the process say.
	SinceTone time.Time
	// StuckSince is since when its tone has been waiting or failed without a
	// break; zero where it is another one.
	StuckSince time.Time
	// WroteSeq is the number of the newest sync that wrote anything, which may be
	// kept no longer, and WroteAt is when it ended; 0 where none has.
	WroteSeq uint64
	WroteAt  time.Time

	tone decision.Tone
}

func newBoard() *Board {
	return &Board{rows: map[Object]*place{}, children: map[Object]map[Object]*place{}, loops: map[string]map[string]int{}}
}

// put makes t the newest trace of its object. Calls are made one at a time.
func (b *Board) put(t *Trace) {
	p := b.rows[t.Object] // Reading without the lock is right: put alone changes the maps.
	switch {
	case t.Gone && p != nil:
		b.remove(t.Object, p)
	case t.Gone:
	case p == nil:
		p = &place{owner: t.Owner}
		p.row.Store((*Row)(nil).next(t))
		b.insert(t.Object, p)
	default:
		p.row.Store(p.row.Load().next(t))
		if p.owner != t.Owner {
			b.move(t.Object, p, t.Owner)
		}
	}
}

// keepOwner gives a sync that failed before it saw its object the owner that is known: it is
// no news of that. Its caller is that of put.
func (b *Board) keepOwner(t *Trace) {
	blind := t.Failure != nil && !t.Gone && t.UID == "" && t.Owner == ""
	if p := b.rows[t.Object]; blind && p != nil {
		t.Owner = p.owner
	}
}

// has reports whether an object is on the board, to the caller of put.
func (b *Board) has(o Object) bool { return b.rows[o] != nil }

// next is the row after another sync. The receiver is nil before the first.
func (r *Row) next(t *Trace) *Row {
	n := &Row{Trace: t, tone: t.Sentence.Tone, SinceTone: t.Sentence.Since}
	if n.SinceTone.IsZero() {
		n.SinceTone = t.Ended
	}
	if r != nil && r.Trace.UID != "" && t.UID != "" && r.Trace.UID != t.UID {
		r = nil // Another object of the same name.
	}
	if r != nil {
		n.WroteSeq, n.WroteAt = r.WroteSeq, r.WroteAt
		if n.tone == "" || n.tone == r.tone {
			n.tone, n.SinceTone = r.tone, r.SinceTone
		}
	}
	n.StuckSince = n.stuckSince(r)
	if t.Wrote() {
		n.WroteSeq, n.WroteAt = t.Seq, t.Ended
	}
	return n
}

// stuckSince follows from the row before, which is nil where there is none.
func (r *Row) stuckSince(before *Row) time.Time {
	switch {
	case r.tone != decision.ToneWaiting && r.tone != decision.ToneFailed:
		return time.Time{}
	case before != nil && !before.StuckSince.IsZero():
		return before.StuckSince
	}
	return r.SinceTone
}

// Tone is that of the newest sentence.
func (r *Row) Tone() decision.Tone { return r.tone }

func (b *Board) insert(o Object, p *place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows[o] = p
	if b.loops[o.Loop] == nil {
		b.loops[o.Loop] = map[string]int{}
	}
	b.loops[o.Loop][o.Namespace]++
	b.join(o, p)
}

func (b *Board) move(o Object, p *place, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave(o, p)
	p.owner = owner
	b.join(o, p)
}

func (b *Board) remove(o Object, p *place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave(o, p)
	delete(b.rows, o)
	objects := b.loops[o.Loop]
	if objects[o.Namespace]--; objects[o.Namespace] == 0 {
		delete(objects, o.Namespace)
	}
	if len(objects) == 0 {
		delete(b.loops, o.Loop)
	}
}

// join adds an object to the children of its owner. The board is locked.
func (b *Board) join(o Object, p *place) {
	if p.owner == "" {
		return
	}
	parent := Object{o.Loop, o.Namespace, p.owner}
	if b.children[parent] == nil {
		b.children[parent] = map[Object]*place{}
	}
	b.children[parent][o] = p
}

// leave takes an object from the children of its owner. The board is locked.
func (b *Board) leave(o Object, p *place) {
	parent := Object{o.Loop, o.Namespace, p.owner}
	delete(b.children[parent], o)
	if len(b.children[parent]) == 0 {
		delete(b.children, parent)
	}
}

// Row returns what the board knows of an object.
func (b *Board) Row(o Object) (Row, bool) {
	b.mu.RLock()
	p := b.rows[o]
	b.mu.RUnlock()
	if p == nil {
		return Row{}, false
	}
	return *p.row.Load(), true
}

// Get returns the newest trace of an object.
func (b *Board) Get(o Object) (*Trace, bool) {
	r, ok := b.Row(o)
	return r.Trace, ok
}

// SinceTone is when the tone of an object's sentence changed last; zero if the
// object is not on the board.
func (b *Board) SinceTone(o Object) time.Time {
	r, _ := b.Row(o)
	return r.SinceTone
}

// Each visits what is known of every object of all loops, in no order and
// without holding anybody up meanwhile.
func (b *Board) Each(visit func(Row)) {
	b.mu.RLock()
	places := make([]*place, 0, len(b.rows))
	for _, p := range b.rows {
		places = append(places, p)
	}
	b.mu.RUnlock()
	for _, p := range places {
		visit(*p.row.Load())
	}
}

// Rows returns what is known of every object of a loop, sorted by namespace and name.
func (b *Board) Rows(loop string) []Row {
	return b.rowsOf(loop, func(string) bool { return true })
}

// RowsIn is Rows of the objects in these namespaces alone.
func (b *Board) RowsIn(loop string, namespaces []string) []Row {
	if len(namespaces) == 0 {
		return nil
	}
	in := make(map[string]bool, len(namespaces))
	for _, ns := range namespaces {
		in[ns] = true
	}
	return b.rowsOf(loop, func(ns string) bool { return in[ns] })
}

func (b *Board) rowsOf(loop string, in func(namespace string) bool) []Row {
	var places []*place
	b.mu.RLock()
	for o, p := range b.rows {
		if o.Loop == loop && in(o.Namespace) {
			places = append(places, p)
		}
	}
	b.mu.RUnlock()
	return rows(places)
}

// List returns the newest trace of every object of a loop, sorted by namespace and name.
func (b *Board) List(loop string) []*Trace { return traces(b.Rows(loop)) }

// Children returns the newest trace of every object of a loop that an owner
// controls, sorted by name.
func (b *Board) Children(loop, namespace, owner string) []*Trace {
	b.mu.RLock()
	family := b.children[Object{loop, namespace, owner}]
	places := make([]*place, 0, len(family))
	for _, p := range family {
		places = append(places, p)
	}
	b.mu.RUnlock()
	return traces(rows(places))
}

// Loops are the names of those that have objects, sorted.
func (b *Board) Loops() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.loops))
}

// Namespaces are those of the objects of a loop, sorted; "" is not among them.
func (b *Board) Namespaces(loop string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := slices.Sorted(maps.Keys(b.loops[loop]))
	if len(list) > 0 && list[0] == "" {
		return list[1:]
	}
	return list
}

// Len is the number of live objects of all loops.
func (b *Board) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.rows)
}

func rows(places []*place) []Row {
	list := make([]Row, len(places))
	for i, p := range places {
		list[i] = *p.row.Load()
	}
	slices.SortFunc(list, func(a, b Row) int {
		if c := strings.Compare(a.Trace.Namespace, b.Trace.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Trace.Name, b.Trace.Name)
	})
	return list
}

func traces(rows []Row) []*Trace {
	list := make([]*Trace, len(rows))
	for i := range rows {
		list[i] = rows[i].Trace
	}
	return list
}
