package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/source"
)

// FuzzSubscribe proves that a frame from a page is taken whole or refused with a
// reason that can be told to it, and that what is taken is bounded.
func FuzzSubscribe(f *testing.F) {
	for _, text := range []string{"", "{}", `{"page":"/deployments"}`, `{"page":"/deployments?q=is:waiting","rows":["shop/web"]}`, `{"page":"x"}`,
		`{"page":"/","rows":[` + strings.Repeat(`"a/b",`, 300) + `"a/b"]}`, `{"page":"/","more":1}`, "[[[[", "\x00\xff"} {
		f.Add(websocket.TextMessage, []byte(text))
	}
	f.Add(websocket.BinaryMessage, []byte(`{"page":"/"}`))
	f.Fuzz(func(t *testing.T, kind int, message []byte) {
		sub, err := parseSubscribe(kind, message)
		var bad malformed
		switch {
		case err != nil && (sub != nil || !errors.As(err, &bad) || len(bad.Error()) > 100):
			t.Fatalf("refused beside %v with %v, which is no reason to close with", sub, err)
		case err == nil && (kind != websocket.TextMessage || !strings.HasPrefix(sub.Page, "/") || len(sub.Page) > 2*page.MaxQuery || len(sub.Rows) > page.MaxRows):
			t.Fatalf("took %+v of kind %d", sub, kind)
		}
	})
}

// drawnList is a list whose rows have these texts, drawn. Those that say the same as in the
// drawing before are the same rows.
func drawnList(t *testing.T, before *drawing, texts ...string) *drawing {
	t.Helper()
	p := &page.Page{}
	for _, id := range []string{"f-notice", "f-window", "f-head"} {
		p.Parts = append(p.Parts, page.Part{ID: id, View: templ.Raw(id)})
	}
	for _, text := range texts {
		id, _, _ := strings.Cut(text, " ")
		row := &page.Row{ID: id, View: func() templ.Component { return templ.Raw(text) }}
		if before != nil {
			for _, old := range before.page.Rows {
				var b strings.Builder
				if err := old.View().Render(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				if b.String() == text {
					row = old
				}
			}
		}
		p.Rows, p.Order = append(p.Rows, row), append(p.Order, id)
	}
	p.Lost = func(string) (*page.Row, bool) { return nil, false }
	frags, err := p.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &drawing{page: p, frags: frags, said: &messages{}}
}

// TestReadersInStepShare: what is found out for one reader is known for all who
// have seen the same, and what was held back is looked at again when it may go.
func TestReadersInStepShare(t *testing.T) {
	d := drawnList(t, nil, "a is new", "b is new")
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
	if a = goOn(d, a.next, now); len(a.changed) != 1 || a.changed[0].ID != "f-window" || a.order != nil || !a.again.IsZero() {
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

// TestEmptyOrderIsTold: a message that says that no row is left is another one than a message
// that says nothing of rows.
func TestEmptyOrderIsTold(t *testing.T) {
	if digestOf(Update{Seq: 1}, nil) == digestOf(Update{Seq: 1, Order: []string{}}, nil) {
		t.Error("both are taken for the same message")
	}
}

// TestRowsOutOfSightComeTogether: rows that nobody sees are drawn and sent every few
// seconds, all at once, and at once when they come into sight.
func TestRowsOutOfSightComeTogether(t *testing.T) {
	d, now := drawnList(t, nil, "a is new", "b is new", "c is new"), time.Now()
	goOn := func(from *readerState, after time.Duration, want ...string) *advance {
		t.Helper()
		a, err := d.after(t.Context(), from, now.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, f := range a.changed {
			if slices.Contains(d.page.Order, f.ID) {
				rows = append(rows, f.ID)
			}
		}
		slices.Sort(rows)
		if !slices.Equal(rows, want) {
			t.Fatalf("after %s: rows %v, want %v", after, rows, want)
		}
		return a
	}

	has := readerRows{[]string{"a", "b", "c"}, 1} // a is in sight
	none, err := d.begin(t.Context(), false, has)
	if err != nil {
		t.Fatal(err)
	}
	first := goOn(none, 0, "a", "b", "c")
	d = drawnList(t, d, "a is old", "b is old", "c is new")
	second := goOn(first.next, time.Second, "a")
	if want := now.Add(CalmEvery); !second.again.Equal(want) {
		t.Errorf("b is looked at again at %s, want %s", second.again, want)
	}
	for _, r := range d.page.Rows {
		if drawn := r.Painted(); drawn != (r.ID != "b") {
			t.Errorf("%s drawn: %v", r.ID, drawn)
		}
	}
	d = drawnList(t, d, "a is old", "b is old", "c is old")
	goOn(second.next, 2*time.Second)
	goOn(second.next, CalmEvery, "b", "c")

	scrolled := *second.next
	scrolled.rows = readerRows{has.ids, 2}.inSight()
	third := goOn(&scrolled, 2*time.Second, "b")
	goOn(third.next, CalmEvery, "c")
}

// TestOutagesMakeDrawingsStale: no trace says that one begins or ends.
func TestOutagesMakeDrawingsStale(t *testing.T) {
	var away atomic.Bool
	src := source.New(source.Options{Journal: telemetry.NewJournal(telemetry.JournalOptions{Epoch: "7c41"}), Server: func() telemetry.ServerState {
		return telemetry.ServerState{Reachable: !away.Load(), Since: time.Unix(1, 0)}
	}}, nil)
	build := func(context.Context) (*page.Page, error) { return &page.Page{}, nil }
	x := &watchedPage{s: New(src, slots.New(src.Journal.Last), NewCrowd(1), nil), target: &Target{Address: "/", Path: "/", Build: build}}
	for i, is := range []bool{false, true, false} {
		away.Store(is)
		if !x.stale(time.Now()) {
			t.Errorf("%d: the drawing is not stale when the outage is %v", i, is)
		}
		if x.draw(t.Context()); x.err != nil || x.stale(time.Now()) {
			t.Errorf("%d: drawn with an outage %v it is stale, or %v", i, is, x.err)
		}
	}
}

// ended is a context that ends while somebody waits for one that was made of it.
type ended struct{ context.Context }

func (ended) Err() error { return context.Canceled }

// TestNothingIsLostAtTheEnd: what was read from the journal in the moment in which the console stops
// is left to who sends the rest.
func TestNothingIsLostAtTheEnd(t *testing.T) {
	journal := telemetry.NewJournal(telemetry.JournalOptions{Epoch: "7c41"})
	journal.Record(&telemetry.Trace{Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: "web"}})
	c := &reader{s: New(source.New(source.Options{Journal: journal}, nil), nil, NewCrowd(1), nil)}
	due := time.Now().Add(5 * time.Second)
	if batch, _, err := c.wait(ended{t.Context()}, due); len(batch) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("at the end %d traces and %v, want none and why it ended", len(batch), err)
	}
	if batch, _, err := c.wait(t.Context(), due); len(batch) != 1 || err != nil {
		t.Errorf("after it %d traces and %v, want the one", len(batch), err)
	}
}
