package telemetry

import (
	"context"
	"time"
)

// KnownUntil is up to when, at most a moment, the run of a sync has told how it went on: as long as it kept
// syncs in the archive, of whatever object.
func KnownUntil(ctx context.Context, archive Archive, t *Trace, at time.Time) (time.Time, error) {
	next, err := archive.Search(ctx, Query{Since: at.Add(1), OldestFirst: true, Limit: 1})
	if err != nil || len(next.Hits) > 0 && next.Hits[0].Epoch == t.Epoch {
		return at, err
	}
	known, err := newestOf(ctx, archive, t.Epoch, at)
	switch {
	case known.Before(t.Ended):
		known = t.Ended
	case known.After(at):
		known = at
	}
	return known, err
}

// newestOf is when the newest sync of a run ended that had started by a moment, zero where there is none.
func newestOf(ctx context.Context, archive Archive, epoch string, at time.Time) (time.Time, error) {
	for q := (Query{Until: at.Add(1)}); ; {
		page, err := archive.Search(ctx, q)
		for _, h := range page.Hits {
			if h.Epoch == epoch {
				return h.Started.Add(h.Took), nil
			}
		}
		if err != nil || page.Next == "" {
			return time.Time{}, err
		}
		q.After = page.Next
	}
}
