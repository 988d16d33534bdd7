package sight

import (
	"context"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// mostPages bounds the pages of an archive that are searched for one that has something for the viewer.
const mostPages = 25

// archive is an archive as a scope has it.
type archive struct {
	telemetry.Archive
	scope *Scope
}

// Archive is an archive as the viewer sees it. Its state is that of all syncs.
func (s *Scope) Archive(all telemetry.Archive) telemetry.Archive {
	if s == nil {
		return all
	}
	return archive{all, s}
}

// Search lists a page of what the viewer may see. Pages that have nothing of it are passed over, so
// that what is hidden cannot be told from what is not there.
func (a archive) Search(ctx context.Context, q telemetry.Query) (telemetry.Hits, error) {
	q.May = a.scope.Sees
	for page := 1; ; page++ {
		found, err := a.Archive.Search(ctx, q)
		if err != nil || len(found.Hits) > 0 || found.Next == "" || page == mostPages {
			return found, err
		}
		q.After = found.Next
	}
}

// Get reads one sync.
func (a archive) Get(ctx context.Context, epoch string, seq uint64) (*telemetry.Trace, error) {
	return a.seen(a.Archive.Get(ctx, epoch, seq))
}

// AsOf reads the newest sync of an object that had started at a moment.
func (a archive) AsOf(ctx context.Context, o telemetry.Object, at time.Time) (*telemetry.Trace, error) {
	if !a.scope.Sees(o) { // It takes as long as for what does not exist.
		return nil, telemetry.ErrNotKept
	}
	return a.seen(a.Archive.AsOf(ctx, o, at))
}

func (a archive) seen(t *telemetry.Trace, err error) (*telemetry.Trace, error) {
	switch {
	case err != nil:
		return nil, err
	case !a.scope.SeesSync(t):
		return nil, telemetry.ErrNotKept
	}
	return t, nil
}

// Each visits the syncs that the viewer may see.
func (a archive) Each(ctx context.Context, q telemetry.Query, visit func(*telemetry.Trace) error) error {
	q.May = a.scope.Sees
	return a.Archive.Each(ctx, q, func(t *telemetry.Trace) error {
		if !a.scope.SeesSync(t) {
			return nil
		}
		return visit(t)
	})
}
