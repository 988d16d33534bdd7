package history

import (
	"errors"
	"io/fs"
	"os"

	lib "modernc.org/sqlite/lib"
)

// errUnwritable is a file that cannot be opened for writing, or made.
var errUnwritable = errors.New("it cannot be written")

// heldFile is a history that is read while it cannot be written.
type heldFile struct {
	File
	is fs.FileInfo
}

// readMeanwhile has the file read while it cannot be opened for writing, for that error, as others write it or its disk
// is read-only: what was kept is there. A file that is refused for what it is is not read. The caller writes.
func (k *Keeper) readMeanwhile(err error) {
	was := k.held // Nobody else sets it.
	if was != nil && onlyHeld(err) && was.inPlace(k.path) && (!was.still || !errors.Is(err, errTaken)) {
		return
	}
	var held *heldFile
	if onlyHeld(err) {
		held = readHeld(k.path)
	}
	k.mu.Lock()
	k.held = held
	k.mu.Unlock()
	if was != nil {
		_ = was.Close()
	}
}

// onlyHeld reports whether an error of Open leaves a file that can be read.
func onlyHeld(err error) bool {
	return errors.Is(err, errTaken) || errors.Is(err, errUnwritable) || code(err) == lib.SQLITE_READONLY || code(err) == lib.SQLITE_BUSY
}

// readHeld is the file, nil where it cannot be read.
func readHeld(path string) *heldFile {
	is, err := os.Stat(path)
	if err != nil {
		return nil
	}
	f, err := Read(path)
	if err != nil {
		return nil
	}
	return &heldFile{f, is}
}

// inPlace reports whether the file that is read is still there.
func (h *heldFile) inPlace(path string) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(h.is, now)
}
