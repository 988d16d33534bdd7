package history

import (
	"context"
	"fmt"
)

const (
	// trimAtOnce is how many blocks one transaction lets go.
	trimAtOnce = 8
	// givenBack is how many free pages are given back to the disk at once.
	givenBack = 500
	// quietShare is the part of all syncs that quiet ones keep, whatever has to
	// go: without them nobody could see how an object stood in between.
	quietShare = 8
)

// Trim lets syncs go that are too old, and the oldest while the file is too
// large, quiet ones first. It does so in short transactions, chunks of them at
// most, and says how many syncs went.
func (s *Store) Trim(ctx context.Context, chunks int) (gone int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return 0, explain(s.path, errShut)
	}
	for range chunks {
		ids, quietOnly, err := s.victims(ctx)
		if err != nil {
			return gone, explain(s.path, err)
		}
		if len(ids) == 0 {
			break
		}
		n, err := s.let(ctx, ids, quietOnly)
		if err != nil {
			return gone, explain(s.path, err)
		}
		gone += n
	}
	return gone, explain(s.path, s.prune(ctx))
}

// victims are the next blocks to go, or whose quiet syncs are, none where the limits are kept.
func (s *Store) victims(ctx context.Context) (ids []int64, quietOnly bool, err error) {
	const next = " ORDER BY id LIMIT ?"
	ids, err = list[int64](s.conn.QueryContext(ctx, "SELECT id FROM blocks WHERE id < ?"+next, number(s.opts.Clock().Add(-s.opts.MaxAge)), trimAtOnce))
	if err != nil || len(ids) > 0 {
		return ids, false, err
	}
	if large, err := s.large(ctx); !large {
		return nil, false, err
	}
	text := "SELECT id FROM blocks"
	if quietOnly = s.quiet*quietShare > s.kept; quietOnly {
		text += " WHERE quiet > 0"
	}
	ids, err = list[int64](s.conn.QueryContext(ctx, text+next, trimAtOnce))
	return ids, quietOnly, err
}

// inUse is how many bytes of a limit syncs and index may take. The rest is for
// the log, and for the index, which needs room to be put in order now and then.
func inUse(limit int64) int64 { return limit - min(limit*2/5, 64<<20+limit/8) }

// large reports whether more than that is in use, or the file has met its bound
// for all that. Free pages within the file are used again and do not count. Those
// that a limit set lower than before leaves over are given back to the disk.
func (s *Store) large(ctx context.Context) (bool, error) {
	pages, free := s.extent.pages, s.extent.free
	limit := inUse(s.opts.MaxBytes) / pageSize
	if pages > s.opts.MaxBytes/8*7/pageSize && free > givenBack {
		if _, err := s.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", givenBack)); err != nil {
			return false, fmt.Errorf("give pages back: %w", err)
		}
		if err := s.look(ctx); err != nil {
			return false, err
		}
	}
	return pages-free > limit || s.tight && pages > limit, nil
}

// dropBlock removes a block and its bodies.
const dropBlock = "DELETE FROM blocks WHERE id = ?1; DELETE FROM bodies WHERE id BETWEEN ?2 AND ?3"

// let removes blocks, or their quiet syncs. Rows go first: where the disk is full, their
// pages are what the index needs to note that they are gone.
func (s *Store) let(ctx context.Context, ids []int64, quietOnly bool) (gone int64, err error) {
	goneQuiet := int64(0)
	s.tail = nil // It may be one of them.
	err = s.transaction(ctx, func() error {
		var empty []int64
		for _, id := range ids {
			var n, q int64
			if err := s.conn.QueryRowContext(ctx, "SELECT syncs, quiet FROM blocks WHERE id = ?", id).Scan(&n, &q); err != nil {
				return fmt.Errorf("look at syncs: %w", err)
			}
			text := dropBlock
			if quietOnly && n > q {
				n, text = q, "UPDATE blocks SET syncs = syncs - quiet, quiet = 0 WHERE id = ?1; DELETE FROM bodies WHERE id = ?3"
			} else {
				empty = append(empty, id)
			}
			if _, err := s.conn.ExecContext(ctx, text, id, bodyID(id, remarkable), bodyID(id, quiet)); err != nil {
				return fmt.Errorf("delete syncs: %w", err)
			}
			gone, goneQuiet = gone+n, goneQuiet+q
		}
		for _, id := range empty {
			if _, err := s.conn.ExecContext(ctx, "DELETE FROM terms WHERE rowid = ?", id); err != nil {
				return fmt.Errorf("delete the terms of syncs: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.kept, s.quiet = s.kept-gone, s.quiet-goneQuiet
	return gone, s.look(ctx)
}
