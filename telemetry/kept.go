package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	// searched is how many syncs a search of the journal lists unless it asks for
	// another number, and mostSearched the highest one.
	searched, mostSearched = 100, 1000
	// keptBatch is how many traces are taken from the journal at once.
	keptBatch = 512
)

// Archive is the archive of what the journal holds itself: it forgets as the
// journal does, and is lost with the process. Every search looks at all of it.
func (j *Journal) Archive() Archive { return keptArchive{j} }

type keptArchive struct{ j *Journal }

// Search lists by number, which is the order in which the syncs ended.
func (a keptArchive) Search(ctx context.Context, q Query) (Hits, error) {
	limit := min(max(q.Limit, 0), mostSearched)
	if limit == 0 {
		limit = searched
	}
	q.Limit = 0
	after, err := a.cursor(q.After)
	if err != nil {
		return Hits{}, err
	}
	var h Hits
	err = a.Each(ctx, q, func(t *Trace) error {
		if q.After != "" && (q.OldestFirst && t.Seq <= after || !q.OldestFirst && t.Seq >= after) {
			return nil
		}
		if len(h.Hits) == limit {
			h.Next = strconv.FormatUint(h.Hits[limit-1].Seq, 10)
			return errEnough
		}
		h.Hits = append(h.Hits, t.Hit(t.Class(a.j.opts.SlowAfter)))
		return nil
	})
	return h, ignoreEnough(err)
}

func (a keptArchive) cursor(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 {
		return 0, fmt.Errorf("%w: the cursor is none of a page before: omit it to start at the first page", ErrBadQuery)
	}
	return seq, nil
}

func (a keptArchive) Get(_ context.Context, epoch string, seq uint64) (*Trace, error) {
	if t, ok := a.j.Get(seq); ok && epoch == a.j.Epoch() {
		return t, nil
	}
	return nil, ErrNotKept
}

func (a keptArchive) AsOf(_ context.Context, o Object, at time.Time) (*Trace, error) {
	list := a.j.Of(o, maxFamily)
	for i := len(list) - 1; i >= 0; i-- {
		if !list[i].Started.After(at) {
			return list[i], nil
		}
	}
	return nil, ErrNotKept
}

func (a keptArchive) Each(ctx context.Context, q Query, visit func(*Trace) error) error {
	list := a.matching(ctx, &q)
	if !q.OldestFirst {
		slices.Reverse(list)
	}
	for n, t := range list {
		if q.Limit > 0 && n == q.Limit {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(t); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// matching is what the query finds, oldest first.
func (a keptArchive) matching(ctx context.Context, q *Query) []*Trace {
	var list []*Trace
	for after := uint64(0); ctx.Err() == nil; {
		batch := a.j.Kept(after, keptBatch)
		if len(batch) == 0 {
			break
		}
		for _, t := range batch {
			if q.Match(t, t.Class(a.j.opts.SlowAfter)) {
				list = append(list, t)
			}
		}
		after = batch[len(batch)-1].Seq
	}
	return list
}

func (a keptArchive) State() ArchiveState {
	j := a.j
	j.mu.RLock()
	defer j.mu.RUnlock()
	st := ArchiveState{Kept: j.held, Bytes: j.bytes, MaxBytes: j.opts.Bytes}
	for _, first := range j.kept(0, 1) {
		st.Oldest = first.Started
	}
	if !j.loaded { // Its numbers have gaps.
		st.Written = j.recorded()
		st.Expired = st.Written - min(st.Written, st.Kept)
	}
	return st
}
