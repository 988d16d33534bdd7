package history

import (
	"context"

	"github.com/loopscope/loopscope/telemetry"
)

// bookmark is how far a journal was kept.
type bookmark struct {
	epoch string
	kept  uint64 // the last sync that was
	// there is up to where what the journal still has is in the file that is open: 0 after one was left.
	there uint64
}

func bookmarkAt(t *telemetry.Trace) bookmark {
	return bookmark{epoch: t.Epoch, kept: t.Seq, there: t.Seq}
}

// fail notes an error of the open file, and leaves that if it is of no use any more. The caller writes.
func (k *Keeper) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed(err)
	k.abandon(err)
}

// abandon closes a file that is of no use any more, so that it is opened anew: it may have been
// replaced. What it held is gone until the next one is known to have it. The caller writes, and the
// keeper is locked.
func (k *Keeper) abandon(err error) {
	if !broken(err) {
		return
	}
	k.gone += uint64(k.store.kept)
	for journal, b := range k.bookmarks {
		b.there = 0
		k.bookmarks[journal] = b
	}
	_ = k.store.Close() // It was broken before.
	k.store = nil
}

// restore keeps again what the open file does not have of what was kept before, as far as the journals
// still have it, and counts the rest as lost. The caller writes.
func (k *Keeper) restore(ctx context.Context) bool {
	for journal := range k.bookmarks {
		if !k.again(ctx, journal) {
			return false
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tally.Dropped += k.gone
	k.gone = 0
	return true
}

// again is restore for one journal. It reports whether that is done.
func (k *Keeper) again(ctx context.Context, journal Journal) bool {
	b := k.bookmarks[journal]
	if b.there == b.kept {
		return true
	}
	has, err := k.store.has(context.WithoutCancel(ctx), b.epoch, b.kept)
	if err != nil {
		k.fail(err)
		return false
	}
	for !has { // Otherwise it is the same file, whatever of it has expired.
		batch := upTo(b.kept, journal.Kept(b.there, commitSize))
		if len(batch) == 0 {
			break
		}
		if ctx.Err() != nil || !k.putAgain(ctx, batch) {
			return false
		}
		b.there = batch[len(batch)-1].Seq
		k.bookmarks[journal] = b
		if k.trim(ctx) != nil {
			return false
		}
	}
	b.there = b.kept
	k.bookmarks[journal] = b
	k.mu.Lock()
	defer k.mu.Unlock()
	k.healthy()
	return true
}

// putAgain writes a batch of what was kept before.
func (k *Keeper) putAgain(ctx context.Context, batch []*telemetry.Trace) bool {
	before := k.store.kept
	if _, err := k.put(ctx, happened(batch)); err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone -= min(k.gone, uint64(k.store.kept-before))
	return true
}

// upTo is what of a batch has numbers up to that one.
func upTo(seq uint64, batch []*telemetry.Trace) []*telemetry.Trace {
	for i, t := range batch {
		if t.Seq > seq {
			return batch[:i]
		}
	}
	return batch
}
