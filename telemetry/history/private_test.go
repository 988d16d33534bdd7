package history

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
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

// A path goes through as many symbolic links as the system follows, and no more.
func TestLinksAreFollowed(t *testing.T) {
	folder := t.TempDir()
	link := func(i int) string { return filepath.Join(folder, strconv.Itoa(i)) }
	write(t, link(0), nil)
	for i := range maxLinks + 1 {
		if err := os.Symlink(strconv.Itoa(i), link(i+1)); err != nil { // beside it
			t.Fatal(err)
		}
	}
	if _, err := private(link(maxLinks), true); err != nil {
		t.Error(err)
	}
	if _, err := private(link(maxLinks+1), true); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "its path cannot be followed") {
		t.Errorf("through a link more: %v", err)
	}
	inner := filepath.Join(folder, "inner")
	if err := os.Symlink(folder, inner); err != nil { // of a whole path, in the middle of one
		t.Fatal(err)
	}
	if err := linksTrusted(filepath.Join(inner, "inner", "0"), maxLinks-2); err != nil {
		t.Error(err)
	}
	if err := linksTrusted(filepath.Join(inner, "inner", "0"), maxLinks-1); err == nil {
		t.Error("two links are followed where one was left")
	}
}

// Files beside a history are looked at as it is; but the log and its index have a form of their own.
func TestFilesBeside(t *testing.T) {
	const database = "SQLite format 3\x00"
	for name, c := range map[string]struct {
		end, text string
		mode      fs.FileMode
		own       bool
		closed    string
		err       string
	}{
		"a new file":                {"", "", 0o600, true, "", ""},
		"a file of one byte":        {"", "S", 0o600, true, "", "it is not a database"},
		"the name alone":            {"", database[:15], 0o600, true, "", "it is not a database"},
		"the name and a byte":       {"", database[:15] + "x", 0o600, true, "", "it is not a database"},
		"a database":                {"", database, 0o600, true, "", ""},
		"text that is read":         {"", "text", 0o600, false, "", ""},
		"a database that is shown":  {"", database, 0o640, true, "h.db (0640)", ""},
		"one that others may write": {"", database, 0o602, true, "h.db (0602)", ""},
		"one that others may run":   {"", database, 0o601, true, "h.db (0601)", ""},
		"one that is shown":         {"", database, 0o644, false, "", ""},
		"one of the group's":        {"", database, 0o620, false, "", "others may write it (mode 0620)"},
		"one of everybody's":        {"", database, 0o602, false, "", "others may write it (mode 0602)"},
		"a log":                     {"-wal", "text", 0o644, true, "h.db-wal (0644)", ""},
		"its index":                 {"-shm", "text", 0o600, true, "", ""},
		"a journal":                 {"-journal", "text", 0o600, true, "", ""},
		"a lock":                    {"-lock", "text", 0o600, true, "", "h.db-lock: it is not a database"},
		"a lock that is read":       {"-lock", "text", 0o600, false, "", ""},
		"a log that others write":   {"-wal", "text", 0o666, false, "", "others may write it"},
		"a log among others":        {"-wal", "", 0o677, true, "h.db-wal (0677)", ""},
	} {
		path := filepath.Join(t.TempDir(), "h.db")
		write(t, path+c.end, []byte(c.text))
		if err := os.Chmod(path+c.end, c.mode); err != nil {
			t.Fatal(err)
		}
		closed, err := private(path, c.own)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if got := strings.ReplaceAll(strings.Join(closed, " "), path, "h.db"); got != c.closed {
			t.Errorf("%s: closed %q, want %q", name, got, c.closed)
		}
		mode := c.mode
		if c.closed != "" {
			mode &= 0o700
		}
		if info, err := os.Stat(path + c.end); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
	path := filepath.Join(t.TempDir(), "h.db")
	write(t, path, nil)
	if _, err := private(filepath.Join(path, "h.db"), true); err == nil || !strings.Contains(err.Error(), "look at "+path+"/h.db: ") {
		t.Errorf("below a file: %v", err)
	}
	if err := os.Mkdir(path+"-shm", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, own := range []bool{true, false} {
		if _, err := private(path, own); err == nil || !strings.Contains(err.Error(), "h.db-shm: it is not a file") {
			t.Errorf("beside a directory: %v", err)
		}
	}
	if err := isDatabase(filepath.Join(path, "none"), 20); err == nil || !strings.Contains(err.Error(), "look into it: ") {
		t.Errorf("a file that has gone: %v", err)
	}
	for _, own := range []bool{true, false} {
		if err := closeToOthers(path+"none", 0o666, own); err == nil || !strings.Contains(err.Error(), "(mode 0666)") || strings.Contains(err.Error(), "cannot be changed: chmod 600") != own {
			t.Errorf("a file that has gone: %v", err)
		}
	}
}

// A link that others may replace is found before one that they may not: it leads there.
func TestFirstLinkOfAPath(t *testing.T) {
	folder, public := t.TempDir(), t.TempDir()
	file := filepath.Join(folder, "h.db")
	write(t, file, nil)
	for link, to := range map[string]string{filepath.Join(folder, "whole.db"): file, filepath.Join(folder, "beside.db"): "h.db", filepath.Join(public, "inner"): folder} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for mode, want := range map[fs.FileMode]bool{0o700: true, 0o777: false} {
		if err := os.Chmod(public, mode); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"h.db", "whole.db", "beside.db"} {
			if _, err := private(filepath.Join(public, "inner", name), true); err == nil != want || err != nil && !strings.Contains(err.Error(), "inner is a symbolic link in a directory that others may write") {
				t.Errorf("%v %s: %v", mode, name, err)
			}
		}
	}
}

// Links of root and of the user are followed, and nobody else's.
func TestTrustedOwners(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := os.Geteuid() == 0
	if !trusted(info, os.Geteuid()) || trusted(info, os.Geteuid()+1) != root {
		t.Errorf("a directory of user %d: by itself %v, by another one %v", os.Geteuid(), trusted(info, os.Geteuid()), trusted(info, os.Geteuid()+1))
	}
}

// Where a system does not say whose a file is, it is taken for our own.
func TestFilesOfNobody(t *testing.T) {
	info, err := fs.Stat(fstest.MapFS{"h.db": {}}, "h.db")
	if err != nil {
		t.Fatal(err)
	}
	if !ours(info) || !trusted(info, os.Geteuid()) || nlink(info) != 1 {
		t.Errorf("ours %v, trusted %v, with %d names", ours(info), trusted(info, os.Geteuid()), nlink(info))
	}
}
