package subject

import (
	"context"
	"errors"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/page"
)

// readWithin bounds how long one sync is looked for in the history.
const readWithin = 5 * time.Second

// SyncOfAddress is the sync that a permalink names, from the journal or, where
// it is of an earlier run or not kept there any more, from the history.
func (s *Finder) SyncOfAddress(q *page.Query, o telemetry.Object) (*telemetry.Trace, error) {
	seq, err := page.Number(q.Seq)
	if err != nil {
		return nil, badSync(q.Seq, address.Of(o))
	}
	return s.findSync(q, o, q.Epoch, seq)
}

// findSync is the sync of that number in that run; its epoch may be "" for this one.
func (s *Finder) findSync(q *page.Query, o telemetry.Object, epoch string, seq uint64) (*telemetry.Trace, error) {
	var missing error
	if epoch == "" || epoch == s.Journal.Epoch() {
		t, err := s.syncNumber(o, seq)
		if err == nil {
			return t, nil
		}
		epoch, missing = s.Journal.Epoch(), err
	} else {
		missing = s.otherEpoch(epoch, address.Of(o))
	}
	ctx, cancel := context.WithTimeout(q.Ctx, readWithin)
	defer cancel()
	t, err := s.Opts.Archive.Get(ctx, epoch, seq)
	if err == nil && t.Object == o {
		return t, nil
	}
	if err != nil && !errors.Is(err, telemetry.ErrNotKept) {
		s.Opts.Logger.Warn("The history could not be read", "key", o.Key(), "epoch", epoch, "sync", seq, "error", err)
	}
	return nil, missing
}

// syncAt is the sync of an object that was the newest at a moment.
func (s *Finder) syncAt(q *page.Query, o telemetry.Object, kept []*telemetry.Trace, at time.Time) (*telemetry.Trace, error) {
	for i := len(kept) - 1; i >= 0; i-- {
		if !kept[i].Started.After(at) {
			return kept[i], nil
		}
	}
	ctx, cancel := context.WithTimeout(q.Ctx, readWithin)
	defer cancel()
	return s.Opts.Archive.AsOf(ctx, o, at)
}
