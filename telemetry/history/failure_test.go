package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// SQLite's own errors are said with what to do, and tell whether a file is worth
// opening again, or is somebody else's for now.
func TestErrorsAreExplained(t *testing.T) {
	folder := t.TempDir()
	try := func(name, options string, do func(*sql.DB) error) error {
		db, err := sql.Open("sqlite", dsn(filepath.Join(folder, name), options))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return do(db)
	}
	run := func(text string) func(*sql.DB) error {
		return func(db *sql.DB) error {
			db.SetMaxOpenConns(1)
			_, err := db.ExecContext(t.Context(), text)
			return err
		}
	}
	if err := try("ours", "mode=rwc", run("CREATE TABLE a (b); INSERT INTO a VALUES (1), (2)")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(folder, "ours"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "text"), []byte(strings.Repeat("hello ", 2000)))
	write(t, filepath.Join(folder, "damaged"), append(whole[:4096:4096], make([]byte, 4096)...))
	busy := func(db *sql.DB) error {
		one, err := db.Conn(t.Context())
		if err == nil {
			_, err = one.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		other, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		_, err = other.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		return err
	}
	reading := func(db *sql.DB) error {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		rows, err := conn.QueryContext(t.Context(), "SELECT b FROM a")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		rows.Next()
		_, err = conn.ExecContext(t.Context(), "DROP TABLE a")
		return errors.Join(err, rows.Err())
	}
	for _, c := range []struct {
		err            error
		want           string
		broken, locked bool
	}{
		{try("full", "mode=rwc", run("PRAGMA max_page_count = 2; CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(50000))")), "the disk is full: free some space", false, false},
		{try("ours", "mode=ro", run("DELETE FROM a")), "it cannot be written: give a file on a writable disk", false, false},
		{try("none/ours", "mode=rwc", run("SELECT 1")), "it cannot be opened: give a file in a directory that exists", true, false},
		{try("damaged", "mode=rw", run("SELECT * FROM a")), "it is damaged: move it away", true, false},
		{try("text", "mode=rw", run("DELETE FROM a")), "it is not a database: move it away", true, false},
		{try("ours", "mode=rw", busy), "another process holds it: stop that one", false, true},
		{try("ours", "mode=rw", reading), "another process holds it: stop that one", false, true},
		{try("ours", "mode=rw", run("no SQL")), "syntax error", false, false},
		{fmt.Errorf("%w (%w)", errTaken, try("ours", "mode=rw", busy)), "history f: another process keeps its history there: stop that one, or give another file (data", false, true},
		{context.Canceled, "history f: context canceled", false, false},
		{errors.New("f-lock: it is not a database"), "history f-lock: it is not a database", false, false},
		{nil, "", false, false},
	} {
		err := explain("f", c.err)
		if c.err == nil && (err != nil || c.want != "") || c.err != nil && (!errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), "history f") || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v is explained as %v, want %q", c.err, err, c.want)
		}
		if broken(err) != c.broken || locked(err) != c.locked {
			t.Errorf("%v: broken %v, locked %v", err, broken(err), locked(err))
		}
	}
	if code(context.Canceled) != 0 {
		t.Error("an error that is none of SQLite's has a code of it")
	}
}
