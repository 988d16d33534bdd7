package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// reader answers questions about a file. It is safe for concurrent use.
type reader struct {
	path string
	db   *sql.DB
	statements
	// What is asked, prepared once.
	newest, oldest, newestAll, oldestAll, head, body, numbered, names *sql.Stmt
}

// openReader opens a file that has to be a history of our version.
func openReader(ctx context.Context, path, mode string) (*reader, error) {
	db := database(path, mode+"&"+query(fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "query_only(1)", "cache_size(-8192)"))
	db.SetMaxOpenConns(readersAtOnce)
	db.SetMaxIdleConns(readersAtOnce)
	r := &reader{path: path, db: db}
	if err := r.ready(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *reader) ready(ctx context.Context) error {
	if err := checkSchema(ctx, r.db); err != nil {
		return err
	}
	const found, all, page = "SELECT rowid FROM terms WHERE terms MATCH ?4 AND rowid >= ?1 AND rowid <= ?2", "SELECT id FROM blocks WHERE id >= ?1 AND id <= ?2", " LIMIT ?3"
	err := r.prepare(ctx, r.db, map[**sql.Stmt]string{
		&r.newest:    found + " ORDER BY rowid DESC" + page,
		&r.oldest:    found + " ORDER BY rowid" + page,
		&r.newestAll: all + " ORDER BY id DESC" + page,
		&r.oldestAll: all + " ORDER BY id" + page,
		&r.head:      "SELECT sets, hits, quiet > 0 FROM blocks WHERE id = ?",
		&r.body:      "SELECT body FROM bodies WHERE id = ?",
		&r.names:     "SELECT name FROM names WHERE instr(name, ?) > 0 LIMIT ?",
		// Blocks reach into each other's numbers, but only those that were kept at about the same time.
		&r.numbered: fmt.Sprintf("SELECT id FROM (SELECT id, first FROM blocks WHERE epoch = ?1 AND last >= ?2 ORDER BY last LIMIT %d) WHERE first <= ?2", besides),
	})
	if err != nil {
		return fmt.Errorf("prepare to read: %w", err)
	}
	return nil
}

func (r *reader) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.finalize(), r.db.Close())
}

// statements are prepared, to be closed together.
type statements []**sql.Stmt

func (s *statements) prepare(ctx context.Context, db interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}, texts map[**sql.Stmt]string) (err error) {
	for statement, text := range texts {
		if *statement, err = db.PrepareContext(ctx, text); err != nil {
			*statement = nil
			return err
		}
		*s = append(*s, statement)
	}
	return nil
}

// finalize closes statements, which the driver does not do with their
// connection: what is left open keeps the file open, and its log undone.
func (s *statements) finalize() error {
	var errs []error
	for _, statement := range *s {
		errs = append(errs, (*statement).Close())
	}
	*s = nil
	return errors.Join(errs...)
}

// Get reads one sync.
func (r *reader) Get(ctx context.Context, epoch string, seq uint64) (*telemetry.Trace, error) {
	ids, err := list[int64](r.numbered.QueryContext(ctx, epoch, int64(seq)))
	if err != nil {
		return nil, explain(r.path, err)
	}
	missing := telemetry.ErrNotKept
	for _, id := range ids {
		b, err := r.block(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, explain(r.path, err)
		}
		list, err := b.list()
		if err != nil { // Another block may have it.
			missing = explain(r.path, err)
			continue
		}
		if i := slices.IndexFunc(list, func(h telemetry.Hit) bool { return h.Seq == seq }); i >= 0 {
			return r.whole(ctx, entry{block: b, index: i})
		}
	}
	return nil, missing
}

// AsOf reads the newest sync of the object that had started at that moment.
func (r *reader) AsOf(ctx context.Context, o telemetry.Object, at time.Time) (*telemetry.Trace, error) {
	q := telemetry.Query{Loop: o.Loop, Namespace: o.Namespace, Name: o.Name, Until: at.Add(1)}
	s, err := scanFor(&q, nil, 4)
	if err != nil {
		return nil, err
	}
	var found *telemetry.Trace
	err = r.walk(ctx, s, func(e entry) (bool, error) {
		t, err := r.whole(ctx, e)
		if errors.Is(err, telemetry.ErrNotKept) { // It has expired meanwhile.
			return true, nil
		}
		found = t
		return false, err
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, telemetry.ErrNotKept
	}
	return found, nil
}

// State is how the file stands now. It reads it, which takes a few milliseconds.
func (r *reader) State() telemetry.ArchiveState {
	ctx, cancel := context.WithTimeout(context.Background(), busyTimeout)
	defer cancel()
	state := telemetry.ArchiveState{Path: r.path, Bytes: onDisk(r.path)}
	var first, last sql.NullInt64
	err := r.db.QueryRowContext(ctx, "SELECT (SELECT ifnull(sum(syncs), 0) FROM blocks), (SELECT began FROM blocks ORDER BY id LIMIT 1), (SELECT max(id) FROM blocks)").Scan(&state.Kept, &first, &last)
	if err != nil {
		state.Error = explain(r.path, err).Error()
		return state
	}
	state.Oldest, state.Newest = span(first, last)
	return state
}

// span is when the first sync of a file started and the last one ended, by what
// the first block says and the last one's number.
func span(began, last sql.NullInt64) (oldest, newest time.Time) {
	if !began.Valid || !last.Valid {
		return
	}
	return time.UnixMicro(began.Int64).UTC(), moment(last.Int64)
}

// onDisk is what the file, its log and the log's index take.
func onDisk(path string) (total int64) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		total += size(path + suffix)
	}
	return total
}
