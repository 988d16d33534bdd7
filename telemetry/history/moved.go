package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// lookAfter is when a keeper that has nothing to write looks whether its file is still there.
const lookAfter = 10 * time.Second

// errMoved is a file that is no longer where it was opened.
var errMoved = errors.New("its files were removed, moved or replaced while they were in use, and what they held is not kept here any more: move a history only while no manager writes it; a new one is begun")

// standing are the files of a history that is open, by the ends of their names.
func standing(path string) map[string]fs.FileInfo {
	files := map[string]fs.FileInfo{}
	for _, end := range beside {
		if info, err := os.Stat(path + end); err == nil && end != "-journal" { // which comes and goes
			files[end] = info
		}
	}
	return files
}

// inPlace refuses to write files that nobody finds any more: SQLite goes on writing what was
// removed.
func (s *Store) inPlace() error {
	for end, was := range s.files {
		now, err := os.Stat(s.path + end)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(was, now) {
			return errMoved
		}
	}
	return nil
}

// leaveMoved leaves an open file that is no longer where it was. The caller writes.
func (k *Keeper) leaveMoved() {
	if k.store == nil {
		return
	}
	if err := k.store.inPlace(); err != nil {
		k.fail(explain(k.path, err))
	}
}

// next is what the journal recorded after a number, nothing where it is time to look at the file.
func next(ctx context.Context, journal Journal, after uint64) ([]*telemetry.Trace, error) {
	waiting, cancel := context.WithTimeout(ctx, lookAfter)
	defer cancel()
	batch, _, err := journal.Next(waiting, after)
	if err != nil && waiting.Err() != nil {
		return nil, ctx.Err()
	}
	return batch, err
}
