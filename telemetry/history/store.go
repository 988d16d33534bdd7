package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	lib "modernc.org/sqlite/lib"

	"github.com/loopscope/loopscope/telemetry"
)

// Store is a history that is written. It is safe for concurrent use; adding and
// trimming wait for each other, reading waits for neither.
type Store struct {
	*reader
	opts Options
	// closed are the files that others could use before it was opened.
	closed []string
	// files are those that were opened.
	files map[string]fs.FileInfo

	mu       sync.Mutex // guards the connection that writes, and what follows
	lock, db *sql.DB
	conn     *sql.Conn
	// What is written and asked with every commit, prepared once.
	statements
	begin, commit, insert, body, taken, there, index, name, bounds *sql.Stmt

	newest      int64 // the number of the last block
	kept, quiet int64 // syncs, and those of them that are quiet
	names       names
	tail        *block // the last one, while it has few syncs
	room        room
	extent      extent
	tight       bool // the last change found the file at its bound
}

// extent is how far the file reaches, as the last change left it.
type extent struct {
	last, began sql.NullInt64 // the number of the last block, and when the first began in Unix microseconds
	pages, free int64
}

var _ telemetry.Archive = (*Store)(nil)

var errShut = errors.New("it is closed")

func (s *Store) ready(ctx context.Context) error {
	err := s.prepare(ctx, s.conn, map[**sql.Stmt]string{
		&s.begin:  "BEGIN IMMEDIATE",
		&s.commit: "COMMIT",
		&s.insert: "INSERT INTO blocks (id, epoch, first, last, syncs, quiet, began, sets, hits) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&s.body:   "INSERT INTO bodies (id, body) VALUES (?, ?)",
		&s.taken:  "SELECT EXISTS (SELECT 1 FROM blocks WHERE id = ?)",
		&s.there:  "SELECT hits FROM blocks WHERE epoch = ? AND last >= ? AND first <= ?",
		&s.index:  "INSERT INTO terms (rowid, t) VALUES (?, ?)",
		&s.name:   "INSERT INTO names VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET hour = excluded.hour WHERE excluded.hour > hour",
		&s.bounds: "SELECT (SELECT began FROM blocks ORDER BY id LIMIT 1), (SELECT max(id) FROM blocks), (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count)",
	})
	if err != nil {
		return fmt.Errorf("prepare to write: %w", err)
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT ifnull(sum(syncs), 0), ifnull(sum(quiet), 0) FROM blocks").Scan(&s.kept, &s.quiet); err != nil {
		return fmt.Errorf("count syncs: %w", err)
	}
	return s.look(ctx)
}

// Add keeps all of these traces or none, in this order. One that is kept already
// is left as it is. The traces are only read.
func (s *Store) Add(ctx context.Context, traces ...*telemetry.Trace) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	traces, err := s.unstored(ctx, traces)
	if err != nil {
		return explain(s.path, err)
	}
	list, err := s.divide(traces)
	if err != nil {
		return err
	}
	err = s.transaction(ctx, func() error {
		for _, b := range list {
			if err := s.keep(ctx, b); err != nil {
				return fmt.Errorf("keep syncs: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		s.names.hours = nil // What the file has now, it says itself.
		return explain(s.path, err)
	}
	for _, b := range list {
		more, hushed := b.syncs[remarkable]-b.stored[remarkable], b.syncs[quiet]-b.stored[quiet]
		s.kept, s.quiet, b.stored = s.kept+more+hushed, s.quiet+hushed, b.syncs
		if s.tail = nil; len(b.hits.Hits) < few {
			s.tail = b
		}
	}
	return s.look(ctx)
}

// unstored leaves out what is kept already.
func (s *Store) unstored(ctx context.Context, traces []*telemetry.Trace) ([]*telemetry.Trace, error) {
	if s.conn == nil {
		return nil, errShut
	}
	numbers := map[string][2]uint64{} // the first and the last of each epoch
	for _, t := range traces {
		n, ok := numbers[t.Epoch]
		if !ok {
			n = [2]uint64{t.Seq, t.Seq}
		}
		numbers[t.Epoch] = [2]uint64{min(n[0], t.Seq), max(n[1], t.Seq)}
	}
	type sync struct {
		epoch string
		seq   uint64
	}
	known := map[sync]bool{}
	for epoch, n := range numbers {
		lists, err := list[[]byte](s.there.QueryContext(ctx, epoch, int64(n[0]), int64(n[1])))
		if err != nil {
			return nil, err
		}
		for _, data := range lists {
			if h, err := readHits(data); err == nil { // What is damaged is kept once more.
				for i := range h.Hits {
					known[sync{epoch, h.Hits[i].Seq}] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(traces), func(t *telemetry.Trace) bool { return known[sync{t.Epoch, t.Seq}] }), nil
}

// has reports whether a sync is there, by the numbers of blocks alone.
func (s *Store) has(ctx context.Context, epoch string, seq uint64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	blocks, err := list[[]byte](s.there.QueryContext(ctx, epoch, int64(seq), int64(seq)))
	return len(blocks) > 0, explain(s.path, err)
}

// keep writes a block under the first free number from the moment at which its last sync
// ended, which is nearly always the first, or in the place of what the file has of it.
func (s *Store) keep(ctx context.Context, b *block) (err error) {
	id := b.id
	if id != 0 {
		_, err = s.conn.ExecContext(ctx, dropBlock+"; DELETE FROM terms WHERE rowid = ?1", id, bodyID(id, remarkable), bodyID(id, quiet))
	} else {
		id, err = s.free(ctx, b.number())
	}
	if err != nil {
		return err
	}
	syncs := b.syncs[remarkable] + b.syncs[quiet]
	if _, err := s.insert.ExecContext(ctx, id, b.epoch, int64(b.first), int64(b.last), syncs, b.syncs[quiet], b.began, b.table, b.list); err != nil {
		return err
	}
	for body, packed := range b.packed {
		if packed == nil {
			continue
		}
		if _, err := s.body.ExecContext(ctx, bodyID(id, body), packed); err != nil {
			return err
		}
	}
	if _, err := s.index.ExecContext(ctx, id, b.words); err != nil {
		return err
	}
	b.id, s.newest, s.extent.last.Int64 = id, id, max(s.extent.last.Int64, id)
	return s.learn(ctx, b, id)
}

// bodyID is the number of one of a block's bodies.
func bodyID(block int64, body int) int64 { return bodies*block + int64(body) }

// free is the first number from there that no block has. Blocks that end in
// about the same moment stand in the order in which they came.
func (s *Store) free(ctx context.Context, n int64) (int64, error) {
	if n <= s.newest && s.newest-n < int64(adrift/instant) {
		n = s.newest + 1
	}
	for ; n <= max(s.newest, s.extent.last.Int64); n++ {
		var taken bool
		if err := s.taken.QueryRowContext(ctx, n).Scan(&taken); err != nil || !taken {
			return n, err
		}
	}
	return n, nil
}

// look reads how far the file reaches.
func (s *Store) look(ctx context.Context) error {
	x := &s.extent
	return explain(s.path, s.bounds.QueryRowContext(ctx).Scan(&x.began, &x.last, &x.pages, &x.free))
}

// State is how the file stands now, with its limits.
func (s *Store) State() telemetry.ArchiveState {
	state := s.reader.State()
	state.MaxBytes, state.MaxAge = s.opts.MaxBytes, s.opts.MaxAge
	return state
}

// transaction runs a change that is made as a whole or not at all.
func (s *Store) transaction(ctx context.Context, change func() error) error {
	if _, err := s.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := change()
	if err == nil {
		_, err = s.commit.ExecContext(ctx)
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
	errs := []error{s.reader.close(), s.finalize()}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.db, s.lock} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	s.conn, s.db, s.lock, s.files = nil, nil, nil, nil
	return errors.Join(errs...)
}
