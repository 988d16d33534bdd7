package history

import (
	"context"
	"fmt"
	"time"
)

const (
	// hour is how exactly the table of names knows when one was kept last, in blocks'
	// numbers: a name is written once in that time, not with every sync.
	hour = int64(time.Hour / instant)
	// maxNames bounds the names that a part of one stands for in the index. A
	// part of more is in so many blocks that reading them one by one finds it.
	maxNames = 256
	// namesKnown bounds the names that the writer remembers.
	namesKnown = 1 << 16
)

// names is what the table of names is known to say: the hour in which each was kept last. A
// part of a name is found through that table, which is read from one end to the other: there
// are far fewer names than syncs, and trigrams of them in the index would be a third of it,
// and mean other names as well.
type names struct {
	hours  map[string]int64
	pruned int64 // the hour before which no name was kept last
}

// learn writes the names of a block.
func (s *Store) learn(ctx context.Context, b *block, number int64) error {
	last, known := number/hour, &s.names.hours
	if *known == nil || len(*known) > namesKnown {
		*known = map[string]int64{}
	}
	for i := range b.hits.Hits {
		name := b.hits.Hits[i].Name
		if at, ok := (*known)[name]; ok && at >= last {
			continue
		}
		if _, err := s.name.ExecContext(ctx, name, last); err != nil {
			return fmt.Errorf("keep a name: %w", err)
		}
		(*known)[name] = last
	}
	return nil
}

// prune forgets the names of which nothing is kept any more, once an hour of syncs.
// The store is locked.
func (s *Store) prune(ctx context.Context) error {
	oldest, _ := span(s.extent.began, s.extent.last)
	before := number(oldest) / hour
	if before <= s.names.pruned { // So it is where nothing is kept.
		return nil
	}
	if _, err := s.conn.ExecContext(ctx, "DELETE FROM names WHERE hour < ?", before); err != nil {
		return fmt.Errorf("forget names: %w", err)
	}
	s.names = names{pruned: before}
	return nil
}

// named are the names with that part, nil where there are too many to ask the
// index for each, or no part is given.
func (r *reader) named(ctx context.Context, part string) ([]string, error) {
	if part == "" {
		return nil, nil
	}
	names, err := list[string](r.names.QueryContext(ctx, part, maxNames+1))
	if len(names) > maxNames {
		return nil, err
	}
	return names, err
}
