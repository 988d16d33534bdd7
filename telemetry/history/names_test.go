package history

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// named makes a sync of a Deployment of that name, so long after the clock's start.
func named(seq int, name string, after time.Duration) *telemetry.Trace {
	at := clock().Add(after)
	return &telemetry.Trace{Epoch: "e", Seq: uint64(seq), Object: telemetry.Object{Loop: "deployment", Namespace: "shop", Name: name}, Started: at, Ended: at}
}

// TestPartOfManyNames asks for parts that more names have than the index is
// asked for, and for parts that few have.
func TestPartOfManyNames(t *testing.T) {
	var traces []*telemetry.Trace
	for i := range 3 * maxNames {
		traces = append(traces, named(i+1, "cart-"+strconv.Itoa(i)+"-api", time.Duration(i)*time.Second))
	}
	for i := range maxNames { // As many as the index is asked for.
		n := len(traces)
		traces = append(traces, named(n+1, "shelf-"+strconv.Itoa(i), time.Duration(n)*time.Second))
	}
	s := filled(t, traces)
	for part, n := range map[string]int{"cart": 3 * maxNames, "shelf": maxNames, "-77-a": 1, "9-api": 3 * maxNames / 10, "shop": 0} {
		q := telemetry.Query{NamePart: part}
		want := model(traces, q)
		slices.Reverse(want)
		if got := pages(t, s, q, 100); len(want) < n || !slices.Equal(got, want) {
			t.Errorf("%q: found %d syncs, want %d", part, len(got), len(want))
		}
	}
	for part, n := range map[string]int{"shelf": maxNames, "-": 0} { // None where there are too many to ask for.
		if got, err := s.named(t.Context(), part); err != nil || len(got) != n || (got == nil) != (n == 0) {
			t.Errorf("%q is part of %d names, %v, want %d", part, len(got), err, n)
		}
	}
}

// TestNamesGoWithTheirSyncs keeps what is not kept any more out of the table of
// names, and learns a name again that comes back.
func TestNamesGoWithTheirSyncs(t *testing.T) {
	now := clock()
	s := open(t, filepath.Join(t.TempDir(), "h.db"), Options{Clock: func() time.Time { return now }, MaxAge: 24 * time.Hour})
	add := func(x *telemetry.Trace) {
		t.Helper()
		if err := s.Add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		now = x.Ended
		if _, err := s.Trim(t.Context(), trimChunks); err != nil {
			t.Fatal(err)
		}
	}
	known := func() (n int) {
		t.Helper()
		if err := s.conn.QueryRowContext(t.Context(), "SELECT count(*) FROM names").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	add(named(1, "cart", 0))
	add(named(2, "cart", 2*time.Hour))
	add(named(3, "web", 3*time.Hour))
	if n := known(); n != 2 {
		t.Errorf("%d names are known, want 2", n)
	}
	add(named(4, "web", 40*time.Hour)) // Everything before is too old now.
	if n := known(); n != 1 {
		t.Errorf("%d names are known, want web alone", n)
	}
	add(named(5, "cart", 40*time.Hour+time.Second))
	if got := pages(t, s, telemetry.Query{NamePart: "car"}, 10); !slices.Equal(got, []uint64{5}) {
		t.Errorf("found %v, want the sync after the name came back", got)
	}
}

// A name is written once an hour of syncs, and once in a transaction.
func TestNamesAreWrittenOnceAnHour(t *testing.T) {
	s := filled(t, nil)
	if _, err := s.conn.ExecContext(t.Context(), "CREATE TEMP TABLE written (name, hour); CREATE TEMP TRIGGER w BEFORE INSERT ON names BEGIN INSERT INTO written VALUES (new.name, new.hour); END"); err != nil {
		t.Fatal(err)
	}
	start := number(clock()) / hour
	for i, c := range []struct {
		traces []*telemetry.Trace
		want   string
	}{
		{[]*telemetry.Trace{named(1, "web", 0), named(2, "cart", time.Second), named(3, "web", time.Minute)}, "web 0 cart 0"},
		{[]*telemetry.Trace{named(4, "web", time.Hour-time.Millisecond)}, ""},
		{[]*telemetry.Trace{named(5, "web", time.Hour), named(6, "web", time.Hour+time.Minute), named(7, "web", 2*time.Hour)}, "web 1 web 2"},
		{[]*telemetry.Trace{named(8, "web", time.Minute)}, ""},
	} {
		if err := s.Add(t.Context(), c.traces...); err != nil {
			t.Fatal(err)
		}
		var got sql.NullString
		if err := s.conn.QueryRowContext(t.Context(), "SELECT group_concat(name || ' ' || (hour - ?), ' ') FROM written", start).Scan(&got); err != nil || got.String != c.want {
			t.Errorf("%d: %q was written, %v, want %q", i, got.String, err, c.want)
		}
		if _, err := s.conn.ExecContext(t.Context(), "DELETE FROM written"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.conn.ExecContext(t.Context(), "DROP TRIGGER w; CREATE TEMP TRIGGER w BEFORE INSERT ON names BEGIN SELECT RAISE(ABORT, 'no more'); END"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), named(9, "new", 0)); err == nil || !strings.Contains(err.Error(), "keep syncs: keep a name: ") {
		t.Errorf("Add = %v", err)
	}
}

// Names that are older than everything kept are forgotten once an hour of syncs.
func TestNamesAreForgottenOnceAnHour(t *testing.T) {
	longUnderRace(t)
	s := filled(t, []*telemetry.Trace{named(1, "web", time.Second), named(2, "web", 3*time.Hour)})
	now := number(clock()) / hour
	for i, c := range []struct{ pruned, want int64 }{{now - 1, now}, {now, now}, {now + 1, now + 1}} {
		s.names = names{pruned: c.pruned, hours: map[string]int64{"web": 1}}
		if err := s.prune(t.Context()); err != nil || s.names.pruned != c.want || (s.names.hours == nil) != (i == 0) {
			t.Errorf("after %d: %+v, %v", c.pruned, s.names, err)
		}
	}
	s.names.pruned = 0
	if _, err := s.conn.ExecContext(t.Context(), "ALTER TABLE names RENAME TO other"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trim(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "forget names: ") || s.names.pruned != 0 {
		t.Errorf("Trim = %v", err)
	}
	empty := filled(t, nil)
	if err := empty.prune(t.Context()); err != nil || empty.names.pruned != 0 {
		t.Errorf("nothing is kept: %+v, %v", empty.names, err)
	}
}

// So many names are remembered, and none that was not written after all.
func TestSoManyNamesAreKnown(t *testing.T) {
	longUnderRace(t)
	s := filled(t, []*telemetry.Trace{named(1, "a", 0)})
	for i := range namesKnown {
		s.names.hours[strconv.Itoa(i)] = 1
	}
	for i, want := range []int{1, 2, 2} {
		if err := s.Add(t.Context(), named(2+i, []string{"b", "c", "b"}[i], time.Duration(i+1)*time.Minute)); err != nil || len(s.names.hours) != want {
			t.Errorf("%d: %d names are known, %v, want %d", i, len(s.names.hours), err, want)
		}
	}
	start := stopped(t, s, &s.commit)
	if err := s.Add(t.Context(), named(9, "d", 0)); err == nil || s.names.hours != nil {
		t.Errorf("known: %v, %v", s.names.hours, err)
	}
	start()
}
