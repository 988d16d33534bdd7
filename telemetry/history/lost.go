package history

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry"
)

// reached notes up to where a journal was kept, or why it was not. That syncs are kept again is said once
// nothing waits any more: before that nobody knows how many were lost.
func (k *Keeper) reached(journal Journal, upto uint64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting[journal] = upto; err != nil {
		return
	}
	if journal.Last()-upto < commitSize {
		delete(k.waiting, journal)
	}
	for j, upto := range k.waiting {
		if upto < j.Last() {
			return
		}
	}
	if k.said && k.tally.Error == "" {
		k.log.Info("Syncs are kept again", "file", k.path, "lost", k.tally.Dropped-k.since)
		k.said = false
	}
}

// lost is how many syncs after a number and up to the end of a batch are not in it: they are kept no longer.
// What Next calls missed is another thing: it counts what a process would have done, and nothing of a record
// that is followed.
func lost(journal Journal, after uint64, batch []*telemetry.Trace) uint64 {
	were := journal.Happened(after, batch[len(batch)-1].Seq)
	return were - min(were, uint64(len(happened(batch))))
}

// happened leaves out what a process would have done while another one led.
func happened(batch []*telemetry.Trace) []*telemetry.Trace {
	return slices.DeleteFunc(slices.Clone(batch), func(t *telemetry.Trace) bool { return t.Standby })
}
