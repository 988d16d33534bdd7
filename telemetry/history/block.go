package history

import (
	"fmt"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

const (
	// syncsPerBlock, bytesPerBlock and longestBlock bound what is compressed together: one
	// sync is read by unpacking its block, and a block is found by the time at which its
	// last sync ended, which is not much later than its first one started. A sync that
	// takes longer is a block by itself. A set of a block's syncs has 64 bits.
	syncsPerBlock = 64
	// few is how many syncs of the last block go on with those of the next commit, so that
	// syncs that come one by one help each other, too.
	few           = 16
	bytesPerBlock = 1 << 20
	longestBlock  = 5 * time.Second
)

// hits are what lists say of the syncs of a block.
type hits struct {
	Hits []telemetry.Hit
	// Sizes are the bytes of each sync in the body that it is in.
	Sizes []int
}

// readHits refuses what would not have been written: the file may be damaged or not ours.
func readHits(data []byte) (*hits, error) {
	text, err := unpack(data)
	if err != nil {
		return nil, err
	}
	h := new(hits)
	if err := wire.Read(text, h); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if n := len(h.Hits); n == 0 || n > syncsPerBlock || len(h.Sizes) != n {
		return nil, fmt.Errorf("%w: its list does not fit together", errDamaged)
	}
	for i := range h.Hits {
		if h.Sizes[i] < 0 || h.Sizes[i] > maxTrace {
			return nil, fmt.Errorf("%w: its list is out of bounds", errDamaged)
		}
	}
	return h, nil
}

// Quiet syncs go first where room is needed, so that they have a body of their own.
const (
	remarkable = iota
	quiet
	bodies
)

func bodyOf(class telemetry.Class) int {
	if class == telemetry.ClassQuiet {
		return quiet
	}
	return remarkable
}

// room is what a block is made in, used again for the next one.
type room struct {
	plain [bodies][]byte
	terms terms
	// hits and packed are what the file is given of a commit: it has them before the next one.
	hits, packed []byte
}

// pack appends what is compressed to that of the commit.
func (r *room) pack(plain []byte) []byte {
	from := len(r.packed)
	r.packed = pack(r.packed, plain)
	return r.packed[from:len(r.packed):len(r.packed)]
}

// block is syncs that are kept together, in the order in which they were recorded.
type block struct {
	id           int64         // 0 while the file has none of it
	stored       [bodies]int64 // its syncs there
	epoch        string
	began, ended int64 // when the first started and the last ended, in Unix microseconds
	first, last  uint64
	bytes        int
	hits         hits
	plain        [bodies][]byte
	syncs        [bodies]int64
	terms        *terms
	// What the file has of it, once it is sealed.
	table, list []byte
	packed      [bodies][]byte
	words       string
}

// blocks are those of a commit.
type blocks []*block

// divide makes blocks of syncs, so that no block becomes too large or spans too long a time.
func (s *Store) divide(traces []*telemetry.Trace) (list blocks, err error) {
	b := s.tail
	s.tail = nil // What becomes of it is known once it is in the file.
	if s.room.packed = s.room.packed[:0]; cap(s.room.packed) > 2*bytesPerBlock {
		s.room.packed = nil
	}
	for _, t := range traces {
		if b != nil && b.takes(t) {
			if len(list) == 0 {
				list = append(list, b)
			}
		} else {
			list.seal(&s.room)
			s.room.terms.clear() // Nobody needs what was there once it is sealed.
			b = &block{epoch: t.Epoch, began: t.Started.UnixMicro(), ended: t.Ended.UnixMicro(), first: t.Seq, last: t.Seq, terms: &s.room.terms}
			for body := range b.plain {
				b.plain[body] = s.room.plain[body][:0]
			}
			list = append(list, b)
		}
		if err := b.add(t, t.Class(s.opts.SlowAfter)); err != nil {
			return nil, fmt.Errorf("%w: sync %s/%d: %w", errUnfit, t.Epoch, t.Seq, err)
		}
		if b.bytes < 2*bytesPerBlock {
			s.room.plain = b.plain
		}
	}
	list.seal(&s.room)
	return list, nil
}

func (b *block) takes(t *telemetry.Trace) bool {
	began, ended := min(b.began, t.Started.UnixMicro()), max(b.ended, t.Ended.UnixMicro())
	return b.epoch == t.Epoch && len(b.hits.Hits) < syncsPerBlock && b.bytes < bytesPerBlock && ended-began <= longestBlock.Microseconds()
}

// number is about when it ended, but not much later than it began, so that it is found by
// the time at which any of its syncs started.
func (b *block) number() int64 {
	return number(time.UnixMicro(min(b.ended, b.began+longestBlock.Microseconds())))
}

func (b *block) add(t *telemetry.Trace, class telemetry.Class) error {
	body := bodyOf(class)
	from := len(b.plain[body])
	plain, err := wire.Append(b.plain[body], t)
	if err != nil {
		return err
	}
	size := len(plain) - from
	if size > maxTrace {
		return fmt.Errorf("it has %d bytes, at most %d", size, maxTrace)
	}
	hit, h := t.Hit(class), &b.hits
	b.terms.of(t, class, len(h.Hits))
	h.Hits, h.Sizes = append(h.Hits, hit), append(h.Sizes, size)
	b.plain[body], b.bytes = plain, b.bytes+size
	b.syncs[body]++
	b.first, b.last = min(b.first, t.Seq), max(b.last, t.Seq)
	b.began, b.ended = min(b.began, t.Started.UnixMicro()), max(b.ended, t.Ended.UnixMicro())
	return nil
}

// seal makes what the file has of the last one, if there is any.
func (list blocks) seal(r *room) {
	if len(list) == 0 {
		return
	}
	b := list[len(list)-1]
	r.hits, _ = wire.Append(r.hits[:0], &b.hits) // What a trace can hold, a list of it can.
	b.table, b.list, b.words = r.pack(b.terms.table(len(b.hits.Hits))), r.pack(r.hits), b.terms.document()
	for body, plain := range b.plain {
		if len(plain) > 0 {
			b.packed[body] = r.pack(plain)
		}
	}
}
