package subject

import (
	"context"
	"errors"
	"slices"
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
	if err != nil {
		s.warnUnread(o, err, "epoch", epoch, "sync", seq)
	}
	return nil, missing
}

// syncAt is the sync of an object that was the newest at a moment. The journal drops quiet syncs
// between two that it keeps, so the history is asked, too.
func (s *Finder) syncAt(q *page.Query, x *Subject, at time.Time) (*telemetry.Trace, error) {
	if x.OnList && !x.Newest.Started.After(at) {
		return x.Newest, nil
	}
	here := startedBy(x.Kept, at)
	ctx, cancel := context.WithTimeout(q.Ctx, readWithin)
	defer cancel()
	there, err := s.Opts.Archive.AsOf(ctx, x.Object, at)
	switch {
	case here == nil:
		return there, err
	case err != nil:
		s.warnUnread(x.Object, err)
		return here, nil
	case there.Started.After(here.Started):
		return there, nil
	}
	return here, nil
}

// knownUntil is up to when, at most a moment, it is known how it went on after the sync under the cursor: to
// the end of its run, where that is over.
func (s *Finder) knownUntil(q *page.Query, x *Subject, at time.Time) time.Time {
	if !x.Earlier() {
		return at
	}
	ctx, cancel := context.WithTimeout(q.Ctx, readWithin)
	defer cancel()
	known, err := telemetry.KnownUntil(ctx, s.Opts.Archive, x.Cursor, at)
	if err != nil {
		s.warnUnread(x.Object, err)
		return at
	}
	if known.After(at) { // In the middle of the sync.
		return at
	}
	return known
}

// startedBy is the last of the syncs that had started at a moment, nil where none had.
func startedBy(kept []*telemetry.Trace, at time.Time) *telemetry.Trace {
	for _, t := range slices.Backward(kept) {
		if !t.Started.After(at) {
			return t
		}
	}
	return nil
}

// warnUnread logs why the history does not tell of an object, unless it has nothing of it.
func (s *Finder) warnUnread(o telemetry.Object, err error, more ...any) {
	if !errors.Is(err, telemetry.ErrNotKept) {
		s.Opts.Logger.Warn("The history could not be read", append([]any{"key", o.Key(), "error", err}, more...)...)
	}
}
