package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	lib "modernc.org/sqlite/lib"

	"github.com/loopscope/loopscope/telemetry"
)

// classes are the numbers of classes in the file: none may change.
var classes = map[telemetry.Class]int64{
	telemetry.ClassWrote: 1, telemetry.ClassFailed: 2, telemetry.ClassConflicted: 3, telemetry.ClassSlow: 4, telemetry.ClassQuiet: 5,
}

func classOf(number int64) telemetry.Class {
	for class, n := range classes {
		if n == number {
			return class
		}
	}
	return ""
}

// Store is a history that is written. It is safe for concurrent use; adding and
// trimming wait for each other, reading waits for neither.
type Store struct {
	*reader
	opts Options

	mu                           sync.Mutex // guards the connection that writes, and what follows
	lock, db                     *sql.DB
	conn                         *sql.Conn
	insert, index, forget, unfit *sql.Stmt
	counts                       map[int64]int64 // kept syncs by class
	tight                        bool            // the last change found the file at its bound

	seen sync.Mutex // guards state
	last telemetry.ArchiveState
}

var _ telemetry.Archive = (*Store)(nil)

func (s *Store) prepare(ctx context.Context) (err error) {
	for statement, text := range map[**sql.Stmt]string{
		&s.insert: "INSERT INTO syncs (id, epoch, seq, class, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (epoch, seq) DO NOTHING",
		&s.index:  "INSERT INTO terms (rowid, t) VALUES (?, ?)",
		&s.forget: "DELETE FROM syncs WHERE id = ? RETURNING class",
		&s.unfit:  "DELETE FROM terms WHERE rowid = ?",
	} {
		if *statement, err = s.conn.PrepareContext(ctx, text); err != nil {
			return fmt.Errorf("prepare to write: %w", err)
		}
	}
	return nil
}

// packed is a sync ready to be stored.
type packed struct {
	id, seq, class int64
	epoch          string
	body           []byte
	document       string
}

func (s *Store) pack(t *telemetry.Trace) (packed, error) {
	body, err := s.codec.pack(t)
	if err != nil {
		return packed{}, err
	}
	class := t.Class(s.opts.SlowAfter)
	return packed{id: number(t.Started), seq: int64(t.Seq), class: classes[class], epoch: t.Epoch, body: body, document: document(t, class)}, nil
}

// Add keeps all of these traces or none. One that is kept already is left as it
// is. The traces are only read.
func (s *Store) Add(ctx context.Context, traces ...*telemetry.Trace) error {
	rows := make([]packed, 0, len(traces))
	for _, t := range traces {
		row, err := s.pack(t)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &batch{Store: s, epochs: map[string]int64{}, added: map[int64]int64{}, last: -1}
	err := s.transaction(ctx, func() error {
		for i := range rows {
			if err := b.add(ctx, &rows[i]); err != nil {
				return fmt.Errorf("keep a sync: %w", err)
			}
		}
		return s.count(ctx, b.added)
	})
	if err != nil {
		return explain(s.path, err)
	}
	return s.note(ctx, b.added)
}

// batch is what is added in one transaction.
type batch struct {
	*Store
	epochs map[string]int64 // their numbers
	added  map[int64]int64  // syncs by class
	// first to last are numbers that are known to be taken: a burst of syncs that
	// started in the same instant does not try them one by one, each time.
	first, last int64
}

// add gives the row the first free number from the instant in which its sync
// started, which is nearly always the first.
func (b *batch) add(ctx context.Context, row *packed) error {
	epoch, err := b.epoch(ctx, row.epoch)
	if err != nil {
		return err
	}
	id := row.id
	if b.first <= id && id <= b.last {
		id = b.last + 1
	}
	for ; ; id++ {
		result, err := b.insert.ExecContext(ctx, id, epoch, row.seq, row.class, row.body)
		if extended(err) == lib.SQLITE_CONSTRAINT_PRIMARYKEY {
			continue
		}
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err // It is there already.
		}
		if _, err := b.index.ExecContext(ctx, id, row.document); err != nil {
			return err
		}
		b.added[row.class]++
		if row.id < b.first || b.last < row.id {
			b.first = row.id
		}
		b.last = id
		return nil
	}
}

func (b *batch) epoch(ctx context.Context, name string) (int64, error) {
	if id, ok := b.epochs[name]; ok {
		return id, nil
	}
	var id int64
	if _, err := b.conn.ExecContext(ctx, "INSERT INTO epochs (epoch) VALUES (?) ON CONFLICT DO NOTHING", name); err != nil {
		return 0, err
	}
	if err := b.conn.QueryRowContext(ctx, "SELECT id FROM epochs WHERE epoch = ?", name).Scan(&id); err != nil {
		return 0, err
	}
	b.epochs[name] = id
	return id, nil
}

// count adds to the kept syncs of each class, in the file.
func (s *Store) count(ctx context.Context, change map[int64]int64) error {
	for class, n := range change {
		if _, err := s.conn.ExecContext(ctx, "INSERT INTO counts VALUES (?1, ?2) ON CONFLICT (class) DO UPDATE SET syncs = syncs + ?2", class, n); err != nil {
			return fmt.Errorf("count syncs: %w", err)
		}
	}
	return nil
}

// note takes over what a transaction has changed, once it was committed.
func (s *Store) note(ctx context.Context, change map[int64]int64) error {
	for class, n := range change {
		s.counts[class] += n
	}
	return s.look(ctx)
}

// recount reads the kept syncs of each class.
func (s *Store) recount(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT class, syncs FROM counts")
	if err != nil {
		return fmt.Errorf("count syncs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var class, n int64
		if err := rows.Scan(&class, &n); err != nil {
			return fmt.Errorf("count syncs: %w", err)
		}
		s.counts[class] = n
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("count syncs: %w", err)
	}
	return s.look(ctx)
}

func (s *Store) kept() (n int64) {
	for _, of := range s.counts {
		n += of
	}
	return n
}

// look makes the state that State returns.
func (s *Store) look(ctx context.Context) error {
	state := telemetry.ArchiveState{
		Path: s.path, Kept: uint64(max(0, s.kept())), Bytes: onDisk(s.path), MaxBytes: s.opts.MaxBytes, MaxAge: s.opts.MaxAge,
	}
	var first, last sql.NullInt64
	if err := s.conn.QueryRowContext(ctx, "SELECT (SELECT min(id) FROM syncs), (SELECT max(id) FROM syncs)").Scan(&first, &last); err != nil {
		return explain(s.path, err)
	}
	if first.Valid && last.Valid {
		state.Oldest, state.Newest = moment(first.Int64), moment(last.Int64)
	}
	s.seen.Lock()
	defer s.seen.Unlock()
	s.last = state
	return nil
}

// State is how the history stood after the last change.
func (s *Store) State() telemetry.ArchiveState {
	s.seen.Lock()
	defer s.seen.Unlock()
	return s.last
}

// transaction runs a change that is made as a whole or not at all.
func (s *Store) transaction(ctx context.Context, change func() error) error {
	if s.conn == nil {
		return errors.New("it is closed")
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := change()
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	}
	s.tight = code(err) == lib.SQLITE_FULL
	if err != nil { // SQLite may have rolled back by itself, when this fails.
		_, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// Close ends writing and reading, and lets another process have the file. It
// may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.reader.close(), finalize(s.insert, s.index, s.forget, s.unfit)}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.db, s.lock} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	s.conn, s.db, s.lock = nil, nil, nil
	s.insert, s.index, s.forget, s.unfit = nil, nil, nil, nil
	return errors.Join(errs...)
}
