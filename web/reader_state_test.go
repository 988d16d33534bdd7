package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
)

// says is a sync that has this to say, and nothing more.
func says(name, lead string) *telemetry.Trace {
	t := plain("shop", name)
	t.Sentence = decision.Sentence{Namespace: "shop", Object: name, Tone: decision.ToneFailed, Verb: "has", State: "failed", Lead: decision.Words{}.Say(lead)}
	return t
}

// TestRowsOutOfSightComeTogether: rows that nobody sees are drawn and sent every few
// seconds, all at once, and at once when they come into sight.
func TestRowsOutOfSightComeTogether(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	names := []string{"a", "b", "c"}
	ids := map[string]string{}
	for _, name := range names {
		x := says(name, "it is new")
		w.journal.Record(x)
		ids[address.Row(x.Object)] = name
	}
	s := w.server(nil)
	drawing := func() *drawing { return drawn(t, s, "/deployments") }
	rowsOf := func(a *advance) (rows []string) {
		for _, f := range a.changed {
			if name := ids[f.Id]; name != "" {
				rows = append(rows, name)
			}
		}
		slices.Sort(rows)
		return rows
	}
	d, now := drawing(), time.Now()
	goOn := func(from *readerState, after time.Duration, want ...string) *advance {
		t.Helper()
		a, err := d.after(t.Context(), from, now.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(a); !slices.Equal(got, want) {
			t.Fatalf("after %s: rows %v, want %v", after, got, want)
		}
		return a
	}

	has := readerRows{slices.Clone(d.page.Order), 1}
	slices.SortFunc(has.ids, func(a, b string) int { return int(ids[a][0]) - int(ids[b][0]) }) // a is in sight
	none, err := d.begin(t.Context(), false, has)
	if err != nil {
		t.Fatal(err)
	}
	first := goOn(none, 0, "a", "b", "c")
	w.journal.Record(says("a", "it is old"))
	w.journal.Record(says("b", "it is old"))
	d = drawing()
	second := goOn(first.next, time.Second, "a")
	if want := now.Add(calmEvery); !second.again.Equal(want) {
		t.Errorf("b is looked at again at %s, want %s", second.again, want)
	}
	for _, r := range d.page.Rows {
		if drawn := r.Painted(); drawn != (ids[r.Id] != "b") {
			t.Errorf("%s drawn: %v", ids[r.Id], drawn)
		}
	}
	w.journal.Record(says("c", "it is old"))
	d = drawing()
	goOn(second.next, 2*time.Second)
	goOn(second.next, calmEvery, "b", "c")

	scrolled := *second.next
	scrolled.rows = readerRows{has.ids, 2}.inSight()
	third := goOn(&scrolled, 2*time.Second, "b")
	goOn(third.next, calmEvery, "c")
}

// TestScrolling goes on with what the page has: only what was not in sight is sent.
func TestScrolling(t *testing.T) {
	w := newWorld(t, storyNow)
	w.pump()
	a, b := says("a", "it is new"), says("b", "it is new")
	w.journal.Record(a)
	w.journal.Record(b)
	_, h := w.serve(nil)
	conn := dial(t, h.URL, "", page.PageProtocol)
	here := subscribe{Page: "/deployments", Epoch: "7c41", Rows: []string{address.Row(a.Object), address.Row(b.Object)}, Sight: 1}
	if err := conn.WriteJSON(here); err != nil {
		t.Fatal(err)
	}
	if m := receive[update](t, conn); len(ids(m)) < 5 {
		t.Fatalf("the first message has %d fragments", len(m.Frags))
	}
	next := func(id string) string {
		t.Helper()
		for {
			got := ids(receive[update](t, conn))
			if got["f-twin"] != "" {
				t.Fatal("the page was sent anew")
			}
			if got[id] != "" {
				return got[id]
			}
		}
	}
	w.journal.Record(says("b", "it is old"))
	next(here.Rows[1]) // The first of the rows out of sight need not wait.
	w.journal.Record(says("b", "it is older"))
	w.journal.Record(says("a", "it is seen"))
	next(here.Rows[0])
	began := time.Now()
	here.Rows, here.Scrolled = []string{here.Rows[1], here.Rows[0]}, true
	if err := conn.WriteJSON(here); err != nil {
		t.Fatal(err)
	}
	if html := next(here.Rows[0]); !strings.Contains(html, "It is older") {
		t.Errorf("b came into sight as %s", html)
	}
	if took := time.Since(began); took > calmEvery/2 {
		t.Errorf("b came into sight and was sent %s later", took)
	}
}
