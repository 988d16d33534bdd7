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
	// looked bounds the tables of contents that it reads for one page, where the index
	// proposes more than the query means.
	looked = 200
)

// Search lists a page of what the query finds. A block that cannot be read back is
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
	found, last := telemetry.Hits{Hits: []telemetry.Hit{}}, place{}
	err = r.walk(ctx, s, func(e entry) (bool, error) {
		switch {
		case e.block == nil:
			found.Next = cursor(e.place)
			return false, nil
		case len(found.Hits) == limit:
			found.Next = cursor(last)
			return false, nil
		}
		last, found.Hits = e.place, append(found.Hits, e.hit())
		return true, nil
	})
	return found, err
}

// hit is what a list says of a sync, or of a block that cannot be read back.
func (e entry) hit() telemetry.Hit {
	if err := e.block.err; err != nil {
		return telemetry.Hit{Started: moment(e.block.id), Text: "This sync cannot be read back.", Error: err.Error()}
	}
	return e.block.hits.Hits[e.index]
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
		}
		visited++
		return q.Limit == 0 || visited < q.Limit, visit(t)
	})
	if err == nil && damaged > 0 {
		err = fmt.Errorf("history %s: %d syncs cannot be read back and were left out: %w", r.path, damaged, errDamaged)
	}
	return err
}

// whole reads a sync. The body that it is in is read and unpacked once.
func (r *reader) whole(ctx context.Context, e entry) (*telemetry.Trace, error) {
	b := e.block
	if b.err != nil {
		return nil, explain(r.path, b.err)
	}
	body := bodyOf(b.hits.Hits[e.index].Class)
	if b.plain[body] == nil {
		var data []byte
		err := r.body.QueryRowContext(ctx, bodyID(b.id, body)).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, telemetry.ErrNotKept
		}
		if err == nil {
			b.plain[body], err = unpack(data)
		}
		if err != nil {
			return nil, explain(r.path, err)
		}
	}
	t, err := b.sync(e.index)
	if err != nil {
		return nil, explain(r.path, fmt.Errorf("%w: %w", errDamaged, err))
	}
	return t, nil
}

// sync reads one of its body, which was unpacked.
func (b *openBlock) sync(i int) (*telemetry.Trace, error) {
	h := b.hits
	body, from := bodyOf(h.Hits[i].Class), 0
	for k, size := range h.Sizes[:i] {
		if bodyOf(h.Hits[k].Class) == body {
			from += size
		}
	}
	if plain := b.plain[body]; from+h.Sizes[i] <= len(plain) {
		t := new(telemetry.Trace)
		return t, wire.Read(plain[from:from+h.Sizes[i]], t)
	}
	return nil, errors.New("its body ends too early")
}
