package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
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
	for deadline := time.Now().Add(time.Minute); ; {
		state := k.State()
		if holds(state) {
			return state
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %s after a minute: %+v", what, state)
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
	s = until(t, k, "caught up", func(s telemetry.ArchiveState) bool { return s.Written+s.Dropped == 200 && log.count("kept again") > 0 })
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

// Two programs cannot write one file: the second says so, reads it meanwhile, and takes
// over when the first has ended.
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
	if err := first.Add(t.Context(), named(1, "theirs", 0)); err != nil {
		t.Fatal(err)
	}
	if found, err := k.Search(t.Context(), telemetry.Query{}); err != nil || len(found.Hits) != 1 || k.State().Kept != 1 || k.State().Error == "" {
		t.Errorf("%d hits, %v, %+v", len(found.Hits), err, k.State())
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
		{"a directory", "it is not a file: give the path of a file", func(t *testing.T, path string) {
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
		s.tail = nil
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, path, "UPDATE bodies SET body = x'28b52ffd00' WHERE id / 2 = (SELECT id FROM blocks WHERE first = 7); UPDATE bodies SET body = zeroblob(300) WHERE id / 2 = (SELECT id FROM blocks WHERE first = 8); UPDATE blocks SET hits = x'' WHERE first = 9")
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

// Attempts to open the file are a second apart at first, and ten at most.
func TestPausesAfterFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "h.db")
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		k := Keep(path, Options{}, log.logger())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.Run(ctx, journal(0)) }()
		began := time.Now().UTC()
		for i, at := range []time.Duration{0, 1, 3, 7, 15, 25, 35} {
			time.Sleep(time.Until(began.Add(at * time.Second)))
			synctest.Wait()
			if s := k.State(); s.Errors != uint64(i+1) || !s.ErrorSince.Equal(began) {
				t.Errorf("%d attempts after %d s, since %v", s.Errors, at, s.ErrorSince)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := log.count("not kept for now"); got != 1 {
			t.Errorf("it was said %d times", got)
		}
	})
}

// several are syncs to record.
func several(n int) (list []*telemetry.Trace) {
	for range n {
		list = append(list, named(0, "web", 0))
	}
	return list
}

// Between two commits there is a pause, unless more than one commit takes is there already.
func TestPausesBetweenCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	traces := several(2*commitSize - 1)
	synctest.Test(t, func(t *testing.T) {
		k := Keep(path, Options{Clock: clock}, slog.New(slog.DiscardHandler))
		j := journal(0)
		record(j, traces...)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.Run(ctx, j) }()
		kept := func(want uint64) {
			t.Helper()
			synctest.Wait()
			if got := k.State().Written; got != want {
				t.Errorf("%d are written, want %d", got, want)
			}
		}
		kept(commitSize) // The rest is less than a commit takes.
		time.Sleep(562 * time.Millisecond)
		kept(commitSize)
		time.Sleep(time.Millisecond)
		kept(2*commitSize - 1)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		k := Keep(path, Options{Clock: clock}, slog.New(slog.DiscardHandler))
		j := telemetry.NewJournal(telemetry.JournalOptions{Epoch: "more"})
		record(j, append(traces, traces[0])...)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		j.Run(stopped)
		began := time.Now()
		if err := k.Run(t.Context(), j); err != nil { // It ends with the journal.
			t.Error(err)
		}
		if s, took := k.State(), time.Since(began); s.Written != 2*commitSize || s.Dropped != 0 || s.Kept != 0 || took != 562_500*time.Microsecond {
			t.Errorf("after %v: %+v", took, s)
		}
	})
}

// opened is a keeper with its file, as Run has it.
func opened(t *testing.T, o Options) (*Keeper, *lines) {
	t.Helper()
	log := &lines{}
	k := Keep(filepath.Join(t.TempDir(), "h.db"), o, log.logger())
	for range 2 { // The second time it is open.
		if !k.open() {
			t.Fatal(k.State().Error)
		}
	}
	t.Cleanup(func() {
		if k.store != nil {
			if err := k.store.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return k, log
}

// no makes every write into a table fail.
func no(t *testing.T, k *Keeper, event string) (yes func()) {
	t.Helper()
	run := func(text string) {
		t.Helper()
		if _, err := k.store.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TEMP TRIGGER no BEFORE " + event + " BEGIN SELECT RAISE(ABORT, 'no more'); END")
	return func() { run("DROP TRIGGER no") }
}

// A batch that could not be kept is kept the next time, and what was missed meanwhile is
// counted once and said.
func TestBatchesAreKept(t *testing.T) {
	k, log := opened(t, quick())
	j := journal(16)
	keep := func(after, want uint64, fails string) {
		t.Helper()
		got, err := k.keepBatch(t.Context(), j, after)
		if got != want || fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
			t.Errorf("after %d: up to %d, %v", after, got, err)
		}
	}
	tally := func(written, dropped, errors uint64, failed string) {
		t.Helper()
		if s := k.State(); s.Written != written || s.Kept != written || s.Dropped != dropped || s.Errors != errors || !strings.Contains(s.Error, failed) || (s.Error == "") != (failed == "") || s.ErrorSince.IsZero() != (failed == "") {
			t.Errorf("%+v", s)
		}
	}
	record(j, several(5)...)
	keep(0, 5, "")
	tally(5, 0, 0, "")
	yes := no(t, k, "INSERT ON blocks")
	record(j, several(30)...)
	keep(5, 5, "no more")
	keep(5, 5, "no more")
	tally(5, 0, 2, "no more")
	yes()
	keep(5, 35, "")
	tally(21, 14, 2, "")
	if said, lost := log.count("not kept for now"), log.count("lost=14"); said != 1 || lost != 1 {
		t.Errorf("it was said %d times, and %d times that 14 were lost", said, lost)
	}
	record(j, several(1)...)
	keep(35, 36, "")
	if again, warned := log.count("kept again"), log.count("level=WARN"); again != 1 || warned != 0 {
		t.Errorf("it says %d times that syncs are kept again, and warns %d times", again, warned)
	}
	tally(22, 14, 2, "")
	keep(99, 99, telemetry.ErrAhead.Error())
	if err := k.store.Close(); err != nil {
		t.Fatal(err)
	}
	k.store, k.path = nil, filepath.Join(t.TempDir(), "none", "h.db")
	keep(36, 36, errNotOpen.Error())
}

// What is too old goes after each commit, and after one that failed, where it may be what
// the file has no room for. That it could not go is an error of its own.
func TestRoomIsMade(t *testing.T) {
	now := clock()
	k, _ := opened(t, Options{Clock: func() time.Time { return now }, MaxAge: time.Hour, Every: 1})
	j := journal(0)
	late := func(h time.Duration) *telemetry.Trace { now = clock().Add(h); return named(0, "web", h) }
	record(j, late(0))
	if _, err := k.keepBatch(t.Context(), j, 0); err != nil {
		t.Fatal(err)
	}
	record(j, late(3*time.Hour))
	yes := no(t, k, "INSERT ON blocks")
	if after, err := k.keepBatch(t.Context(), j, 1); after != 1 || err == nil || k.State().Expired != 1 {
		t.Errorf("up to %d, %v: %+v", after, err, k.State())
	}
	yes()
	yes = no(t, k, "DELETE ON blocks")
	record(j, late(6*time.Hour), late(6*time.Hour))
	if after, err := k.keepBatch(t.Context(), j, 1); after != 4 || err == nil || !strings.Contains(k.State().Error, "no more") || k.State().Written != 4 {
		t.Errorf("up to %d, %v: %+v", after, err, k.State())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	errs := k.State().Errors
	if err := k.trim(ended); err != nil || k.State().Errors != errs { // The program ends: what is too old goes the next time.
		t.Errorf("%v: %+v", err, k.State())
	}
	if yes(); k.trim(t.Context()) != nil {
		t.Error(k.State().Error)
	}
}

// What can never be stored is left out, and counted; what fails for now is not.
func TestWhatFitsIsKept(t *testing.T) {
	k, _ := opened(t, quick())
	never := named(2, "web", 0)
	never.Ended = time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)
	batch := []*telemetry.Trace{named(1, "web", 0), never, named(3, "web", 0), named(4, "web", 0)}
	yes := no(t, k, "INSERT ON blocks WHEN new.last = 4")
	if written, err := k.keepWhatFits(t.Context(), batch); written != 2 || err == nil || !strings.Contains(err.Error(), "no more") {
		t.Errorf("%d were written, %v", written, err)
	}
	if err := k.keep(t.Context(), batch, 0); err == nil {
		t.Error("what failed is no error")
	}
	yes()
	if err := k.keep(t.Context(), batch, 7); err != nil {
		t.Error(err)
	}
	if s := k.State(); s.Kept != 3 || s.Written != 3 || s.Dropped != 8 {
		t.Errorf("%+v", s)
	}
}

// A file that is of no use any more is closed, and opened anew; one that failed is not.
func TestBrokenFilesAreLeft(t *testing.T) {
	k, _ := opened(t, quick())
	text := filepath.Join(t.TempDir(), "text")
	write(t, text, []byte(strings.Repeat("hello ", 2000)))
	_, noDatabase := openReader(t.Context(), text, "mode=ro")
	for _, c := range []struct {
		err  error
		left bool
	}{{errors.New("no more"), false}, {noDatabase, true}} {
		k.mu.Lock()
		k.abandon(c.err)
		k.mu.Unlock()
		if (k.store == nil) != c.left {
			t.Errorf("%v: closed %v", c.err, k.store == nil)
		}
	}
}

// Until the file is open, and after it was closed, whatever is asked says why there is none.
func TestNothingIsReadOfNoFile(t *testing.T) {
	k := Keep(filepath.Join(t.TempDir(), "none", "h.db"), quick(), slog.New(slog.DiscardHandler))
	asked := func(want string) {
		t.Helper()
		_, searchErr := k.Search(t.Context(), telemetry.Query{})
		_, getErr := k.Get(t.Context(), "e", 1)
		_, asOfErr := k.AsOf(t.Context(), telemetry.Object{}, clock())
		for i, err := range []error{searchErr, getErr, asOfErr, k.Each(t.Context(), telemetry.Query{}, nil)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: %v, want %q", i, err, want)
			}
		}
	}
	asked("the file is not open yet")
	if k.open() {
		t.Fatal("there is no folder for it")
	}
	asked("give a file in a directory that exists")
	if s := k.State(); s.Path != k.path || s.MaxAge != DefaultMaxAge || s.MaxBytes != DefaultMaxBytes || s.Errors != 1 {
		t.Errorf("%+v", s)
	}
	k, _ = opened(t, quick())
	if err := k.store.Add(t.Context(), named(1, "web", 0)); err != nil {
		t.Fatal(err)
	}
	visited := 0
	found, searchErr := k.Search(t.Context(), telemetry.Query{})
	_, getErr := k.Get(t.Context(), "e", 1)
	_, asOfErr := k.AsOf(t.Context(), named(1, "web", 0).Object, clock())
	eachErr := k.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error { visited++; return nil })
	if err := errors.Join(searchErr, getErr, asOfErr, eachErr); err != nil || len(found.Hits) != 1 || visited != 1 {
		t.Errorf("%d hits, %d visited, %v", len(found.Hits), visited, err)
	}
	if err := ends(k, t.Context(), journal(0), 0); err != nil {
		t.Fatal(err)
	}
	asked("it is closed, as the program ends")
}

// A State that waits for the file holds up nobody who writes it.
func TestStateWaitsWithoutTheLock(t *testing.T) {
	k, _ := opened(t, quick())
	db := k.store.reader.db
	var busy []*sql.Conn
	for range readersAtOnce {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		busy = append(busy, c)
	}
	var asking sync.WaitGroup
	asking.Go(func() { k.State() })
	for db.Stats().WaitCount == 0 { // The state waits for one of them.
		time.Sleep(time.Millisecond)
	}
	if !k.mu.TryLock() {
		t.Error("the keeper is locked while its file is read")
	} else {
		k.mu.Unlock()
	}
	for _, c := range busy {
		_ = c.Close()
	}
	asking.Wait()
}

// ends is the end of Run.
func ends(k *Keeper, ctx context.Context, j Journal, after uint64) error {
	k.finish(ctx, j, after)
	return k.close()
}

// At the end what is left is kept, as far as that works, and the rest is counted.
func TestTheEnd(t *testing.T) {
	longUnderRace(t)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name             string
		ctx              context.Context
		after            uint64
		make             func(k *Keeper)
		written, dropped uint64
	}{
		{"all", t.Context(), 0, func(*Keeper) {}, 3, 0},
		{"some", t.Context(), 2, func(*Keeper) {}, 1, 0},
		{"nothing is left", t.Context(), 3, func(*Keeper) {}, 0, 0},
		{"there is no time", gone, 0, func(*Keeper) {}, 0, 3},
		{"it cannot be written", t.Context(), 0, func(k *Keeper) { no(t, k, "INSERT ON blocks") }, 0, 3},
		{"it cannot be opened", t.Context(), 1, func(k *Keeper) {
			if err := k.store.Close(); err != nil {
				t.Fatal(err)
			}
			k.store, k.path = nil, filepath.Join(t.TempDir(), "none", "h.db")
		}, 0, 2},
	} {
		k, _ := opened(t, quick())
		j := journal(0)
		record(j, several(3)...)
		c.make(k)
		began := time.Now()
		err := ends(k, c.ctx, j, c.after)
		if s := k.State(); err != nil || s.Written != c.written || s.Dropped != c.dropped || s.Error == "" || k.store != nil || time.Since(began) > lastDrain {
			t.Errorf("%s: %v, %+v", c.name, err, s)
		}
	}
	k, _ := opened(t, quick())
	if err := k.store.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ends(k, t.Context(), journal(0), 0); err == nil || !strings.HasPrefix(err.Error(), "history "+k.path+": close: ") {
		t.Errorf("it cannot be closed: %v", err)
	}
	j := journal(16)
	record(j, several(20)...)
	k, _ = opened(t, quick())
	if err := ends(k, t.Context(), j, 0); err != nil || k.State().Written != 16 || k.State().Dropped != 4 {
		t.Errorf("%v, %+v", err, k.State())
	}
}

// Two journals are kept in one file, a sync that comes again once, and nothing of what a process
// would have done while another one led.
func TestAlso(t *testing.T) {
	k := Keep(filepath.Join(t.TempDir(), "h.db"), quick(), slog.New(slog.DiscardHandler))
	own := telemetry.NewJournal(telemetry.JournalOptions{Epoch: "own"})
	record(own, several(3)...)
	standby := named(0, "web", 0)
	standby.Standby = true
	record(own, standby)
	follow := func() *telemetry.Journal {
		j := telemetry.FollowJournal(telemetry.JournalOptions{Epoch: "leader"})
		for _, seq := range []uint64{3, 5, 6} {
			x := named(int(seq), "web", 0)
			x.Epoch = "leader"
			j.Follow(x)
		}
		return j
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 2 { // As after a restart.
		if !k.open() {
			t.Fatal("it is not open")
		}
		k.Also(ended, follow())
	}
	if err := k.Run(ended, own); err != nil {
		t.Fatal(err)
	}
	f, err := Read(k.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string][]uint64{}
	if err := f.Each(t.Context(), telemetry.Query{OldestFirst: true}, func(x *telemetry.Trace) error {
		got[x.Epoch] = append(got[x.Epoch], x.Seq)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got["own"], []uint64{1, 2, 3}) || !slices.Equal(got["leader"], []uint64{3, 5, 6}) {
		t.Errorf("kept are %v", got)
	}
	if s := k.State(); s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
}
