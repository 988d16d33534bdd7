package history

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// named makes a sync of a Deployment of that name, so long after the clock's start.
func named(seq int, name string, after time.Duration) *telemetry.Trace {
	at := clock().Add(after)
	return &telemetry.Trace{Epoch: "e", Seq: uint64(seq), Object: telemetry.Object{Loop: telemetry.LoopDeployment, Namespace: "shop", Name: name}, Started: at, Ended: at}
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
