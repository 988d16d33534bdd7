package history

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A file is taken for a history by its mark, and for a new one where it has nothing at all.
// One of another version is left as it is.
func TestVersionsOfFiles(t *testing.T) {
	for _, c := range []struct {
		table       bool
		id, version int
		err         error
	}{
		{false, 0, 0, errEmpty}, {true, 0, 0, errForeign}, {false, 7, 0, errForeign}, {false, 0, version, errForeign}, {true, 7, version, errForeign},
		{true, applicationID, 0, errOlder}, {true, applicationID, version - 1, errOlder}, {true, applicationID, version, nil}, {true, applicationID, version + 1, errNewer}, {false, applicationID, 1, errOlder},
	} {
		db, err := sql.Open("sqlite", dsn(filepath.Join(t.TempDir(), "h.db"), "mode=rwc"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		text := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", c.id, c.version)
		if c.table {
			text += "CREATE TABLE a (b)"
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if err := checkSchema(t.Context(), db); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		err = create(t.Context(), db)
		if empty := c.err == errEmpty; empty && err != nil || !empty && !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.err == errEmpty {
			if err := checkSchema(t.Context(), db); err != nil {
				t.Errorf("%+v: %v after its tables were made", c, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := checkSchema(t.Context(), db); err == nil || !strings.Contains(err.Error(), "read the file's version: ") {
			t.Errorf("a closed file: %v", err)
		}
	}
}

// Tables that cannot be made leave a file of nothing.
func TestTablesAreMadeWhole(t *testing.T) {
	db, err := sql.Open("sqlite", dsn(filepath.Join(t.TempDir(), "h.db"), "mode=rwc&"+query("max_page_count(6)")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := create(t.Context(), db); err == nil || !strings.Contains(err.Error(), "make its tables: ") {
		t.Errorf("create = %v", err)
	}
	if err := checkSchema(t.Context(), db); !errors.Is(err, errEmpty) {
		t.Errorf("after that: %v", err)
	}
}

// What an earlier release has written is refused with what to do, and no byte of it is changed.
func TestEarlierReleases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	alter(t, path, fmt.Sprintf("CREATE TABLE blocks (id INTEGER PRIMARY KEY, body BLOB); INSERT INTO blocks (body) VALUES (x'01'); PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID))
	before := contents(t, path)
	_, openErr := Open(path, quick())
	_, readErr := Read(path)
	for _, err := range []error{openErr, readErr} {
		if !errors.Is(err, errOlder) || !strings.Contains(err.Error(), "history "+path+": version 1") || !strings.Contains(err.Error(), "loopscope export --history") {
			t.Errorf("%v", err)
		}
	}
	if contents(t, path) != before {
		t.Error("the file was changed")
	}
}
