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
func TestVersionsOfFiles(t *testing.T) {
	for _, c := range []struct {
		table       bool
		id, version int
		want        int
		err         error
	}{
		{false, 0, 0, 0, nil}, {true, 0, 0, 0, errForeign}, {false, 7, 0, 0, errForeign}, {false, 0, 3, 0, errForeign}, {true, 7, 3, 0, errForeign},
		{true, applicationID, 0, 0, nil}, {true, applicationID, 2, 2, nil}, {true, applicationID, 3, 3, nil}, {true, applicationID, 4, 0, errNewer}, {false, applicationID, 1, 1, nil},
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
		if version, err := checkSchema(t.Context(), db, 3); version != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v: version %d, %v", c, version, err)
		}
		if err := migrate(t.Context(), db, make([]string, 3)); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.err == nil {
			if version, err := checkSchema(t.Context(), db, 3); version != 3 || err != nil {
				t.Errorf("%+v: version %d after all steps, %v", c, version, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := checkSchema(t.Context(), db, 3); err == nil || !strings.Contains(err.Error(), "read the file's version: ") {
			t.Errorf("a closed file: %v", err)
		}
	}
}
