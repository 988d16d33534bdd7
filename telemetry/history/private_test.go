package history

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOthersHaveNoHandInIt(t *testing.T) {
	open := func(path string) error {
		s, err := Open(path, Options{})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	read := func(path string) error {
		f, err := Read(path)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	try := func(want string, err error) {
		t.Helper()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder, public := t.TempDir(), t.TempDir()
	file := filepath.Join(folder, "h.db")
	must(open(file))
	must(os.Chmod(file, 0o666))
	try("chmod 600", read(file))
	var said strings.Builder
	keeper := Keep(file, Options{}, slog.New(slog.NewTextHandler(&said, nil)))
	if !keeper.open() || !strings.Contains(said.String(), "now have mode 0600") || !strings.Contains(said.String(), "h.db (0666)") {
		t.Errorf("it says %q of a file that others may write", said.String())
	}
	must(keeper.store.Close())
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	try("", read(file))
	try("", os.Chmod(file, 0o644)) // A file may be shown to others.
	try("", read(file))
	link, inner := filepath.Join(public, "h.db"), filepath.Join(public, "folder")
	must(os.Symlink(file, link))
	must(os.Symlink(folder, inner))
	try("", open(link)) // Nobody else can have made it.
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o775} {
		must(os.Chmod(public, mode))
		for _, path := range []string{link, filepath.Join(inner, "h.db")} {
			try("symbolic link in a directory that others may write", open(path))
			try("symbolic link in a directory that others may write", read(path))
		}
	}
	must(os.Symlink(file, filepath.Join(public, "new.db-wal")))
	try("symbolic link", open(filepath.Join(public, "new.db-wal")))
	try("is not a file", open(filepath.Join(public, "new.db")))
	note := filepath.Join(folder, "note")
	must(os.WriteFile(note, []byte("dear diary, today nothing of note"), 0o644))
	try("is not a database", open(note))
	must(os.Link(note, filepath.Join(folder, "link.db")))
	must(os.Truncate(note, 0))
	try("hard link", open(filepath.Join(folder, "link.db")))
	must(os.Link(file, filepath.Join(folder, "other.db")))
	try("hard link", open(file))
	try("", read(file))
	must(os.Remove(filepath.Join(folder, "other.db")))
	if info, err := os.Stat(note); err != nil || info.Mode().Perm() != 0o644 || info.Size() != 0 {
		t.Errorf("a file that is no history has mode %v and %d bytes now, %v", info.Mode(), info.Size(), err)
	}
	must(os.WriteFile(filepath.Join(folder, "new.db-lock"), []byte("4711\n"), 0o644))
	try("new.db-lock: it is not a database", open(filepath.Join(folder, "new.db")))
	if os.Geteuid() == 0 {
		theirs := t.TempDir()
		must(os.Chmod(theirs, 0o755))
		must(os.Symlink(file, filepath.Join(theirs, "h.db")))
		try("", open(filepath.Join(theirs, "h.db")))
		for _, chown := range []string{theirs, filepath.Join(theirs, "h.db")} {
			must(os.Lchown(chown, 65534, 65534))
			try("symbolic link of another user", open(filepath.Join(theirs, "h.db")))
			try("symbolic link of another user", read(filepath.Join(theirs, "h.db")))
			must(os.Lchown(chown, 0, 0))
		}
		must(os.Chown(file, 65534, 65534))
		try("belongs to another user", open(file))
	}
}
