package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

const (
	// instant is the unit of groups' numbers: the index keeps the gaps between
	// them, which a finer one would make longer.
	instant = time.Millisecond
	// adrift is within which time groups may end in another order than that in
	// which they are kept.
	adrift = time.Second
	// besides bounds how many blocks are looked through for a number.
	besides = 1000
)

// number is that of a group that ended then. It rounds towards the past.
func number(t time.Time) int64 {
	const each = int64(instant / time.Microsecond)
	n := t.UnixMicro()
	if n < 0 {
		n -= each - 1
	}
	return n / each
}

// moment is about when the last sync of a group ended.
func moment(number int64) time.Time {
	return time.UnixMicro(number * int64(instant/time.Microsecond)).UTC()
}

// scan is a walk over blocks in the order of their numbers.
type scan struct {
	query  *telemetry.Query // nil for all syncs
	match  match
	lo, hi int64  // inclusive
	oldest bool   // first
	chunk  int    // blocks read at a time
	after  *place // begin behind this one
	budget int    // blocks to look at before it asks whether to go on; 0 for all
}

// place is that of a sync: its group's number, and its place there.
type place struct {
	group int64
	at    int
}

// scan reads what bounds a query.
func (r *reader) scan(ctx context.Context, q *telemetry.Query, chunk int) (scan, error) {
	names, err := r.named(ctx, q.NamePart)
	if err != nil {
		return scan{}, explain(r.path, err)
	}
	return scanFor(q, names, chunk)
}

func scanFor(q *telemetry.Query, names []string, chunk int) (scan, error) {
	s := scan{query: q, lo: math.MinInt64, hi: math.MaxInt64, oldest: q.OldestFirst, chunk: chunk}
	var err error
	if s.match, err = matchOf(q, names); err != nil {
		return s, err
	}
	if !q.Since.IsZero() {
		s.lo = bounded(number(q.Since))
	}
	if !q.Until.IsZero() { // A sync that started before can be in a group that ended later.
		s.hi = bounded(number(q.Until.Add(longestBlock+adrift))) | (1<<classBits - 1)
	}
	if q.Limit < 0 {
		return s, fmt.Errorf("%w: a limit of %d: give 0 or more", telemetry.ErrBadQuery, q.Limit)
	}
	if q.After != "" {
		after, err := parseCursor(q.After)
		if err != nil {
			return s, err
		}
		s.after = &after
		if s.oldest {
			s.lo = max(s.lo, after.group<<classBits)
		} else {
			s.hi = min(s.hi, after.group<<classBits|(1<<classBits-1))
		}
	}
	return s, nil
}

// bounded is the first id of a group, whatever year a query names.
func bounded(number int64) int64 {
	const most = math.MaxInt64 >> classBits
	return max(-most, min(number, most)) << classBits
}

// cursor names a sync for the next page.
func cursor(p place) string {
	return strconv.FormatInt(p.group, 36) + "." + strconv.FormatInt(int64(p.at), 36)
}

// parseCursor takes what cursor gives and nothing else.
func parseCursor(text string) (place, error) {
	group, at, _ := strings.Cut(text, ".")
	g, _ := strconv.ParseInt(group, 36, 64-classBits)
	n, _ := strconv.ParseInt(at, 36, 32)
	p := place{g, int(n)}
	if cursor(p) != text { // So it is where one of them is no number, or too large.
		return place{}, fmt.Errorf("%w: the cursor is none of a page before: omit it to start at the first page", telemetry.ErrBadQuery)
	}
	return p, nil
}

// behind reports whether a place comes after the one where the scan begins.
func (s *scan) behind(p place) bool {
	switch {
	case s.after == nil:
		return true
	case p.group != s.after.group:
		return (p.group > s.after.group) == s.oldest
	}
	return p.at != s.after.at && (p.at > s.after.at) == s.oldest
}

// block is a block whose table of contents was read.
type block struct {
	id      int64
	head    *head
	err     error // it cannot be read
	hits    *hits
	records []wire.Record
}

// entry is a sync of a block that the query can mean.
type entry struct {
	place
	block *block
	index int // in the block; of no meaning where that cannot be read
}

func (e entry) class() telemetry.Class { return classOf(e.block.id & (1<<classBits - 1)) }

// walk calls visit with the syncs of a scan until it says that it has enough.
// Every chunk is read by itself: a reader that takes its time holds up neither
// the writer nor the emptying of its log. Blocks that expire meanwhile are left out.
// Where the budget is spent, it is called with the place up to which it looked, and no block.
func (r *reader) walk(ctx context.Context, s scan, visit func(entry) (more bool, err error)) error {
	for {
		ids, err := r.ids(ctx, s)
		if err != nil {
			return explain(r.path, err)
		}
		full := len(ids) == s.chunk
		if full {
			rest, err := r.ids(ctx, s.restOfGroup(ids[len(ids)-1]))
			if err != nil {
				return explain(r.path, err)
			}
			ids = append(ids, rest...)
		}
		for n := 1; len(ids) > 0; ids, n = ids[n:], 1 {
			for n < len(ids) && ids[n]>>classBits == ids[0]>>classBits {
				n++
			}
			if more, err := r.group(ctx, &s, ids[:n], visit); err != nil || !more {
				return err
			}
			s.pass(ids[n-1])
			if s.budget -= n; s.budget <= 0 && s.budget > -n {
				if more, err := visit(entry{place: s.endOf(ids[0] >> classBits)}); err != nil || !more {
					return err
				}
			}
		}
		if !full {
			return nil
		}
	}
}

// endOf is the place behind all of a group's syncs.
func (s *scan) endOf(group int64) place {
	if s.oldest {
		return place{group, math.MaxInt32}
	}
	return place{group, -1}
}

// pass bounds a scan to what comes behind a block.
func (s *scan) pass(id int64) {
	if s.oldest {
		s.lo = max(s.lo, min(id, math.MaxInt64-1)+1)
	} else {
		s.hi = min(s.hi, max(id, math.MinInt64+1)-1)
	}
}

// restOfGroup is what comes behind a block within its group.
func (s scan) restOfGroup(id int64) scan {
	const classes = 1<<classBits - 1
	s.lo, s.hi, s.chunk = max(s.lo, id&^classes), min(s.hi, id|classes), 1<<classBits
	s.pass(id)
	return s
}

// ids are the next blocks of a scan.
func (r *reader) ids(ctx context.Context, s scan) ([]int64, error) {
	statement, args := r.newestAll, []any{s.lo, s.hi, s.chunk}
	switch {
	case s.match.text != "" && s.oldest:
		statement, args = r.oldest, append(args, s.match.text)
	case s.match.text != "":
		statement, args = r.newest, append(args, s.match.text)
	case s.oldest:
		statement = r.oldestAll
	}
	return list[int64](statement.QueryContext(ctx, args...))
}

// list reads the one column of a query. It is never nil without an error.
func list[T any](rows *sql.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := []T{}
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

// group visits the syncs of a group's blocks in the order in which they were recorded.
func (r *reader) group(ctx context.Context, s *scan, ids []int64, visit func(entry) (bool, error)) (more bool, err error) {
	var list []entry
	for _, id := range ids {
		b, err := r.block(ctx, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return false, explain(r.path, err)
		case b.err != nil:
			list = append(list, entry{place: place{id >> classBits, -1}, block: b})
			continue
		}
		for _, i := range b.head.may(s.query, s.match.all, s.match.any) {
			list = append(list, entry{place{id >> classBits, b.head.Places[i]}, b, i})
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		if s.oldest {
			a, b = b, a
		}
		return cmp.Compare(b.place.at, a.place.at)
	})
	for _, e := range list {
		if !s.behind(e.place) {
			continue
		}
		if more, err := visit(e); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// block reads a block's table of contents.
func (r *reader) block(ctx context.Context, id int64) (*block, error) {
	var data []byte
	if err := r.head.QueryRowContext(ctx, id).Scan(&data); err != nil {
		return nil, err
	}
	b := &block{id: id}
	b.head, b.err = readHead(data)
	return b, nil
}
