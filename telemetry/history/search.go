package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

const (
	// page and maxPage are how many hits a search returns unless told, and at most.
	page, maxPage = 50, 500
	// examine bounds the syncs that a search looks at for one page, where the
	// index and the tables of contents propose more than the query means.
	examine = 4 * maxPage
	// looked bounds the tables of contents that it reads for one page.
	looked = 200
)

// column reads one column of a block's row.
func (r *reader) column(ctx context.Context, statement *sql.Stmt, b *block) (data []byte, err error) {
	switch err = statement.QueryRowContext(ctx, b.id).Scan(&data); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, telemetry.ErrNotKept
	case err != nil:
		return nil, explain(r.path, err)
	}
	return data, nil
}

// listed is what a list says of a sync. The block's list is read once.
func (r *reader) listed(ctx context.Context, e entry) (telemetry.Hit, error) {
	b := e.block
	if b.hits == nil && b.err == nil {
		data, err := r.column(ctx, r.hits, b)
		if err != nil {
			return telemetry.Hit{}, err
		}
		b.hits, b.err = readHits(b.head, data)
	}
	if b.err != nil {
		return telemetry.Hit{Started: moment(e.group), Class: e.class(), Text: "This sync cannot be read back.", Error: b.err.Error()}, b.err
	}
	return b.head.listed(e.index, b.hits, e.class()), nil
}

// record reads a sync of a block. The block is unpacked once.
func (r *reader) record(ctx context.Context, b *block, i int) (wire.Record, error) {
	if b.records == nil && b.err == nil {
		body, err := r.column(ctx, r.body, b)
		if err != nil {
			return wire.Record{}, err
		}
		b.records, b.err = r.codec.records(b.head.Sizes, body)
	}
	if b.err != nil {
		return wire.Record{}, b.err
	}
	return b.records[i], nil
}

// Search lists a page of what the query finds. A sync that cannot be read back is
// listed with its error, so that it is not missed silently.
func (r *reader) Search(ctx context.Context, q telemetry.Query) (telemetry.Hits, error) {
	limit := min(q.Limit, maxPage)
	if limit == 0 {
		limit = page
	}
	s, err := r.scan(ctx, &q, limit+1)
	if err != nil {
		return telemetry.Hits{}, err
	}
	s.budget = looked
	found, last, examined := telemetry.Hits{Hits: []telemetry.Hit{}}, place{}, 0
	err = r.walk(ctx, s, func(e entry) (bool, error) {
		if e.block == nil {
			found.Next = cursor(e.place)
			return false, nil
		}
		if len(found.Hits) == limit || examined == examine {
			found.Next = cursor(last)
			return false, nil
		}
		last, examined = e.place, examined+1
		hit, ok, err := r.hit(ctx, e, &q)
		if ok {
			found.Hits = append(found.Hits, hit)
		}
		return true, err
	})
	return found, err
}

// hit is what a list says of a sync, and whether the query means it.
func (r *reader) hit(ctx context.Context, e entry, q *telemetry.Query) (telemetry.Hit, bool, error) {
	hit, err := r.listed(ctx, e)
	switch {
	case errors.Is(err, errDamaged):
		return hit, true, nil
	case errors.Is(err, telemetry.ErrNotKept):
		return hit, false, nil
	case err != nil || !q.Lists(&hit):
		return hit, false, err
	case e.block.head.exact() || q.Question == "" && q.Cause == "":
		return hit, true, nil
	}
	t, err := r.whole(ctx, e)
	switch {
	case errors.Is(err, errDamaged):
		hit.Text, hit.Error = "This sync cannot be read back.", err.Error()
		return hit, true, nil
	case errors.Is(err, telemetry.ErrNotKept):
		return hit, false, nil
	case err != nil:
		return hit, false, err
	}
	return hit, q.Match(t, e.class()), nil
}

// Each calls visit with every sync that the query finds. What cannot be read
// back is left out, and counted in the error at the end.
func (r *reader) Each(ctx context.Context, q telemetry.Query, visit func(*telemetry.Trace) error) error {
	s, err := r.scan(ctx, &q, page)
	if err != nil {
		return err
	}
	visited, damaged := 0, 0
	err = r.walk(ctx, s, func(e entry) (bool, error) {
		t, err := r.whole(ctx, e)
		switch {
		case errors.Is(err, errDamaged):
			damaged++
			return true, nil
		case errors.Is(err, telemetry.ErrNotKept):
			return true, nil
		case err != nil:
			return false, err
		case !q.Match(t, e.class()):
			return true, nil
		}
		visited++
		return q.Limit == 0 || visited < q.Limit, visit(t)
	})
	if err == nil && damaged > 0 {
		err = fmt.Errorf("history %s: %d syncs cannot be read back and were left out: %w", r.path, damaged, errDamaged)
	}
	return err
}

func (r *reader) whole(ctx context.Context, e entry) (*telemetry.Trace, error) {
	record, err := r.record(ctx, e.block, e.index)
	if err != nil {
		return nil, err
	}
	return whole(record)
}
