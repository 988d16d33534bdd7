package web

import (
	"slices"
	"testing"
	"time"
)

// drawn is a page as it is drawn for readers now.
func drawn(t *testing.T, s *Server, address string) *drawing {
	t.Helper()
	to, err := s.find(address)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.drawNow(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestReadersInStepShare: what is found out for one reader is known for all who
// have seen the same, and what was held back is looked at again when it may go.
func TestReadersInStepShare(t *testing.T) {
	s := planWorld(t).server(nil)
	d := drawn(t, s, "/deployments")
	now, rows := time.Now(), d.page.Order[:1]
	begin := func(same bool, rows []string) *readerState {
		t.Helper()
		has := readerRows{rows, len(rows)}
		s, err := d.said.begin(same, has, func() (*readerState, error) { return d.begin(t.Context(), same, has) })
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	goOn := func(d *drawing, from *readerState, now time.Time) *advance {
		t.Helper()
		a, err := d.said.advance(from, now, func() (*advance, error) { return d.after(t.Context(), from, now) })
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	// next is a drawing in which the counter of the header is another one.
	next := func(d *drawing) *drawing {
		again := *d
		again.said, again.frags = &messages{}, slices.Clone(d.frags)
		again.frags[1].Sum++
		return &again
	}

	none := begin(false, rows)
	if begin(false, rows) != none || begin(true, rows) == none || begin(false, d.page.Order) == none {
		t.Error("readers of the same rows begin alike, and others do not")
	}
	a := goOn(d, none, now)
	if goOn(d, none, now.Add(time.Second)) != a {
		t.Error("it is found out twice")
	}
	if want := len(d.frags) + len(rows); len(a.changed) != want || !slices.Equal(a.order, d.page.Order) {
		t.Errorf("%d fragments and the order %v, want %d and %v", len(a.changed), a.order, want, d.page.Order)
	}
	d = next(d)
	if a = goOn(d, a.next, now); len(a.changed) != 1 || a.changed[0].Id != "f-window" || a.order != nil || !a.again.IsZero() {
		t.Errorf("the first change is %+v", a)
	}
	d = next(d)
	held := goOn(d, a.next, now.Add(windowEvery/10))
	if len(held.changed) != 0 || held.next != a.next || !held.again.Equal(now.Add(windowEvery)) {
		t.Errorf("soon after it: %+v", held)
	}
	if goOn(d, a.next, now.Add(windowEvery-time.Millisecond)) != held {
		t.Error("it is found out once more before it may be sent")
	}
	if later := goOn(d, a.next, now.Add(windowEvery)); len(later.changed) != 1 || !later.again.IsZero() {
		t.Errorf("when it may be sent: %+v", later)
	}
}
