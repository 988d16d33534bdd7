package live

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/loopscope/loopscope/web/page"
)

// readerState is what some readers have of a page. Nobody changes it: those who are in
// step share it, and so what is found out for one is known for all.
type readerState struct {
	rows  map[string]bool   // true for those in sight
	has   map[string]placed // every fragment as they have it
	order []string          // as they were told last, nil for not yet
	calm  time.Time         // when rows out of sight were sent last
}

// advance is how those who have seen something come to know a drawing.
type advance struct {
	next    *readerState // the same one where nothing has changed
	changed []page.Fragment
	order   []string  // nil where it is the same, empty where no row is left
	again   time.Time // when a fragment may be sent that was sent a moment ago; zero for none
}

// placed is a fragment on a reader's page.
type placed struct {
	sum uint64
	row *page.Row // nil for what is no row
	at  time.Time // when it was sent, zero where it may be swapped at once
}

// begin is what a reader has that shows these rows: the drawing itself, or nothing.
func (d *drawing) begin(ctx context.Context, same bool, rows readerRows) (*readerState, error) {
	s := &readerState{rows: rows.inSight(), has: map[string]placed{}}
	if !same {
		return s, nil
	}
	s.order = d.page.Order
	for _, f := range d.frags {
		s.has[f.ID] = placed{sum: f.Sum}
	}
	for _, r := range d.page.Rows {
		f, err := r.Paint(ctx)
		if err != nil {
			return nil, err
		}
		s.has[r.ID] = placed{sum: f.Sum, row: r}
	}
	return s, nil
}

// after is the advance from what was seen to the drawing. What is placed for the first
// time may be swapped at once by the first change.
func (d *drawing) after(ctx context.Context, s *readerState, now time.Time) (*advance, error) {
	x := &advance{next: s}
	next := &readerState{rows: s.rows, has: s.has, order: s.order, calm: s.calm}
	place := func(f page.Fragment, r *page.Row) {
		if x.changed == nil {
			next.has = maps.Clone(s.has)
		}
		at := now
		if len(s.has) == 0 {
			at = time.Time{}
		}
		x.changed = append(x.changed, f)
		next.has[f.ID] = placed{f.Sum, r, at}
	}
	for _, f := range d.frags {
		if was, ok := s.has[f.ID]; (!ok || was.sum != f.Sum) && x.free(was.at.Add(gapOf(f.ID)), now) {
			place(f, nil)
		}
	}
	for _, r := range d.rowsOf(s) {
		was, free := s.has[r.ID], time.Time{}
		if was.row == r {
			continue
		}
		if s.rows[r.ID] {
			free = was.at.Add(SwapEvery)
		} else if !s.calm.IsZero() {
			free = s.calm.Add(CalmEvery)
		}
		if !x.free(free, now) {
			continue
		}
		f, err := r.Paint(ctx)
		if err != nil {
			return nil, err
		}
		if f.Sum == was.sum {
			continue
		}
		if place(f, r); !s.rows[r.ID] {
			next.calm = now
		}
	}
	if d.page.Order != nil && (s.order == nil || !slices.Equal(d.page.Order, s.order)) {
		x.order, next.order = d.page.Order, d.page.Order
	}
	if x.changed != nil || x.order != nil {
		x.next = next
	}
	return x, nil
}

// gapOf is the least time between two swaps of a fragment.
func gapOf(id string) time.Duration {
	if id == "f-window" {
		return windowEvery
	}
	return SwapEvery
}

// free reports whether something may be sent, and notes when it may.
func (x *advance) free(at, now time.Time) bool {
	if now.Before(at) {
		x.again = earlier(at, x.again)
		return false
	}
	return true
}

// rowsOf is the rows that a reader has, on this page of the list or not.
func (d *drawing) rowsOf(s *readerState) []*page.Row {
	if d.page.Lost == nil {
		return nil // The page is no list.
	}
	list := make([]*page.Row, 0, len(s.rows))
	for _, r := range d.page.Rows {
		if _, ok := s.rows[r.ID]; ok {
			list = append(list, r)
		}
	}
	if len(list) == len(s.rows) {
		return list
	}
	here := list
	for id := range s.rows {
		if slices.ContainsFunc(here, func(r *page.Row) bool { return r.ID == id }) {
			continue
		}
		if r, ok := d.page.Lost(id); ok {
			list = append(list, r)
		}
	}
	return list
}
