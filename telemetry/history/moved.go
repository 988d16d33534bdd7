package history

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/loopscope/loopscope/telemetry"
)

// errMoved is a file that is no longer where it was opened.
var errMoved = errors.New("its files were removed, moved or replaced while they were written, and what they held is not kept here any more: move a history only while no manager writes it; a new one is begun")

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

// bookmark is how far a journal was kept before its file was gone, and in which file it is kept.
type bookmark struct {
	file int
	kept uint64
}

// resume is from where a journal is kept: where its file is gone, from the beginning of what the
// journal still has. The caller writes.
func (k *Keeper) resume(journal Journal, after uint64) uint64 {
	p := k.bookmarks[journal]
	if p == nil {
		p = &bookmark{file: k.files}
		k.bookmarks[journal] = p
	}
	if p.file == k.files {
		return after
	}
	p.file, p.kept = k.files, max(p.kept, after)
	return 0
}

// kept is up to where a journal was kept in files that are gone.
func (k *Keeper) kept(journal Journal) uint64 {
	if p := k.bookmarks[journal]; p != nil {
		return p.kept
	}
	return 0
}

// add keeps a batch, and gives the number up to which the journal was kept. The caller writes.
func (k *Keeper) add(ctx context.Context, journal Journal, batch []*telemetry.Trace, after uint64) (uint64, error) {
	if !k.open() { // Another journal's batch has found it broken.
		return after, errNotOpen
	}
	if from := k.resume(journal, after); from != after {
		return from, errMoved
	}
	old, fresh := k.split(journal, batch)
	missed := uint64(0)
	if len(fresh) > 0 {
		missed = lost(journal, max(after, k.kept(journal)), fresh)
	}
	if err := k.keep(ctx, batch, missed); err != nil {
		return k.resume(journal, after), err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone -= min(k.gone, old)
	return batch[len(batch)-1].Seq, nil
}

// split is how many syncs of a batch were in the file that is gone, and those that were not.
func (k *Keeper) split(journal Journal, batch []*telemetry.Trace) (old uint64, fresh []*telemetry.Trace) {
	for i, t := range batch {
		switch {
		case t.Seq > k.kept(journal):
			return old, batch[i:]
		case !t.Standby:
			old++
		}
	}
	return old, nil
}

// account counts what was in files that are gone, once it is known what of it is kept again. The
// keeper is locked.
func (k *Keeper) account() {
	k.tally.Dropped += k.gone
	k.gone = 0
}
