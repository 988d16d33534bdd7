package history

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// away moves a history away under its writer.
func away(t *testing.T, path string) {
	t.Helper()
	for _, end := range beside {
		if err := os.Rename(path+end, path+".away"+end); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// all keeps all that a journal has.
func all(t *testing.T, k *Keeper, j Journal, after uint64) uint64 {
	t.Helper()
	for after < j.Last() {
		next, err := k.keepBatch(t.Context(), j, after)
		if err != nil {
			t.Fatal(err)
		}
		after = next
	}
	return after
}

// What the journal still has is kept again before anything is counted as lost, in however many commits.
func TestNothingIsLostThatIsKeptAgain(t *testing.T) {
	const n = commitSize + commitSize/2
	j := journal(0)
	pump(t, j)
	path := filepath.Join(t.TempDir(), "h.db")
	k, log, _ := running(t, path, quick(), j)
	record(j, several(n)...)
	until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == n })
	away(t, path)
	record(j, several(1)...)
	until(t, k, "kept again", func(telemetry.ArchiveState) bool { return log.count("Syncs are kept again") > 0 })
	until(t, k, "caught up", func(s telemetry.ArchiveState) bool { return s.Kept == n+1 })
	if s := k.State(); s.Dropped != 0 || s.Written != n+1 || log.count("lost=0") != 1 {
		t.Errorf("%+v: %s", s, &log.text)
	}
}

// What a journal that has nothing new had in a file is kept again when another one has.
func TestTheOtherJournalIsKeptAgain(t *testing.T) {
	k, log := opened(t, quick())
	own, run := standsBy(0, 3), telemetry.FollowJournal(telemetry.JournalOptions{Epoch: "leader"})
	for i := range 300 {
		x := named(2*i+1, "web", 0)
		x.Epoch = "leader"
		run.Follow(x)
	}
	record(own, several(40)...)
	at := all(t, k, own, 0)
	all(t, k, run, 0)
	away(t, k.path)
	record(own, several(1)...)
	all(t, k, own, at)
	if s := k.State(); s.Kept != 341 || s.Dropped != 0 || s.Written != 341 || log.count("lost=0") != 1 {
		t.Errorf("%+v: %s", s, &log.text)
	}
}

// A file that was damaged under its writer and is moved away, as the log says, is begun anew with what the
// journal still has.
func TestMovedAfterItWasDamaged(t *testing.T) {
	k, log := opened(t, quick())
	j := journal(0)
	record(j, several(50)...)
	at := all(t, k, j, 0)
	if _, err := k.store.conn.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	write(t, k.path, []byte(strings.Repeat("hello ", 2000)))
	if _, err := k.store.conn.ExecContext(t.Context(), "PRAGMA shrink_memory"); err != nil { // It knows no page by heart.
		t.Fatal(err)
	}
	record(j, several(1)...)
	for range 2 { // It is written, and opened.
		if _, err := k.keepBatch(t.Context(), j, at); err == nil || !strings.Contains(k.State().Error, "not a database: move it away") {
			t.Errorf("%v, %+v", err, k.State())
		}
	}
	away(t, k.path)
	all(t, k, j, at)
	if s := k.State(); s.Kept != 51 || s.Dropped != 0 || s.Written != 51 || log.count("lost=0") != 1 {
		t.Errorf("%+v: %s", s, &log.text)
	}
}

// broke makes a keeper leave its file as if that were damaged.
func broke(t *testing.T, k *Keeper) {
	t.Helper()
	text := filepath.Join(t.TempDir(), "text")
	write(t, text, []byte(strings.Repeat("hello ", 2000)))
	_, err := openReader(t.Context(), text, "mode=ro")
	if k.fail(err); k.store != nil {
		t.Fatalf("it is not left: %v", err)
	}
}

// A file that was left and is opened again has what was kept: nothing is kept again, also not what expired.
func TestTheSameFileAgain(t *testing.T) {
	now := clock()
	k, log := opened(t, Options{Clock: func() time.Time { return now }, MaxAge: time.Hour, Every: 1})
	j, at := journal(0), uint64(0)
	for i, h := range []time.Duration{0, 3 * time.Hour, 3 * time.Hour} {
		now = clock().Add(h)
		record(j, named(0, "web", h))
		if i == 2 {
			broke(t, k)
		}
		at = all(t, k, j, at)
	}
	if s := k.State(); s.Kept != 2 || s.Expired != 1 || s.Dropped != 0 || s.Written != 3 || log.count("lost=0") != 1 {
		t.Errorf("%+v: %s", s, &log.text)
	}
}

// What fails while syncs are kept again goes on where it was, and counts nothing twice.
func TestKeepingAgainCanFail(t *testing.T) {
	const n = 2 * commitSize
	k, _ := opened(t, quick())
	j := journal(0)
	record(j, several(n)...)
	at := all(t, k, j, 0)
	away(t, k.path)
	k.leaveMoved()
	if !k.open() {
		t.Fatal(k.State().Error)
	}
	ended, end := context.WithCancel(t.Context())
	if end(); k.restore(ended) || k.State().Kept != 0 {
		t.Error("it is restored after the end")
	}
	no(t, k, "INSERT ON blocks WHEN new.last > 300")
	for range 2 {
		if next, err := k.keepBatch(t.Context(), j, at); next != at || err == nil {
			t.Errorf("up to %d, %v", next, err)
		}
		if s := k.State(); s.Kept != commitSize || s.Dropped != 0 || !strings.Contains(s.Error, "no more") {
			t.Errorf("%+v", s)
		}
	}
	away(t, k.path) // Half of it is gone once more.
	record(j, several(1)...)
	all(t, k, j, at)
	if s := k.State(); s.Kept != n+1 || s.Dropped != 0 || s.Written != n+1 || failing(s) {
		t.Errorf("%+v", s)
	}
}

// Once all is kept again nothing is said to fail, though nothing new comes.
func TestKeepingAgainMendsTheState(t *testing.T) {
	const n = 2 * commitSize
	k, _ := opened(t, quick())
	j := journal(0)
	record(j, several(n)...)
	all(t, k, j, 0)
	away(t, k.path)
	k.leaveMoved()
	if !k.open() {
		t.Fatal(k.State().Error)
	}
	yes := no(t, k, "INSERT ON blocks WHEN new.last > 300")
	if k.ready(t.Context()) || !failing(k.State()) {
		t.Errorf("it has no trouble: %+v", k.State())
	}
	yes()
	if !k.ready(t.Context()) || failing(k.State()) || k.State().Kept != n {
		t.Errorf("%+v", k.State())
	}
}

// What is lost of a journal that has little left is counted once, however many files were gone.
func TestLostOfFilesThatAreGone(t *testing.T) {
	k, log := opened(t, quick())
	j := journal(16)
	at := uint64(0)
	for range 5 {
		record(j, several(10)...)
		at = all(t, k, j, at)
	}
	for range 3 {
		away(t, k.path)
		record(j, several(1)...)
		at = all(t, k, j, at)
	}
	if s := k.State(); s.Written != 53 || s.Kept+s.Dropped != 53 || s.Kept >= 53 || s.Errors != 3 || log.count("kept again") != 3 {
		t.Errorf("%+v: %s", s, &log.text)
	}
}
