package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

const (
	// page and maxPage are how many hits a search returns unless told, and at most.
	page, maxPage = 50, 500
	// instant is the unit of rows' numbers: the index keeps the gaps between them,
	// which a finer one would make longer.
	instant = 100 * time.Microsecond
	// slack is by how much a row's number may be above the instant in which its
	// sync started, as several may have started in the same one.
	slack = 4096
	// examine bounds the rows that a search looks at for one page, where the
	// index proposes more than the query means.
	examine = 4 * maxPage
)

// number is the first that a row may have whose sync started then. It rounds
// towards the past.
func number(t time.Time) int64 {
	const each = int64(instant / time.Microsecond)
	n := t.UnixMicro()
	if n < 0 {
		n -= each - 1
	}
	return n / each
}

// moment is about when the sync of a row started.
func moment(number int64) time.Time {
	return time.UnixMicro(number * int64(instant/time.Microsecond)).UTC()
}

// scan is a walk over rows in the order of their numbers.
type scan struct {
	match  string // "" for all rows
	lo, hi int64  // inclusive
	oldest bool   // first
	chunk  int    // read at a time
}

// scanFor reads what bounds a query.
func scanFor(q *telemetry.Query, chunk int) (scan, error) {
	s := scan{lo: math.MinInt64, hi: math.MaxInt64, oldest: q.OldestFirst, chunk: chunk}
	var err error
	if s.match, err = match(q); err != nil {
		return s, err
	}
	if !q.Since.IsZero() {
		s.lo = number(q.Since)
	}
	if !q.Until.IsZero() {
		s.hi = number(q.Until) + slack
	}
	if q.Limit < 0 {
		return s, fmt.Errorf("%w: a limit of %d: give 0 or more", telemetry.ErrBadQuery, q.Limit)
	}
	if q.After != "" {
		after, err := parseCursor(q.After)
		if err != nil {
			return s, err
		}
		s = s.after(after)
	}
	return s, nil
}

// after is the rest of the walk behind a row.
func (s scan) after(id int64) scan {
	if s.oldest {
		s.lo = max(s.lo, min(id, math.MaxInt64-1)+1)
	} else {
		s.hi = min(s.hi, max(id, math.MinInt64+1)-1)
	}
	return s
}

// cursor names a row for the next page.
func cursor(id int64) string { return strconv.FormatInt(id, 36) }

// parseCursor takes what cursor gives and nothing else.
func parseCursor(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 36, 64)
	if err != nil || cursor(id) != text {
		return 0, fmt.Errorf("%w: the cursor is none of a page before: leave it out to begin at the first page", telemetry.ErrBadQuery)
	}
	return id, nil
}

// row is a kept sync as it is stored.
type row struct {
	id    int64
	class telemetry.Class
	body  []byte
}

// walk calls visit with the rows of a scan until it says that it has enough.
// Every chunk is read by itself: a reader that takes its time holds up neither
// the writer nor the emptying of its log. Rows that expire meanwhile are left out.
func (r *reader) walk(ctx context.Context, s scan, visit func(row) (more bool, err error)) error {
	for {
		ids, err := r.ids(ctx, s)
		if err != nil {
			return explain(r.path, err)
		}
		for _, id := range ids {
			row, err := r.read(ctx, id)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return explain(r.path, err)
			}
			if more, err := visit(row); err != nil || !more {
				return err
			}
		}
		if len(ids) < s.chunk {
			return nil
		}
		s = s.after(ids[len(ids)-1])
	}
}

// ids are the next rows of a scan.
func (r *reader) ids(ctx context.Context, s scan) (list []int64, err error) {
	statement, args := r.newestAll, []any{s.lo, s.hi, s.chunk}
	switch {
	case s.match != "" && s.oldest:
		statement, args = r.oldest, append(args, s.match)
	case s.match != "":
		statement, args = r.newest, append(args, s.match)
	case s.oldest:
		statement = r.oldestAll
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, rows.Err()
}

func (r *reader) read(ctx context.Context, id int64) (row, error) {
	found := row{id: id}
	var class int64
	err := r.row.QueryRowContext(ctx, id).Scan(&class, &found.body)
	found.class = classOf(class)
	return found, err
}

// Search lists a page of what the query finds. A row that cannot be read back is
// listed with its error, so that it is not missed silently.
func (r *reader) Search(ctx context.Context, q telemetry.Query) (telemetry.Hits, error) {
	limit := min(q.Limit, maxPage)
	if limit == 0 {
		limit = page
	}
	s, err := scanFor(&q, limit+1)
	if err != nil {
		return telemetry.Hits{}, err
	}
	found, last, examined := telemetry.Hits{Hits: []telemetry.Hit{}}, int64(0), 0
	err = r.walk(ctx, s, func(row row) (bool, error) {
		if len(found.Hits) == limit || examined == examine {
			found.Next = cursor(last)
			return false, nil
		}
		last, examined = row.id, examined+1
		if hit, ok := r.hit(row, &q); ok {
			found.Hits = append(found.Hits, hit)
		}
		return true, nil
	})
	return found, err
}

func (r *reader) hit(row row, q *telemetry.Query) (telemetry.Hit, bool) {
	var o outline
	if err := r.codec.into(row.body, &o); err != nil {
		return telemetry.Hit{Started: moment(row.id), Class: row.class, Text: "This sync cannot be read back.", Error: err.Error()}, true
	}
	t := o.trace() // The index only proposes: it knows words by their hashes and errors by their trigrams.
	return t.Hit(row.class), q.Match(t, row.class)
}

// Each calls visit with every sync that the query finds. Rows that cannot be
// read back are left out, and counted in the error at the end.
func (r *reader) Each(ctx context.Context, q telemetry.Query, visit func(*telemetry.Trace) error) error {
	s, err := scanFor(&q, maxPage)
	if err != nil {
		return err
	}
	visited, damaged := 0, 0
	err = r.walk(ctx, s, func(row row) (bool, error) {
		t, err := r.codec.trace(row.body)
		if errors.Is(err, errDamaged) {
			damaged++
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if !q.Match(t, row.class) {
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
