package history

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

func TestDefaults(t *testing.T) {
	o := Options{MaxAge: -1, SlowAfter: -1, Every: -1, Retry: -1, MaxBytes: -1}.withDefaults()
	o.Clock = nil
	unset := Options{}.withDefaults()
	if now := unset.Clock(); time.Since(now) > time.Minute {
		t.Errorf("the clock says %v", now)
	}
	unset.Clock = nil
	want := fmt.Sprint(Options{MaxAge: 7 * 24 * time.Hour, MaxBytes: 1 << 30, SlowAfter: time.Second, Every: 800 * time.Millisecond, Retry: time.Second})
	if fmt.Sprint(o) != want || fmt.Sprint(unset) != want {
		t.Errorf("defaults %+v and %+v, want %s", unset, o, want)
	}
	o = Options{MaxAge: 1, SlowAfter: 2, Every: 3, Retry: 4, MaxBytes: 1, Clock: clock}.withDefaults()
	if o.MaxAge != 1 || o.SlowAfter != 2 || o.Every != 3 || o.Retry != 4 || o.MaxBytes != MinBytes || o.Clock() != clock() {
		t.Errorf("what is given becomes %+v", o)
	}
	if o := (Options{MaxBytes: MinBytes + 1}).withDefaults(); o.MaxBytes != MinBytes+1 {
		t.Errorf("a limit becomes %d", o.MaxBytes)
	}
}

// The log and the pages of a file are bounded by its limit. A file that is larger already has some room.
func TestPragmas(t *testing.T) {
	for _, c := range []struct {
		limit, size int64
		want        []string
	}{
		{MinBytes, 0, []string{"journal_size_limit(524288)", "wal_autocheckpoint(64)", "max_page_count(2048)"}},
		{2*MinBytes - 1, 0, []string{"journal_size_limit(1048575)", "wal_autocheckpoint(127)", "max_page_count(4095)"}},
		{DefaultMaxBytes, 0, []string{"journal_size_limit(33554432)", "wal_autocheckpoint(1000)", "max_page_count(131072)"}},
		{MinBytes, 3 * MinBytes, []string{"journal_size_limit(524288)", "wal_autocheckpoint(64)", "max_page_count(6656)"}},
	} {
		s := &Store{opts: Options{MaxBytes: c.limit}}
		got, err := url.ParseQuery(s.pragmas(c.size))
		want := slices.Concat([]string{"busy_timeout(5000)", "synchronous(NORMAL)"}, c.want, []string{"temp_store(MEMORY)", "cache_size(-2048)"})
		if err != nil || !slices.Equal(got["_pragma"], want) {
			t.Errorf("%d for a limit of %d: %v, %v, want %v", c.size, c.limit, got, err, want)
		}
	}
	s := filled(t, nil)
	for pragma, want := range map[string]string{"journal_mode": "wal", "page_size": "8192", "auto_vacuum": "2", "busy_timeout": "5000", "synchronous": "1", "wal_autocheckpoint": "1000"} {
		var got string
		if err := s.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", pragma, got, err, want)
		}
	}
	if _, err := s.reader.db.ExecContext(t.Context(), "DELETE FROM blocks"); err == nil {
		t.Error("a reader can write")
	}
	if got := s.reader.db.Stats().MaxOpenConnections; got != readersAtOnce {
		t.Errorf("%d read at once", got)
	}
}

// Each step of opening a file says what it cannot do, and leaves the file free.
func TestOpenSaysWhatFails(t *testing.T) {
	longUnderRace(t)
	path := filepath.Join(t.TempDir(), "h.db")
	if s := open(t, path, quick()); errors.Join(s.Add(t.Context(), named(1, "web", 0)), s.Close()) != nil {
		t.Fatal("the file could not be made")
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ change, open, read string }{
		{"DROP TABLE names", "prepare to read", "prepare to read"},
		{"ALTER TABLE blocks RENAME COLUMN began TO start", "prepare to write", ""},
		{"UPDATE blocks SET syncs = 'many'; UPDATE blocks SET quiet = 0.5", "count syncs", ""},
		{"PRAGMA user_version = 1", "version 1, and this program writes 2: it was written by an earlier release", "version 1, and this program writes 2: it was written by an earlier release"},
		{"PRAGMA user_version = 3", "version 3, and this program writes 2: it was written by a newer release", "version 3, and this program"},
		{"PRAGMA application_id = 5", "database of something else", "database of something else"},
	} {
		write(t, path, whole)
		alter(t, path, c.change)
		file, err := Read(path)
		if err == nil {
			err = file.Close()
		}
		if c.read == "" && err != nil || c.read != "" && (err == nil || !strings.Contains(err.Error(), c.read) || !strings.HasPrefix(err.Error(), "history "+path+": ")) {
			t.Errorf("%s: Read says %v, want %q", c.change, err, c.read)
		}
		if c.open == "" {
			continue
		}
		for range 2 { // What failed holds no lock.
			if _, err := Open(path, quick()); err == nil || !strings.Contains(err.Error(), c.open) || !strings.HasPrefix(err.Error(), "history "+path+": ") {
				t.Errorf("%s: Open says %v, want %q", c.change, err, c.open)
			}
		}
	}
}

func TestFilesThatCannotBeMade(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none", "h.db")
	const want = "give a file in a directory that exists and can be written"
	_, lockErr := takeLock(t.Context(), none)
	_, openErr := Open(none, quick())
	for _, err := range []error{touch(none), lockErr, openErr} {
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := touch(t.TempDir()); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("touch of a directory: %v", err)
	}
	for path, want := range map[string]string{none: "file does not exist: give the file of", t.TempDir(): "it is not a file"} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "history "+path+": "+want) {
			t.Errorf("Read(%s): %v", path, err)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	write(t, empty, nil)
	if _, err := Read(empty); err == nil || !strings.Contains(err.Error(), "start the manager on it once") {
		t.Errorf("an empty file: %v", err)
	}
	write(t, empty+"-lock", []byte("SQLite format 3\x00 and no more"))
	if _, err := Open(empty, quick()); err == nil || !strings.Contains(err.Error(), "it is not a database") {
		t.Errorf("a lock that is no database: %v", err)
	}
	if _, err := takeLock(t.Context(), empty); err == nil || errors.Is(err, errTaken) {
		t.Errorf("takeLock of it: %v", err)
	}
}

// A path may have characters that mean something in an address.
func TestPathsOfAnyCharacters(t *testing.T) {
	t.Chdir(t.TempDir())
	const path = "a b?c=d#e%20&ä.db"
	s, err := Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Add(t.Context(), named(1, "web", 0)), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob("*"); err != nil || !slices.Equal(names, []string{path, path + "-lock"}) {
		t.Errorf("it wrote %q, %v", names, err)
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Get(t.Context(), "e", 1); err != nil {
		t.Error(err)
	}
}

func TestSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	if got := onDisk(path); got != 0 {
		t.Errorf("a file that is not there takes %d bytes", got)
	}
	for i, end := range []string{"", "-wal", "-shm", "-lock"} {
		write(t, path+end, make([]byte, 1<<i))
	}
	if got := onDisk(path); got != 1+2+4 {
		t.Errorf("a file of 1 byte with 6 beside takes %d", got)
	}
}

// A file whose log somebody has yet to write back is not read without it.
func TestReadWithTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	s := open(t, path, quick())
	if err := s.Add(t.Context(), named(1, "web", 0)); err != nil {
		t.Fatal(err)
	}
	if size(path+"-wal") == 0 {
		t.Fatal("there is no log")
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if state := f.State(); state.Kept != 1 || state.Error != "" || state.Path != path || state.Bytes != onDisk(path) || !state.Oldest.Equal(clock()) || !state.Newest.Equal(clock()) {
		t.Errorf("%+v", state)
	}
}

// After the end everything says that it is closed, and a second end is none.
func TestClosed(t *testing.T) {
	s := filled(t, []*telemetry.Trace{named(1, "web", 0)})
	r := s.reader
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, searchErr := r.Search(ctx, telemetry.Query{})
	_, getErr := r.Get(ctx, "e", 1)
	_, asOfErr := r.AsOf(ctx, named(1, "web", 0).Object, clock())
	_, trimErr := s.Trim(ctx, 1)
	for i, err := range []error{searchErr, getErr, asOfErr, r.Each(ctx, telemetry.Query{}, nil), r.Each(ctx, telemetry.Query{OldestFirst: true}, nil), s.Add(ctx, named(2, "web", 0)), trimErr} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if state := r.State(); !strings.Contains(state.Error, "closed") || state.Kept != 0 {
		t.Errorf("%+v", state)
	}
	if err := (*reader)(nil).close(); err != nil {
		t.Errorf("none is closed: %v", err)
	}
}
