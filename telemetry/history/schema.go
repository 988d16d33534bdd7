package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// applicationID marks a file as a history ("Lsc4"), so that somebody else's
// database is never taken for one.
const applicationID = 0x4c736334

// migrations lead from one version of the schema, their place in the list, to
// the next. None that was released may change.
var migrations = []string{
	// A block's number is the millisecond in which the last sync of its group ended, and
	// its class. The index keeps no text and no positions: only which blocks have a
	// term. It is put in order a little with every commit; all at once, which is the
	// fallback, would take seconds.
	`CREATE TABLE blocks (
		id INTEGER PRIMARY KEY,
		epoch INTEGER NOT NULL,
		first INTEGER NOT NULL,
		last INTEGER NOT NULL,
		syncs INTEGER NOT NULL,
		began INTEGER NOT NULL,
		head BLOB NOT NULL,
		hits BLOB NOT NULL,
		body BLOB NOT NULL
	);
	CREATE INDEX blocks_by_number ON blocks (epoch, last, first);
	CREATE TABLE names (name TEXT PRIMARY KEY, hour INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE epochs (id INTEGER PRIMARY KEY, epoch TEXT NOT NULL UNIQUE);
	CREATE TABLE dictionaries (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
	CREATE TABLE counts (class INTEGER PRIMARY KEY, syncs INTEGER NOT NULL);
	CREATE VIRTUAL TABLE terms USING fts5 (t, content='', contentless_delete=1, detail=none, tokenize='ascii');
	INSERT INTO terms (terms, rank) VALUES ('automerge', 4), ('crisismerge', 64), ('pgsz', 4000);`,
}

// errNewer is a file that a later release has written.
var errNewer = errors.New("it was written by a newer release: use that release, or another file")

// errForeign is a database that is no history.
var errForeign = errors.New("it is a database of something else: give another file")

// migrate brings the schema to the newest version, each step in a transaction.
func migrate(ctx context.Context, db execer, steps []string) error {
	version, err := checkSchema(ctx, db, len(steps))
	if err != nil {
		return err
	}
	// For a new file, before its first page is written. Freed pages can be given
	// back where a limit is lowered.
	if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL", pageSize)); err != nil {
		return fmt.Errorf("set the pages up: %w", err)
	}
	for ; version < len(steps); version++ {
		text := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", steps[version], applicationID, version+1)
		if _, err := db.ExecContext(ctx, text); err != nil {
			_, _ = db.ExecContext(ctx, "ROLLBACK") // in vain where BEGIN has failed
			return fmt.Errorf("bring the file to version %d: %w", version+1, err)
		}
	}
	return nil
}

// checkSchema returns the version of a file, and refuses what is none of ours.
func checkSchema(ctx context.Context, db execer, newest int) (version int, err error) {
	var id, tables int
	if err := db.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)").Scan(&version, &id, &tables); err != nil {
		return 0, fmt.Errorf("read the file's version: %w", err)
	}
	switch {
	case tables == 0 && id == 0 && version == 0:
		return 0, nil
	case id != applicationID:
		return 0, errForeign
	case version > newest:
		return 0, fmt.Errorf("version %d, and this program writes %d: %w", version, newest, errNewer)
	}
	return version, nil
}

// execer is a connection or a pool of them.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
