package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// A history whose files are removed or moved under its writer fails once, and begins anew with what the
// journal still has. What it has no more is counted.
func TestMovedUnderItsWriter(t *testing.T) {
	for _, c := range []struct {
		name          string
		ends          []string
		kept, dropped uint64
	}{
		{"all", beside, 64, 137},
		{"the database alone", []string{""}, 64, 137},
		{"the log alone", []string{"-wal", "-shm"}, 201, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "h.db")
			j, traces := journal(64), newGenerator(t, 31, 10).many(201)
			pump(t, j)
			k, log, end := running(t, path, quick(), j)
			for i := 0; i < 200; i += 50 { // No more at once than the journal holds.
				record(j, traces[i:i+50]...)
				until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == uint64(i+50) })
			}
			for _, end := range c.ends {
				if err := os.Rename(path+end, path+".away"+end); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			record(j, traces[200])
			until(t, k, "kept again", func(telemetry.ArchiveState) bool { return log.count("kept again") > 0 })
			if s := k.State(); s.Kept != c.kept || s.Dropped != c.dropped || s.Errors != 1 || s.Error != "" {
				t.Errorf("state: %+v, want %d kept and %d dropped after one error", s, c.kept, c.dropped)
			}
			if log.count("removed, moved or replaced") != 1 || log.count("not kept for now") != 1 {
				t.Errorf("the log: %s", log.text.String())
			}
			end()
			file, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if s := file.State(); s.Kept != c.kept {
				t.Errorf("%d syncs are in the file, want %d", s.Kept, c.kept)
			}
		})
	}
}

// What was removed just before the end is found by the last drain.
func TestMovedBeforeTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	j, traces := journal(0), newGenerator(t, 32, 10).many(51) // Nothing wakes the keeper.
	record(j, traces[:50]...)
	k, _, end := running(t, path, quick(), j)
	until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 50 })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	record(j, traces[50])
	end()
	if s := k.State(); s.Dropped != 0 || !strings.Contains(s.Error, "closed") {
		t.Errorf("state: %+v", s)
	}
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if s := file.State(); s.Kept != 51 {
		t.Errorf("%d syncs are in the file, want 51", s.Kept)
	}
}
