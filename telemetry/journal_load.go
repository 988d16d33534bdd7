package telemetry

import (
	"errors"
	"fmt"
	"math"
)

// LoadJournal is a journal of recorded traces, with the epoch and the numbers
// that they were recorded with; gaps are normal. The traces are of one epoch and
// come in the order of their numbers. What Bytes has no room for is given up,
// the oldest first and the newest never; Window says how many are left. Nothing
// is to be recorded in it: its Last is the newest trace there was.
func LoadJournal(o JournalOptions, traces []*Trace) (*Journal, error) {
	if len(traces) == 0 {
		return nil, errors.New("load journal: there are no traces to show")
	}
	o.Epoch, o.Recent = traces[0].Epoch, 1
	j := NewJournal(o)
	j.loaded = true
	j.began = traces[0].Started
	j.shelves[shelfLoaded].limit = math.MaxInt
	for i, t := range traces {
		switch {
		case t.Epoch != o.Epoch:
			return nil, fmt.Errorf("load journal: trace %d is of epoch %s, and the first of %s: choose one", t.Seq, t.Epoch, o.Epoch)
		case i > 0 && t.Seq <= traces[i-1].Seq:
			return nil, fmt.Errorf("load journal: trace %d comes after trace %d: sort them, and omit the second of two", t.Seq, traces[i-1].Seq)
		}
		j.load(t)
	}
	return j, nil
}

// load puts a trace on a shelf of its own and leaves the ring of recent ones
// empty, as that one has no gaps.
func (j *Journal) load(t *Trace) {
	steered := j.steered(t)
	j.mu.Lock()
	defer j.mu.Unlock()
	if t.Started.Before(j.began) {
		j.began = t.Started
	}
	j.board.keepOwner(t)
	k := j.hold(t, steered)
	j.shelve(k, shelfLoaded, true)
	j.oldest = t.Seq + 1
	j.wrote.note(t)
	j.happened.note(t)
	j.board.put(t)
	j.last.Store(t.Seq)
	// The newest stays, however large it is: readers are told that there is one.
	for s := &j.shelves[shelfLoaded]; j.bytes > j.opts.Bytes && len(s.items)-s.gone > 1; {
		j.unshelve(shelfLoaded)
	}
}
