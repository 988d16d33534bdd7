package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

const (
	// DefaultMaxAge and DefaultMaxBytes are the limits of a history that is given none.
	DefaultMaxAge   = 7 * 24 * time.Hour
	DefaultMaxBytes = 1 << 30
	// MinBytes is the least that a limit may be: below it the log and the index
	// alone would fill it.
	MinBytes = 16 << 20

	pageSize = 8192
	// busyTimeout is how long a reader waits for a writer that begins or ends.
	busyTimeout = 5 * time.Second
	// readersAtOnce bounds the queries that run at the same time.
	readersAtOnce = 4
)

// Options bounds what a history keeps. The zero value of a field is its default.
type Options struct {
	// MaxAge is how long a sync is kept. Default DefaultMaxAge.
	MaxAge time.Duration
	// MaxBytes bounds the file and its log on the disk. Default DefaultMaxBytes.
	MaxBytes int64
	// SlowAfter is the journal's, for the class of a trace. Default 1 s.
	SlowAfter time.Duration
	// Every is the most time between two commits while there is something to commit:
	// it is less where commits are slow. Default 800 ms.
	Every time.Duration
	// Retry is the first pause after a failure; it doubles up to 10 s. Default 1 s.
	Retry time.Duration
	// Clock is read for the age of syncs. Default time.Now.
	Clock func() time.Time
}

func (o Options) withDefaults() Options {
	for field, value := range map[*time.Duration]time.Duration{
		&o.MaxAge: DefaultMaxAge, &o.SlowAfter: time.Second, &o.Every: 800 * time.Millisecond, &o.Retry: time.Second,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	o.MaxBytes = max(o.MaxBytes, MinBytes)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Open opens a history for writing and reading, and makes the file if there is
// none. One Store at a time can have it; Read looks into it meanwhile. The error
// says what to do.
func Open(path string, o Options) (*Store, error) {
	s := &Store{opts: o.withDefaults()}
	if err := s.open(context.Background(), path); err != nil {
		return nil, errors.Join(explain(path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, path string) (err error) {
	if s.closed, err = private(path, true); err != nil {
		return err
	}
	if s.lock, err = takeLock(ctx, path); err != nil {
		return err
	}
	if err := touch(path); err != nil {
		return err
	}
	s.db = database(path, s.pragmas(size(path)))
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if err := create(ctx, s.conn); err != nil {
		return err
	}
	// Readers read while it writes. Only now, as it writes a new file's first page.
	if _, err := s.conn.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return fmt.Errorf("switch to a write-ahead log: %w", err)
	}
	if s.reader, err = openReader(ctx, path, "mode=ro"); err != nil {
		return err
	}
	s.files = standing(path)
	return s.ready(ctx)
}

// pragmas set the writer's connection up. NORMAL syncs at checkpoints alone. The bound on pages is the last resort: Trim works far below it. A
// file that is larger already needs some room to get smaller.
func (s *Store) pragmas(size int64) string {
	log := s.opts.MaxBytes / 32
	return query(
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"synchronous(NORMAL)",
		fmt.Sprintf("journal_size_limit(%d)", log), fmt.Sprintf("wal_autocheckpoint(%d)", min(1000, log/pageSize)),
		fmt.Sprintf("max_page_count(%d)", max(s.opts.MaxBytes, size+s.opts.MaxBytes/4)/pageSize),
		"temp_store(MEMORY)", "cache_size(-2048)",
	)
}

// takeLock holds an empty database beside the file locked until it is closed. A
// lock of SQLite's works on every system, and ends with the process.
func takeLock(ctx context.Context, path string) (*sql.DB, error) {
	path += "-lock"
	if err := touch(path); err != nil {
		return nil, err
	}
	db := database(path, query("busy_timeout(0)", "journal_mode(MEMORY)"))
	db.SetMaxOpenConns(1)
	_, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE")
	if err == nil {
		return db, nil
	}
	if locked(err) {
		err = fmt.Errorf("%w (%w)", errTaken, err)
	}
	return nil, errors.Join(err, db.Close())
}

// touch makes a file that nobody else can read, where there is none: SQLite
// gives the files beside it the same rights.
func touch(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a file: give the path of a file")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w: give a file in a directory that exists and can be written", errUnwritable, err)
	}
	return file.Close()
}

// File is a history that is read alone. It is safe for concurrent use.
type File struct {
	*reader
	still bool // It is read as one that nobody can change.
}

var _ telemetry.Archive = File{}

// Read opens a history for reading, beside a process that writes it or without
// one. The caller closes it.
func Read(path string) (File, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("history %s: %w: give the file of `loopscope manager --history`", path, fs.ErrNotExist)
	} else if err == nil && !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("history %s: it is not a file: give the path of a file", path)
	}
	if _, err := private(path, false); err != nil {
		return File{}, fmt.Errorf("history %s: %w", path, err)
	}
	ctx := context.Background()
	r, err := openReader(ctx, path, "mode=ro")
	if err != nil && size(path+"-wal") == 0 {
		// On a disk that cannot be written there is nobody to wait for either.
		if r, err := openReader(ctx, path, "mode=ro&immutable=1"); err == nil {
			return File{r, true}, nil
		}
	}
	if err != nil {
		return File{}, explain(path, err)
	}
	return File{r, false}, nil
}

// Close ends reading.
func (f File) Close() error { return f.reader.close() }

// database is that of a file, which is opened when it is first asked something.
func database(path, options string) *sql.DB {
	db, _ := sql.Open("sqlite", dsn(path, options)) // It fails without the driver alone.
	return db
}

// dsn is a file's address for the driver.
func dsn(path, options string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + options
}

func query(pragmas ...string) string {
	values := url.Values{}
	for _, p := range pragmas {
		values.Add("_pragma", p)
	}
	return values.Encode()
}

// size of a file, 0 where there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
