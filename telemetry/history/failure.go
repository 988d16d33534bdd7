package history

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// errTaken is a file that another process writes.
var errTaken = errors.New("another process keeps its history there: stop that one, or give another file")

// advice is what to do about SQLite's errors, by their primary code.
var advice = map[int]string{
	lib.SQLITE_FULL:     "the disk is full: free some space; it then resumes",
	lib.SQLITE_READONLY: "it cannot be written: give a file on a writable disk, or make it writable for its owner",
	lib.SQLITE_CANTOPEN: "it cannot be opened: give a file in a directory that exists and can be written",
	lib.SQLITE_PERM:     "it cannot be opened: give a file that may be written",
	lib.SQLITE_CORRUPT:  "it is damaged: move it away (with its -wal and -shm); a new one is then created",
	lib.SQLITE_NOTADB:   "it is not a database: move it away or give another file",
	lib.SQLITE_IOERR:    "I/O error: look at the system's log",
	lib.SQLITE_BUSY:     "another process holds it: stop that one, or give another file",
	lib.SQLITE_LOCKED:   "another process holds it: stop that one, or give another file",
}

// explain says which file has the error and what to do.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if text := advice[code(err)]; text != "" && !errors.Is(err, errTaken) { // which says what to do itself
		return fmt.Errorf("history %s: %s (%w)", path, text, err)
	}
	if strings.HasPrefix(err.Error(), path) { // It names the file, or one beside it.
		return fmt.Errorf("history %w", err)
	}
	return fmt.Errorf("history %s: %w", path, err)
}

// code is SQLite's primary error code, 0 for other errors.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// broken reports whether an open file can be of no use any more, so that it is
// worth opening again: it may have been replaced.
func broken(err error) bool {
	switch code(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_CANTOPEN:
		return true
	}
	return errors.Is(err, errMoved)
}

// locked reports whether somebody else holds a lock.
func locked(err error) bool {
	return code(err) == lib.SQLITE_BUSY || code(err) == lib.SQLITE_LOCKED
}
