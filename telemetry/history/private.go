package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// beside are the ends of the names of all files of a history.
var beside = []string{"", "-wal", "-shm", "-journal", "-lock"}

// private refuses a history that others have a hand in: a symbolic link that others made
// or may replace, which may lead anywhere; and where own, so that it is going to be
// written, a file of another user, one that has other names, and one that is no database.
// Files of our own that others may read or write are closed to them where own, as a
// volume's group opens them with every mount; one that is only read is refused where
// others may write it. closed are the files whose mode was changed, with the mode before.
func private(path string, own bool) (closed []string, err error) {
	if err := linksTrusted(path, 0); err != nil {
		return nil, err
	}
	for _, end := range beside {
		info, err := os.Lstat(path + end)
		if end == "" {
			info, err = os.Stat(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return closed, fmt.Errorf("look at %s: %w", path+end, err)
		case info.IsDir():
			return closed, fmt.Errorf("%s: it is not a file: give the path of a file", path+end)
		case !info.Mode().IsRegular():
			return closed, fmt.Errorf("%s: it is not a file: remove it, or give another file", path+end)
		case own && nlink(info) > 1:
			return closed, fmt.Errorf("%s has other names (hard links), which would show what is written: remove it, or give another file", path+end)
		case own && !ours(info):
			return closed, fmt.Errorf("%s belongs to another user, who can change what is in it: run as that user, remove it, or give another file", path+end)
		}
		if own && (end == "" || end == "-lock") { // The others have another form.
			if err := isDatabase(path+end, info.Size()); err != nil {
				return closed, err
			}
		}
		mode := info.Mode().Perm()
		if err := closeToOthers(path+end, mode, own); err != nil {
			return closed, err
		}
		if own && mode&0o077 != 0 {
			closed = append(closed, fmt.Sprintf("%s (%04o)", path+end, mode))
		}
	}
	return closed, nil
}

// isDatabase refuses a file that was not begun by SQLite, before anything is changed of it.
func isDatabase(path string, size int64) error {
	if size == 0 {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("look into it: %w", err)
	}
	defer file.Close()
	const begin = "SQLite format 3\x00"
	head := make([]byte, len(begin))
	if _, err := io.ReadFull(file, head); err != nil || string(head) != begin {
		return fmt.Errorf("%s: it is not a database: move it away or give another file", path)
	}
	return nil
}

func closeToOthers(file string, mode fs.FileMode, own bool) error {
	switch {
	case own && mode&0o077 != 0:
		if err := os.Chmod(file, mode&0o700); err != nil {
			return fmt.Errorf("others may use it (mode %04o), and that cannot be changed: chmod 600 %s: %w", mode, file, err)
		}
	case !own && mode&0o022 != 0:
		return fmt.Errorf("others may write it (mode %04o), so nobody knows who wrote what is in it: chmod 600 %s if you trust it", mode, file)
	}
	return nil
}

// maxLinks is how many symbolic links one path may go through.
const maxLinks = 40

// linksTrusted refuses a path through a symbolic link that belongs to another user than
// root, or stands in a directory of one or in one which others may write, sticky or not:
// whoever made the link chooses the file.
func linksTrusted(path string, links int) error {
	path, err := filepath.Abs(path)
	if err != nil || links > maxLinks {
		return fmt.Errorf("its path cannot be followed: %w", errors.Join(err, fs.ErrInvalid))
	}
	var list []string
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		list = append(list, at)
	}
	for _, at := range slices.Backward(list) { // The first link leads to those behind it.
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // What is not there is no link.
		}
		folder := filepath.Dir(at)
		in, err := os.Stat(folder)
		switch {
		case err == nil && in.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("%s is a symbolic link in a directory that others may write: give the path of the file itself", at)
		case err == nil && !trusted(in, os.Geteuid()), !trusted(info, os.Geteuid()):
			return fmt.Errorf("%s is a symbolic link of another user: give the path of the file itself", at)
		}
		target, err := os.Readlink(at)
		if err != nil {
			return fmt.Errorf("follow %s: %w", at, err)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(folder, target)
		}
		return linksTrusted(filepath.Join(target, path[len(at):]), links+1)
	}
	return nil
}
