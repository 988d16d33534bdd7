package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

const (
	// instant is the unit of blocks' numbers: the index keeps the gaps between
	// them, which a finer one would make longer. number and moment know it, too.
	instant = time.Millisecond
	// adrift is within which time blocks may end in another order than that in
	// which they are kept.
	adrift = time.Second
	// besides bounds how many blocks are looked through for a number.
	besides = 1000
)

// number is that of a block that ended then. It rounds towards the past.
func number(t time.Time) int64 { return t.UnixMilli() }

// moment is about when the last sync of a block ended.
func moment(number int64) time.Time { return time.UnixMilli(number).UTC() }

// scan is a walk over blocks in the order of their numbers.
type scan struct {
	query  *telemetry.Query
	match  match
	lo, hi int64  // inclusive
	oldest bool   // first
	chunk  int    // blocks read at a time
	after  *place // begin behind this one
	budget int    // blocks to look at before it asks whether to go on; 0 for all
}

// place is that of a sync: its block's number, and its place there.
type place struct {
	block int64
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
		s.lo = number(q.Since.Add(-longestBlock)) // The last block can have grown since it got its number.
	}
	if !q.Until.IsZero() { // A sync that started before can be in a block that ended later.
		s.hi = number(q.Until.Add(longestBlock + adrift))
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
			s.lo = max(s.lo, after.block)
		} else {
			s.hi = min(s.hi, after.block)
		}
	}
	return s, nil
}

// cursor names a sync for the next page.
func cursor(p place) string {
	return strconv.FormatInt(p.block, 36) + "." + strconv.FormatInt(int64(p.at), 36)
}

// parseCursor takes what cursor gives and nothing else.
func parseCursor(text string) (place, error) {
	block, at, _ := strings.Cut(text, ".")
	id, _ := strconv.ParseInt(block, 36, 64)
	n, _ := strconv.ParseInt(at, 36, 32)
	p := place{id, int(n)}
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
	case p.block != s.after.block:
		return (p.block > s.after.block) == s.oldest
	}
	return p.at != s.after.at && (p.at > s.after.at) == s.oldest
}

// openBlock is a block that was read.
type openBlock struct {
	id    int64
	table table
	data  []byte // of its hits, until they are needed
	hits  *hits
	err   error // it cannot be read
	kept  bool  // its quiet syncs are
	plain [bodies][]byte
}

// list is what lists say of its syncs.
func (b *openBlock) list() ([]telemetry.Hit, error) {
	if b.hits == nil && b.err == nil {
		b.hits, b.err = readHits(b.data)
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.hits.Hits, nil
}

// entry is a sync of a block that the query can mean.
type entry struct {
	place
	block *openBlock
	index int // in the block; of no meaning where that cannot be read
}

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
		for _, id := range ids {
			b, err := r.block(ctx, id)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return explain(r.path, err)
			}
			if more, err := s.visit(b, visit); err != nil || !more {
				return err
			}
			s.pass(id)
			if s.budget--; s.budget == 0 {
				if more, err := visit(entry{place: s.endOf(id)}); err != nil || !more {
					return err
				}
			}
		}
		if len(ids) < s.chunk {
			return nil
		}
	}
}

// visit calls it with the syncs of a block that are meant, in the order of the scan.
func (s *scan) visit(b *openBlock, visit func(entry) (bool, error)) (more bool, err error) {
	meant := b.table.mean(s.match)
	if meant == 0 && b.err == nil {
		return true, nil
	}
	list, err := b.list()
	if err != nil {
		if p := (place{b.id, -1}); s.behind(p) {
			return visit(entry{place: p, block: b})
		}
		return true, nil
	}
	for i := range list {
		if !s.oldest {
			i = len(list) - 1 - i
		}
		e, hit := entry{place{b.id, i}, b, i}, &list[i]
		if meant&(1<<i) == 0 || !s.query.Lists(hit) || !s.behind(e.place) || !b.kept && hit.Class == telemetry.ClassQuiet {
			continue
		}
		if more, err := visit(e); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// endOf is the place behind all of a block's syncs.
func (s *scan) endOf(block int64) place {
	if s.oldest {
		return place{block, math.MaxInt32}
	}
	return place{block, -1}
}

// pass bounds a scan to what comes behind a block.
func (s *scan) pass(id int64) {
	if s.oldest {
		s.lo = max(s.lo, min(id, math.MaxInt64-1)+1)
	} else {
		s.hi = min(s.hi, max(id, math.MinInt64+1)-1)
	}
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

// block reads a block's table; sql.ErrNoRows where there is none.
func (r *reader) block(ctx context.Context, id int64) (*openBlock, error) {
	var packed []byte
	b := &openBlock{id: id}
	if err := r.head.QueryRowContext(ctx, id).Scan(&packed, &b.data, &b.kept); err != nil {
		return nil, err
	}
	b.table, b.err = unpack(packed)
	return b, nil
}
