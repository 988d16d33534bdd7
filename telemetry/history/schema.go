package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const (
	// applicationID marks a file as a history ("Lsc4"), so that somebody else's
	// database is never taken for one.
	applicationID = 0x4c736334
	// version is that of the schema and of everything in it. A program reads and writes one.
	version = 2
)

// schema has a row for each block. Its bodies stand by themselves under twice its number,
// that of its quiet syncs under one more. The index keeps no text and no positions: only
// which blocks have a term. It is put in order a little with every commit; all at once,
// which is the fallback, would take seconds.
const schema = `CREATE TABLE blocks (
		id INTEGER PRIMARY KEY,
		epoch TEXT NOT NULL,
		first INTEGER NOT NULL,
		last INTEGER NOT NULL,
		syncs INTEGER NOT NULL,
		quiet INTEGER NOT NULL,
		began INTEGER NOT NULL,
		sets BLOB NOT NULL,
		hits BLOB NOT NULL
	);
	CREATE INDEX blocks_by_number ON blocks (epoch, last, first, syncs, quiet);
	CREATE INDEX blocks_with_quiet ON blocks (id) WHERE quiet > 0;
	CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
	CREATE TABLE names (name TEXT PRIMARY KEY, hour INTEGER NOT NULL) WITHOUT ROWID;
	CREATE VIRTUAL TABLE terms USING fts5 (t, content='', contentless_delete=1, detail=none, tokenize='ascii');
	INSERT INTO terms (terms, rank) VALUES ('automerge', 4), ('crisismerge', 64), ('pgsz', 4000);`

var (
	// errNewer is a file that a later release has written, errOlder one of an earlier release.
	errNewer = errors.New("it was written by a newer release: use that release, or another file")
	errOlder = errors.New("it was written by an earlier release, and nothing in it was changed: export it with that release (loopscope export --history FILE -o OUT), then move it away (with its -wal and -shm); a new one is then created")
	// errForeign is a database that is no history, and errEmpty one of nothing.
	errForeign = errors.New("it is a database of something else: give another file")
	errEmpty   = errors.New("nothing was written to it yet: start the manager on it once")
)

// create makes the tables of a file that has none, in one transaction.
func create(ctx context.Context, db execer) error {
	err := checkSchema(ctx, db)
	if !errors.Is(err, errEmpty) {
		return err
	}
	// Before its first page is written. Freed pages can be given back where a limit is lowered.
	if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL", pageSize)); err != nil {
		return fmt.Errorf("set the pages up: %w", err)
	}
	text := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", schema, applicationID, version)
	if _, err := db.ExecContext(ctx, text); err != nil {
		_, _ = db.ExecContext(ctx, "ROLLBACK") // in vain where BEGIN has failed
		return fmt.Errorf("make its tables: %w", err)
	}
	return nil
}

// checkSchema refuses a file that is none of ours, or none of this version.
func checkSchema(ctx context.Context, db execer) error {
	var is, id, tables int
	if err := db.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)").Scan(&is, &id, &tables); err != nil {
		return fmt.Errorf("read the file's version: %w", err)
	}
	switch {
	case tables == 0 && id == 0 && is == 0:
		return errEmpty
	case id != applicationID:
		return errForeign
	case is > version:
		return fmt.Errorf("version %d, and this program writes %d: %w", is, version, errNewer)
	case is < version:
		return fmt.Errorf("version %d, and this program writes %d: %w", is, version, errOlder)
	}
	return nil
}

// execer is a connection or a pool of them.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
