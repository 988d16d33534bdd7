package telemetry

import (
	"cmp"
	"math"
	"slices"
)

// objectTraces is the kept traces of one object, linked from old to new, so that
// one in the middle can leave without a search. It lives as long as a trace of
// the object is kept: objects come and go by the thousand.
type objectTraces struct {
	object         Object
	owner          string // as the newest trace has it that found the object
	oldest, newest *kept
	steered        map[Object]bool // what its traces say that they worked on
	folded         uint64
}

func (j *Journal) objectTracesOf(o Object) *objectTraces {
	h := j.objects[o]
	if h == nil {
		h = &objectTraces{object: o}
		j.objects[o] = h
	}
	return h
}

func (h *objectTraces) append(k *kept, t *Trace, steered []Object) {
	for _, o := range steered {
		if h.steered == nil {
			h.steered = map[Object]bool{}
		}
		h.steered[o] = true
	}
	if !t.Gone { // Nobody can tell any more who the owner was.
		h.owner = t.Owner
	}
	k.history, k.older = h, h.newest
	if h.newest != nil {
		h.newest.newer = k
	} else {
		h.oldest = k
	}
	h.newest = k
}

func (h *objectTraces) remove(k *kept) {
	if k.older != nil {
		k.older.newer = k.newer
	} else {
		h.oldest = k.newer
	}
	if k.newer != nil {
		k.newer.older = k.older
	} else {
		h.newest = k.older
	}
	k.older, k.newer = nil, nil
}

// Get returns the trace with that number, if it is kept.
func (j *Journal) Get(seq uint64) (*Trace, bool) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if k := j.recent[seq%uint64(len(j.recent))].Load(); k != nil && k.Seq == seq {
		return k.trace, true
	}
	for i := range j.shelves {
		s := &j.shelves[i]
		if at := s.behind(seq) - 1; at >= s.gone && s.items[at].Seq == seq {
			return s.items[at].trace, true
		}
	}
	return nil, false
}

// Of returns the newest kept traces of an object, limit at most, oldest first.
func (j *Journal) Of(o Object, limit int) []*Trace { return j.Since(o, 0, limit) }

// Since is Of without the traces up to that number.
func (j *Journal) Since(o Object, seq uint64, limit int) []*Trace {
	return j.between(o, seq, math.MaxUint64, limit)
}

// Before is Of without the traces from that number on.
func (j *Journal) Before(o Object, seq uint64, limit int) []*Trace {
	return j.between(o, 0, seq, limit)
}

// Marks is Of for who needs no traces: it looks at none.
func (j *Journal) Marks(o Object, limit int) []Mark {
	var list []Mark
	j.Back(o, func(m *Mark) bool {
		list = append(list, *m)
		return len(list) < limit
	})
	slices.Reverse(list)
	return list
}

// Back visits the marks of an object's kept traces, the newest first, until it is told
// to stop. visit must not call the journal, which is locked.
func (j *Journal) Back(o Object, visit func(*Mark) (goOn bool)) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	h := j.objects[o]
	if h == nil {
		return
	}
	for k := h.newest; k != nil && visit(&k.Mark); k = k.older {
	}
}

// Synced is the objects of a loop that had a sync after that number. ok is false where
// that is not known: in a recording, and where some of those traces are kept no longer.
func (j *Journal) Synced(loop string, after uint64) (objects map[Object]bool, ok bool) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.loaded {
		return nil, false
	}
	objects = map[Object]bool{}
	for seq := after + 1; seq <= j.last.Load(); seq++ {
		k := j.recent[seq%uint64(len(j.recent))].Load()
		if k == nil || k.Seq != seq {
			return nil, false
		}
		if o := k.history.object; o.Loop == loop {
			objects[o] = true
		}
	}
	return objects, true
}

// between are the newest of an object with numbers between these two, oldest first.
func (j *Journal) between(o Object, after, before uint64, limit int) (list []*Trace) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	h := j.objects[o]
	if h == nil {
		return nil
	}
	for k := h.newest; k != nil && k.Seq > after && len(list) < limit; k = k.older {
		if k.Seq < before {
			list = append(list, k.trace)
		}
	}
	slices.Reverse(list)
	return list
}

// Folded is how many unremarkable traces of an object are kept as a count alone.
func (j *Journal) Folded(o Object) uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if h := j.objects[o]; h != nil {
		return h.folded
	}
	return 0
}

// Prev returns the kept trace of an object before that number.
func (j *Journal) Prev(o Object, seq uint64) (*Trace, bool) {
	if list := j.Before(o, seq, 1); len(list) > 0 {
		return list[0], true
	}
	return nil, false
}

// After returns the kept trace of an object after that number.
func (j *Journal) After(o Object, seq uint64) (*Trace, bool) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	var next *kept
	if h := j.objects[o]; h != nil {
		for k := h.newest; k != nil && k.Seq > seq; k = k.older {
			next = k
		}
	}
	if next == nil {
		return nil, false
	}
	return next.trace, true
}

// maxFamily bounds the syncs of one object that Family returns.
const maxFamily = 4096

// Family returns the kept traces of an object and of those that it controls or
// controlled, and of those that it works or worked on, in no particular order, the
// newest few thousand of each object at most. For one that has an owner that is its
// owner's family; for one that another works on it is both. It looks at every object of
// the journal.
func (j *Journal) Family(o Object) (list []*Trace) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	kin := j.kin(o)
	for member, h := range j.objects {
		if member != o && !kin.has(member, h.owner) {
			continue
		}
		for k, n := h.newest, 0; k != nil && n < maxFamily; k, n = k.older, n+1 {
			list = append(list, k.trace)
		}
	}
	return list
}

// kin are those of an object or of its owner, and of what works on it. The journal is locked.
func (j *Journal) kin(o Object) kins {
	head := o
	if h := j.objects[o]; h != nil {
		head = HeadOf(j.opts.Loops, o, h.owner)
	}
	list := kins{kinOf(j.opts.Loops, head)}
	for by, h := range j.objects {
		switch {
		case by == head:
			list[0].steered = h.steered
		case h.steered[o]:
			list = append(list, &kin{j.opts.Loops, by, h.steered})
		}
	}
	return list
}

// Kept returns the kept traces after that number, oldest first and limit at
// most: those that stand on a shelf alone, too, which Next no longer gives. None
// means that there is nothing newer. It looks at limit traces under the lock and
// not at all of them, so that a reader of everything holds up no sync.
func (j *Journal) Kept(after uint64, limit int) (traces []*Trace) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.kept(after, limit)
}

// kept is Kept where the journal is locked.
func (j *Journal) kept(after uint64, limit int) (traces []*Trace) {
	var list []*kept
	for seq, last := max(after+1, j.oldest), j.last.Load(); seq <= last && len(list) < limit; seq++ {
		if k := j.recent[seq%uint64(len(j.recent))].Load(); k != nil {
			list = append(list, k)
		}
	}
	for i := range j.shelves {
		s := &j.shelves[i]
		from := s.behind(after)
		list = append(list, s.items[from:min(from+limit, len(s.items))]...)
	}
	slices.SortFunc(list, func(a, b *kept) int { return cmp.Compare(a.Seq, b.Seq) })
	list = slices.Compact(list)
	for _, k := range list[:min(limit, len(list))] {
		traces = append(traces, k.trace)
	}
	return traces
}
