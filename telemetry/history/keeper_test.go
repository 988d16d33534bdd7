package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// quick makes a test of pauses one of milliseconds.
func quick() Options { return Options{Clock: clock, Every: time.Millisecond, Retry: time.Millisecond} }

// running keeps a journal in a file until end is called.
func running(t *testing.T, path string, o Options, journal Journal) (k *Keeper, log *lines, end func()) {
	t.Helper()
	log = &lines{}
	k = Keep(path, o, log.logger())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx, journal) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return k, log, end
}

// until waits for a state, and fails the test where it does not come.
func until(t *testing.T, k *Keeper, what string, holds func(telemetry.ArchiveState) bool) telemetry.ArchiveState {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		state := k.State()
		if holds(state) {
			return state
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %s after 30 s: %+v", what, state)
		}
		<-time.After(time.Millisecond)
	}
}

func journal(recent int) *telemetry.Journal {
	return telemetry.NewJournal(telemetry.JournalOptions{Recent: recent, Epoch: "7c41"})
}

func record(j *telemetry.Journal, traces ...*telemetry.Trace) {
	for _, t := range traces {
		j.Record(t)
	}
}

func failing(s telemetry.ArchiveState) bool { return s.Error != "" }

// With no pump the journal wakes nobody: what is kept in the end is what the
// last drain found.
func TestLastSyncsAreKeptAtTheEnd(t *testing.T) {
	j, path := journal(0), filepath.Join(t.TempDir(), "h.db")
	k, _, end := running(t, path, quick(), j)
	until(t, k, "open", func(s telemetry.ArchiveState) bool { return s.Bytes > 0 })
	record(j, newGenerator(t, 8, 10).many(300)...)
	end()
	if s := k.State(); s.Written != 300 || s.Dropped != 0 || s.Error == "" {
		t.Errorf("state after the end: %+v", s)
	}
	if _, err := k.Search(t.Context(), telemetry.Query{}); !errors.Is(err, errClosed) {
		t.Errorf("Search after the end: %v", err)
	}
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if s := file.State(); s.Kept != 300 {
		t.Errorf("%d syncs are kept, want 300", s.Kept)
	}
}

func pump(t *testing.T, j *telemetry.Journal) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); j.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// A restart goes on in the same file, and a sync of either run is found.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	for run, epoch := range []string{"aaaa", "bbbb"} {
		j := telemetry.NewJournal(telemetry.JournalOptions{Epoch: epoch})
		pump(t, j)
		k, _, end := running(t, path, quick(), j)
		record(j, newGenerator(t, uint64(run), 10).many(100)...)
		until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 100 })
		if s := k.State(); s.Kept != uint64(100*(run+1)) {
			t.Errorf("run %d: %d syncs are kept", run, s.Kept)
		}
		for _, epoch := range []string{"aaaa", "bbbb"}[:run+1] {
			if got, err := k.Get(t.Context(), epoch, 100); err != nil || got.Epoch != epoch || got.Seq != 100 {
				t.Errorf("run %d: Get(%s, 100) = %v, %v", run, epoch, got, err)
			}
		}
		end()
	}
}

// What the journal's ring could not hold while the file could not be written is
// counted; the failure is said once, and its end, too.
func TestWhatCannotBeKeptIsCounted(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "later")
	j := journal(64)
	pump(t, j)
	k, log, _ := running(t, filepath.Join(folder, "h.db"), quick(), j)
	s := until(t, k, "failing again and again", func(s telemetry.ArchiveState) bool { return s.Errors > 2 })
	if !strings.Contains(s.Error, "give a file in a directory that exists") || s.ErrorSince.IsZero() {
		t.Errorf("error %q since %v", s.Error, s.ErrorSince)
	}
	if _, err := k.AsOf(t.Context(), telemetry.Object{}, clock()); err == nil || !strings.Contains(err.Error(), "directory that exists") {
		t.Errorf("AsOf says %v, want why there is no file", err)
	}
	record(j, newGenerator(t, 9, 10).many(200)...)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s = until(t, k, "caught up", func(s telemetry.ArchiveState) bool { return s.Written+s.Dropped == 200 })
	if s.Written != 64 || s.Dropped != 136 || s.Error != "" || s.Kept != 64 {
		t.Errorf("state: %+v, want the journal's 64 kept and 136 dropped", s)
	}
	if said, over := log.count("not kept for now"), log.count("kept again"); said != 1 || over != 1 {
		t.Errorf("the failure was said %d times, its end %d times", said, over)
	}
}

// A sync that can never be stored is left out, and holds up nothing.
func TestUnfitSync(t *testing.T) {
	j := journal(0)
	pump(t, j)
	k, log, _ := running(t, filepath.Join(t.TempDir(), "h.db"), quick(), j)
	traces := newGenerator(t, 25, 10).many(20)
	traces[7].Ended = time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC) // JSON ends with the year 9999
	traces[9].Failure = &decision.Failure{Message: strings.Repeat("x", maxTrace)}
	record(j, traces...)
	s := until(t, k, "through", func(s telemetry.ArchiveState) bool { return s.Written+s.Dropped == 20 })
	if s.Written != 18 || s.Dropped != 2 || s.Error != "" || log.count("A sync is not kept") != 2 {
		t.Errorf("state: %+v, want 18 kept and 2 dropped", s)
	}
}

// Two programs cannot write one file: the second says so, and takes over when
// the first has ended.
func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	first, err := Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	j := journal(0)
	pump(t, j)
	k, _, _ := running(t, path, quick(), j)
	if s := until(t, k, "refused", failing); strings.Count(s.Error, "another process") != 1 || !strings.Contains(s.Error, "keeps its history there") {
		t.Errorf("error %q", s.Error)
	}
	record(j, newGenerator(t, 10, 10).many(5)...)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 5 && s.Error == "" })
}

// A file that is damaged, foreign or of a later release is left alone, and said
// so; the program goes on. When it was moved away a new one is begun.
func TestFilesThatAreNoHistory(t *testing.T) {
	for _, c := range []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"text", "it is not a database", func(t *testing.T, path string) { write(t, path, []byte(strings.Repeat("hello ", 2000))) }},
		{"a directory", "it is not a file", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"somebody else's database", "database of something else", func(t *testing.T, path string) { alter(t, path, "CREATE TABLE recipes (id); PRAGMA user_version = 1") }},
		{"a later release's", "it was written by a newer release", func(t *testing.T, path string) {
			keepOne(t, path)
			alter(t, path, "PRAGMA user_version = 99")
		}},
		{"a damaged one", "it is damaged", func(t *testing.T, path string) {
			keepOne(t, path)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 200; i < len(data); i++ { // the first page keeps what says that it is a history
				data[i] ^= 0x5a
			}
			write(t, path, data)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "h.db")
			c.make(t, path)
			j := journal(0)
			pump(t, j)
			k, log, _ := running(t, path, quick(), j)
			s := until(t, k, "refused again and again", func(s telemetry.ArchiveState) bool { return s.Errors > 2 })
			if !strings.Contains(s.Error, c.want) || !strings.Contains(s.Error, path) {
				t.Errorf("error %q, want one with %q", s.Error, c.want)
			}
			if f, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Read says %v, want %q", err, c.want)
				_ = f.Close()
			}
			record(j, newGenerator(t, 11, 10).many(3)...)
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			until(t, k, "kept", func(s telemetry.ArchiveState) bool { return s.Written == 3 && s.Error == "" })
			if said := log.count("not kept for now"); said != 1 {
				t.Errorf("the failure was said %d times", said)
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func keepOne(t *testing.T, path string) {
	t.Helper()
	s := open(t, path, quick())
	if err := errors.Join(s.Add(t.Context(), newGenerator(t, 12, 10).many(50)...), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// Nothing that stands in a file can make a reader panic, and what cannot be
// read back is listed as such.
func TestDamagedRows(t *testing.T) {
	traces := newGenerator(t, 13, 10).many(30)
	path := filepath.Join(t.TempDir(), "h.db")
	s := open(t, path, quick())
	for _, trace := range traces { // a block each
		if err := s.Add(t.Context(), trace); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, path, "UPDATE blocks SET body = x'28b52ffd00' WHERE first = 7; UPDATE blocks SET body = zeroblob(300) WHERE first = 8; UPDATE blocks SET head = x'' WHERE first = 9")
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found, err := file.Search(t.Context(), telemetry.Query{})
	damaged := map[uint64]bool{}
	for _, h := range found.Hits {
		if strings.Contains(h.Error, "damaged") {
			damaged[h.Seq] = true
		}
	}
	if err != nil || len(found.Hits) != 30 || !maps.Equal(damaged, map[uint64]bool{0: true}) { // A list does not unpack syncs; the third's number is lost.
		t.Errorf("%d hits, damaged %v, %v", len(found.Hits), damaged, err)
	}
	visited := 0
	if err := file.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error { visited++; return nil }); !errors.Is(err, errDamaged) || visited != 27 {
		t.Errorf("Each = %v after %d, want 27 and that 3 are damaged", err, visited)
	}
	if _, err := file.Get(t.Context(), traces[6].Epoch, 7); !errors.Is(err, errDamaged) {
		t.Errorf("Get of a damaged sync: %v", err)
	}
}

func TestReadWithoutAFile(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "no.db")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--history") {
		t.Errorf("Read = %v", err)
	}
}

// What was written is kept by the journal as the bytes that were written, and is
// read from there as it was.
func TestJournalKeepsWhatWasWrittenAsBytes(t *testing.T) {
	j := journal(0)
	traces := newGenerator(t, 21, 10).many(300)
	want := make([]string, len(traces))
	for i, x := range traces {
		j.Record(x)
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = string(text)
	}
	whole := j.Archive().State().Bytes
	k, _, end := running(t, filepath.Join(t.TempDir(), "h.db"), quick(), j)
	until(t, k, "written", func(s telemetry.ArchiveState) bool { return s.Written == 300 })
	end()
	// What is generated differs by its seed: a sixth to a quarter was seen of ten.
	if packed := j.Archive().State().Bytes; packed > whole/4 {
		t.Errorf("the journal takes %d bytes, and took %d before", packed, whole)
	}
	clear(traces)
	runtime.GC()
	for i := range want {
		x, ok := j.Get(uint64(i + 1))
		if !ok {
			t.Fatalf("sync %d is not there any more", i+1)
		}
		if text, err := json.Marshal(x); err != nil || string(text) != want[i] {
			t.Errorf("sync %d, %v: %s, want %s", i+1, err, text, want[i])
		}
	}
}

// Commits are as rare as what a killed process may lose allows, by the slowest of late.
func TestCommitsAreAsRareAsTheyMayBe(t *testing.T) {
	k := Keep("", Options{}, nil)
	for i, c := range []struct {
		took  time.Duration // by each of so many commits
		times int
		want  time.Duration
	}{
		{10 * time.Millisecond, 1, 562_500 * time.Microsecond}, // One quick commit says little.
		{10 * time.Millisecond, 20, 800 * time.Millisecond},
		{100 * time.Millisecond, 1, 800 * time.Millisecond},
		{300 * time.Millisecond, 1, 400 * time.Millisecond},
		{10 * time.Millisecond, 1, 475 * time.Millisecond},
		{10 * time.Millisecond, 20, 800 * time.Millisecond},
		{3 * time.Second, 1, 100 * time.Millisecond},
	} {
		var got time.Duration
		for range c.times {
			got = k.pause(c.took)
		}
		if got != c.want {
			t.Errorf("%d: the next commit begins %v after the last one, want %v", i, got, c.want)
		}
	}
}
