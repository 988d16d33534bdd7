package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// A history whose files are removed or moved under its writer fails once, and begins anew with what the
// journal still has. What it has no more is counted.
func TestMovedUnderItsWriter(t *testing.T) {
	for _, c := range []struct {
		name string
		ends []string
		held bool // The file still has what was kept.
	}{
		{"all", beside, false},
		{"the database alone", []string{""}, false},
		{"the log alone", []string{"-wal", "-shm"}, true},
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
			kept := uint64(len(j.Kept(0, 1000)))
			if kept <= 64 || kept >= 201 {
				t.Fatalf("the journal has %d syncs", kept)
			}
			if c.held {
				kept = 201
			}
			if s := k.State(); s.Kept != kept || s.Dropped != 201-kept || s.Written != 201 || s.Errors != 1 || s.Error != "" {
				t.Errorf("state: %+v, want %d kept and the rest dropped after one error", s, kept)
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
			if s := file.State(); s.Kept != kept {
				t.Errorf("%d syncs are in the file, want %d", s.Kept, kept)
			}
		})
	}
}

// What was removed just before the end is found by the last drain, also where that has nothing to write.
func TestMovedBeforeTheEnd(t *testing.T) {
	for _, more := range []int{0, 1} {
		path := filepath.Join(t.TempDir(), "h.db")
		j, traces := journal(0), newGenerator(t, 32, 10).many(50+more) // Nothing wakes the keeper.
		record(j, traces[:50]...)
		k, _, end := running(t, path, quick(), j)
		until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 50 })
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		record(j, traces[50:]...)
		end()
		if s := k.State(); s.Dropped != 0 || !strings.Contains(s.Error, "closed") {
			t.Errorf("state: %+v", s)
		}
		file, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if s := file.State(); s.Kept != uint64(50+more) {
			t.Errorf("%d syncs are in the file, want %d", s.Kept, 50+more)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A file that is removed while nothing happens is begun anew within the time of one look.
func TestMovedWhileNothingHappens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	synctest.Test(t, func(t *testing.T) {
		j := journal(0)
		record(j, several(50)...)
		k, log, end := running(t, path, Options{Clock: clock}, j)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, end := range beside {
			if err := os.Remove(path + end); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * lookAfter) // The second look finds that all is well again.
		synctest.Wait()
		if s := k.State(); s.Kept != 50 || s.Dropped != 0 || s.Errors != 1 || s.Error != "" || log.count("lost=0") != 1 {
			t.Errorf("%+v: %s", s, &log.text)
		}
		end()
	})
}
