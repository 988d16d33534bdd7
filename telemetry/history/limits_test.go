package history

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// alter runs SQL on a file that nobody has open.
func alter(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "mode=rwc"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func TestOldSyncsGo(t *testing.T) {
	traces := newGenerator(t, 14, 20).many(2048)
	slices.SortStableFunc(traces, func(a, b *telemetry.Trace) int { return a.Ended.Compare(b.Ended) })
	s := filled(t, traces)
	const old = 5 * syncsPerBlock // of which the last block is not old as a whole
	cut := traces[old-1].Ended.Truncate(instant)
	s.opts.Clock = func() time.Time { return cut.Add(s.opts.MaxAge) }
	left := traces[old-syncsPerBlock:]
	want := model(left, telemetry.Query{})
	gone, err := s.Trim(t.Context(), 100)
	if err != nil || gone != int64(len(traces)-len(want)) {
		t.Errorf("%d went, %v, want %d", gone, err, len(traces)-len(want))
	}
	if got := pages(t, s, telemetry.Query{}, 500); len(got) != len(want) {
		t.Errorf("%d are left, want %d", len(got), len(want))
	}
	for name, q := range queries(traces) {
		q.Since = time.Time{}
		if got, want := len(pages(t, s, q, 500)), len(model(left, q)); got != want {
			t.Errorf("%s: %d found, want %d", name, got, want)
		}
	}
	if state := s.State(); state.Kept != uint64(len(want)) || state.Oldest.After(left[0].Started) {
		t.Errorf("state: %+v", state)
	}
}

// The file stays below its limit however much comes, quiet syncs go first but
// for an eighth, and what the index and the counts say stays right.
func TestFileIsBounded(t *testing.T) {
	longUnderRace(t)
	s := open(t, filepath.Join(t.TempDir(), "h.db"), Options{Clock: clock, MaxBytes: MinBytes})
	s.opts.MaxBytes = MinBytes / 2 // nobody can ask for as little, but it is sooner full
	traces, largest := newGenerator(t, 15, 500).many(250), int64(0)
	for round := range 40 {
		if err := s.Add(t.Context(), again(traces, round)...); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trim(t.Context(), trimChunks); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, onDisk(s.path))
	}
	kept, quiet := s.kept, s.quiet
	t.Logf("10,000 syncs: at most %d bytes on the disk, limit %d; %d kept, %d of them quiet", largest, s.opts.MaxBytes, kept, quiet)
	if largest > s.opts.MaxBytes || kept == 10_000 {
		t.Errorf("%d bytes for a limit of %d, with %d syncs", largest, s.opts.MaxBytes, kept)
	}
	if quiet*quietShare > kept+quietShare*int64(len(traces)) || quiet == 0 {
		t.Errorf("%d of %d are quiet, want about an eighth", quiet, kept)
	}
	if got := len(pages(t, s, telemetry.Query{Class: telemetry.ClassQuiet}, 500)); int64(got) != quiet {
		t.Errorf("%d quiet ones are found, %d counted", got, quiet)
	}
	check(t, s.path)
}

// again is the same syncs as new ones: for what depends on their size alone.
func again(traces []*telemetry.Trace, round int) (list []*telemetry.Trace) {
	for _, t := range traces {
		renamed := *t
		renamed.Seq += uint64(round * len(traces))
		renamed.Started, renamed.Ended = t.Started.Add(time.Duration(round)*time.Second), t.Ended.Add(time.Duration(round)*time.Second)
		list = append(list, &renamed)
	}
	return list
}

// check asks SQLite and its index whether the file is whole.
func check(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "mode=rw&"+query("busy_timeout(5000)")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&text); err != nil || text != "ok" {
		t.Errorf("integrity check: %s, %v", text, err)
	}
	var size int
	if err := db.QueryRowContext(t.Context(), "PRAGMA page_size").Scan(&size); err != nil || size != pageSize {
		t.Errorf("pages of %d bytes, %v", size, err)
	}
	var blocks, indexed, all, known int
	if err := db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM blocks), (SELECT count(*) FROM terms_docsize), (SELECT count(*) FROM bodies), (SELECT count(*) FROM bodies WHERE id / 2 IN (SELECT id FROM blocks))").Scan(&blocks, &indexed, &all, &known); err != nil || blocks != indexed || all != known {
		t.Errorf("%d blocks, %d in the index; %d bodies, %d of them of blocks, %v", blocks, indexed, all, known, err)
	}
}

// A limit set lower than before makes the file smaller.
func TestLowerLimit(t *testing.T) {
	longUnderRace(t)
	path := filepath.Join(t.TempDir(), "h.db")
	s := open(t, path, Options{Clock: clock, MaxBytes: MinBytes})
	traces, round := newGenerator(t, 16, 500).many(500), 0
	for ; onDisk(path) < MinBytes/8*5; round++ {
		if err := s.Add(t.Context(), again(traces, round)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const lower = MinBytes / 2
	s = open(t, path, Options{Clock: clock, MaxBytes: MinBytes})
	s.opts.MaxBytes = lower
	for last := round + 100; round < last; round++ {
		if _, err := s.Trim(t.Context(), trimChunks); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(t.Context(), again(traces[:20], 25*round)...); err != nil {
			t.Fatal(err)
		}
		if onDisk(path) <= lower {
			check(t, path)
			return
		}
	}
	t.Errorf("still %d bytes after the limit was lowered to %d", onDisk(path), lower)
}

// A file that reaches its hard bound says so, and goes on when there is room.
func TestFullByItsOwnBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	j := journal(0)
	pump(t, j)
	k, log, _ := running(t, path, quick(), j)
	record(j, newGenerator(t, 17, 100).many(100)...)
	until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 100 })
	bound(t, k, "(SELECT page_count FROM pragma_page_count)")
	record(j, newGenerator(t, 18, 100).many(500)...)
	s := until(t, k, "full", failing)
	if !strings.Contains(s.Error, "the disk is full") {
		t.Errorf("error %q", s.Error)
	}
	if found, err := k.Search(t.Context(), telemetry.Query{}); err != nil || len(found.Hits) != page {
		t.Errorf("Search while the disk is full: %d hits, %v", len(found.Hits), err)
	}
	bound(t, k, "100000")
	s = until(t, k, "kept again", func(s telemetry.ArchiveState) bool { return s.Written == 600 })
	// A batch that still fits may come between, after which it is full for another time: each is told once.
	if full, again := log.count("not kept for now"), log.count("kept again"); s.Error != "" || s.Dropped != 0 || full < 1 || full != again {
		t.Errorf("state after there was room again, told %d times that it is full, and %d times that it is not: %+v", full, again, s)
	}
	check(t, path)
}

// bound sets how many pages the open file may have.
func bound(t *testing.T, k *Keeper, pages string) {
	t.Helper()
	k.mu.RLock()
	s := k.store
	k.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var n string
	if err := s.conn.QueryRowContext(t.Context(), "SELECT "+pages).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.ExecContext(t.Context(), "PRAGMA max_page_count = "+n); err != nil {
		t.Fatal(err)
	}
}

// mounted is a small disk of its own, where the test may mount one.
func mounted(t *testing.T, options string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk to fill; TestFullByItsOwnBound shows the same error without")
	}
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted here (%v: %s); TestFullByItsOwnBound shows the same error without", err, out)
	}
	t.Cleanup(func() { mount(t, folder, "umount", folder) })
	return folder
}

func mount(t *testing.T, folder string, command ...string) {
	t.Helper()
	if out, err := exec.CommandContext(context.Background(), command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%v of %s: %v: %s", command, folder, err, out)
	}
}

// A real disk that is full, and later is not; then one that turns read-only.
func TestRealDisk(t *testing.T) {
	folder := mounted(t, "size=3m")
	path, filler := filepath.Join(folder, "h.db"), filepath.Join(folder, "filler")
	j := journal(0)
	pump(t, j)
	k, log, end := running(t, path, quick(), j)
	g := newGenerator(t, 19, 100)
	record(j, g.many(50)...)
	until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 50 })
	_ = os.WriteFile(filler, make([]byte, 3<<20), 0o600) // as much as there is room for
	record(j, g.many(600)...)
	if s := until(t, k, "full", failing); !strings.Contains(s.Error, "the disk is full") {
		t.Errorf("error %q", s.Error)
	}
	if found, err := k.Search(t.Context(), telemetry.Query{}); err != nil || len(found.Hits) != page {
		t.Errorf("Search while the disk is full: %d hits, %v", len(found.Hits), err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if s := until(t, k, "kept again", func(s telemetry.ArchiveState) bool { return s.Written == 650 }); s.Error != "" || s.Dropped != 0 {
		t.Errorf("state after there was room again: %+v", s)
	}
	if said := log.count("not kept for now"); said != 1 {
		t.Errorf("the full disk was said %d times", said)
	}
	end()
	check(t, path)

	mount(t, folder, "mount", "-o", "remount,ro", folder)
	k, _, end = running(t, path, quick(), j)
	if s := until(t, k, "refused", failing); !strings.Contains(s.Error, "cannot be written") {
		t.Errorf("error %q on a read-only disk", s.Error)
	}
	if found, err := k.Search(t.Context(), telemetry.Query{}); err != nil || len(found.Hits) != page || k.State().Kept != 650 {
		t.Errorf("Search on a read-only disk: %d hits, %v, %+v", len(found.Hits), err, k.State())
	}
	file, err := Read(path)
	if err != nil {
		t.Fatalf("Read on a read-only disk: %v", err)
	}
	if s := file.State(); s.Kept != 650 || s.Error != "" {
		t.Errorf("state on a read-only disk: %+v", s)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	mount(t, folder, "mount", "-o", "remount,rw", folder)
	until(t, k, "open again", func(s telemetry.ArchiveState) bool { return s.Error == "" })
	end()
}

// contents are all bytes of a file.
func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
