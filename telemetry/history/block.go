package history

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

const (
	// syncsPerBlock, bytesPerBlock and longestBlock bound what is compressed
	// together: one sync is read by unpacking its block, and a block is found by
	// the time at which its last sync ended, which is not much later than its
	// first one started. A sync that takes longer is a group by itself.
	syncsPerBlock = 256
	bytesPerBlock = 1 << 20
	longestBlock  = 5 * time.Second
	// classBits of a block's number are its class.
	classBits = 3
)

// head is the table of contents of a block: enough to know which of its syncs
// a query can mean without unpacking them. It is written as CBOR, which takes a
// tenth of the time that JSON does.
type head struct {
	Epoch string `json:"epoch"`
	// Objects are the different ones; Of is the place there for each sync.
	Objects objects         `json:"objects"`
	Of      numbers[int]    `json:"of"`
	Seqs    numbers[uint64] `json:"seqs"`
	// Started is when each started, in Unix nanoseconds.
	Started numbers[int64] `json:"started"`
	// Places are the syncs' places in the order in which their group was recorded.
	Places numbers[int] `json:"places"`
	// Sizes are the bytes of each sync.
	Sizes numbers[int] `json:"sizes"`
	// Words are the marks of the words that some of the syncs have, four bytes
	// each, Bits a row of bits for each sync that says which. A block of one sync
	// has none: the index says it all. Nor has one in which two words have one mark.
	Words []byte `json:"words,omitempty"`
	Bits  []byte `json:"bits,omitempty"`
}

// hits are the parts of telemetry.Hits that the head does not say. They stand by
// themselves, as they are as large as the rest of it.
type hits struct {
	Took   numbers[time.Duration] `json:"took"`
	Result texts                  `json:"result"`
	Leaf   texts                  `json:"leaf"`
	Code   texts                  `json:"code"`
	Text   texts                  `json:"text"`
	Error  texts                  `json:"error"`
}

func (x *hits) add(hit telemetry.Hit) {
	x.Took, x.Result, x.Leaf = append(x.Took, hit.Took), append(x.Result, string(hit.Result)), append(x.Leaf, hit.Leaf)
	x.Code, x.Text, x.Error = append(x.Code, hit.Code), append(x.Text, hit.Text), append(x.Error, hit.Error)
}

// has reports whether they are of so many syncs.
func (x *hits) has(n int) bool {
	for _, list := range []texts{x.Result, x.Leaf, x.Code, x.Text, x.Error} {
		if len(list) != n {
			return false
		}
	}
	return len(x.Took) == n
}

// listed is what a list says of sync i.
func (h *head) listed(i int, x *hits, class telemetry.Class) telemetry.Hit {
	return telemetry.Hit{
		Epoch: h.Epoch, Seq: h.Seqs[i], Object: h.Objects[h.Of[i]], Started: time.Unix(0, h.Started[i]).UTC(), Took: x.Took[i],
		Result: telemetry.Result(x.Result[i]), Class: class, Leaf: x.Leaf[i], Code: x.Code[i], Text: x.Text[i], Error: x.Error[i],
	}
}

// check refuses what would not have been written, so that what is read can be
// relied on: the file may be damaged or not ours.
func (h *head) check() error {
	n, row := len(h.Seqs), h.row()
	if n == 0 || len(h.Of) != n || len(h.Started) != n || len(h.Places) != n || len(h.Sizes) != n || len(h.Words)%4 != 0 || len(h.Bits) != n*row {
		return fmt.Errorf("%w: its table of contents does not fit together", errDamaged)
	}
	for i := range n {
		if h.Of[i] < 0 || h.Of[i] >= len(h.Objects) || h.Sizes[i] < 0 || h.Sizes[i] > maxTrace {
			return fmt.Errorf("%w: its table of contents is out of bounds", errDamaged)
		}
	}
	return nil
}

// exact reports whether index and marks together say which syncs have a word.
func (h *head) exact() bool { return len(h.Seqs) == 1 || len(h.Words) > 0 }

// row is how many bytes of Bits a sync has.
func (h *head) row() int { return (len(h.Words)/4 + 7) / 8 }

// marks finds the places of words, -1 for those that no sync of the block has.
func (h *head) marks(words []uint32) []int {
	list := make([]int, len(words))
	for i, w := range words {
		list[i] = -1
		for at := 0; at+4 <= len(h.Words); at += 4 {
			if binary.LittleEndian.Uint32(h.Words[at:]) == w {
				list[i] = at / 4
				break
			}
		}
	}
	return list
}

// has reports whether sync i has the word in that place.
func (h *head) has(i, place int) bool {
	return place >= 0 && h.Bits[i*h.row()+place/8]&(1<<(place%8)) != 0
}

// may are the syncs that a query can mean, as far as the head knows.
func (h *head) may(q *telemetry.Query, all, any []uint32) (list []int) {
	needed, oneOf := h.marks(all), h.marks(any)
	for i := range h.Seqs {
		if q == nil {
			list = append(list, i)
			continue
		}
		if !q.Covers(h.Objects[h.Of[i]], time.Unix(0, h.Started[i])) {
			continue
		}
		if len(h.Words) > 0 {
			has := func(place int) bool { return h.has(i, place) }
			if slices.ContainsFunc(needed, func(place int) bool { return !has(place) }) || len(oneOf) > 0 && !slices.ContainsFunc(oneOf, has) {
				continue
			}
		}
		list = append(list, i)
	}
	return list
}

// group is syncs that are kept together, in the order in which they were
// recorded: a block for each class, under numbers that follow each other.
type group struct {
	room   *scratch
	epoch  string
	began  time.Time // when the first started
	ended  time.Time // when the last ended
	syncs  int
	bytes  int
	blocks map[int64]*packing
}

// packing is a block in the making.
type packing struct {
	head  head
	hits  hits
	terms *terms
	at    map[telemetry.Object]int
	wire  *wire.Block
}

// packed is a block ready to be stored.
type packed struct {
	class, syncs int64
	first, last  uint64
	// head, hits and body are in scratch.
	head, hits, body []byte
	document         string
	// seqs are the numbers of the syncs, and sizes their bytes.
	seqs  []uint64
	sizes []int
}

// scratch is what is packed with, used again with every commit: it is large, and a
// sync.Pool would be empty by then, as the garbage collector comes as often.
type scratch struct {
	plain, packed []byte
	text          bytes.Buffer
	blocks        []*wire.Block
	terms         []*terms
}

// seal packs a table of contents or a list.
func (s *scratch) seal(v any) []byte {
	from := len(s.packed)
	s.packed = seal(v, &s.text, s.packed)
	return s.packed[from:]
}

// packing begins a block.
func (s *scratch) packing() *packing {
	p := &packing{at: map[telemetry.Object]int{}}
	if n := len(s.blocks); n > 0 {
		p.wire, s.blocks = s.blocks[n-1], s.blocks[:n-1]
		p.terms, s.terms = s.terms[n-1], s.terms[:n-1]
	} else {
		p.wire, p.terms = wire.NewBlock(), newTerms()
	}
	return p
}

// done ends the use of a block's tables. Those of a block that was never packed are
// left to the garbage collector.
func (s *scratch) done(p *packing) {
	p.wire.Clear()
	p.terms.clear()
	s.blocks, s.terms = append(s.blocks, p.wire), append(s.terms, p.terms)
}

// maxScratch bounds the room that is kept for the next commit.
const maxScratch = 4 * bytesPerBlock

// clear makes room for the blocks of a commit, those of the one before are gone.
func (s *scratch) clear() {
	if cap(s.plain)+cap(s.packed)+s.text.Cap() > maxScratch || len(s.blocks) > 2*len(classes) {
		*s = scratch{}
	}
	s.packed = s.packed[:0]
}

// groups divides what is kept together so that no block becomes too large or
// spans too long a time.
func (s *Store) groups(traces []*telemetry.Trace) (list []*group, err error) {
	var g *group
	for _, t := range traces {
		if g == nil || !g.takes(t) {
			g = &group{room: &s.room, epoch: t.Epoch, began: t.Started, ended: t.Ended, blocks: map[int64]*packing{}}
			list = append(list, g)
		}
		if err := g.add(t, t.Class(s.opts.SlowAfter)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (g *group) takes(t *telemetry.Trace) bool {
	began, ended := earliest(g.began, t.Started), latest(g.ended, t.Ended)
	return g.epoch == t.Epoch && g.syncs < syncsPerBlock && g.bytes < bytesPerBlock && ended.Sub(began) <= longestBlock
}

// number is that of the group: when it ended, but not much later than it began,
// so that it is found by the time at which any of its syncs started.
func (g *group) number() int64 { return number(earliest(g.ended, g.began.Add(longestBlock))) }

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (g *group) add(t *telemetry.Trace, class telemetry.Class) error {
	p := g.blocks[classes[class]]
	if p == nil {
		p = g.room.packing()
		g.blocks[classes[class]] = p
	}
	size, took, err := p.wire.Add(t)
	if took > maxTrace {
		err = fmt.Errorf("it has %d bytes, at most %d", took, maxTrace)
	}
	if err != nil {
		return fmt.Errorf("%w: sync %s/%d: %w", errUnfit, t.Epoch, t.Seq, err)
	}
	h := &p.head
	h.Sizes, h.Seqs, h.Places = append(h.Sizes, size), append(h.Seqs, t.Seq), append(h.Places, g.syncs)
	h.Epoch, h.Started = t.Epoch, append(h.Started, t.Started.UnixNano())
	p.hits.add(t.Hit(class))
	h.Of = append(h.Of, p.object(t.Object))
	p.terms.of(t, class)
	g.syncs, g.bytes = g.syncs+1, g.bytes+took
	g.began, g.ended = earliest(g.began, t.Started), latest(g.ended, t.Ended)
	return nil
}

func (p *packing) object(o telemetry.Object) int {
	i, ok := p.at[o]
	if !ok {
		i = len(p.head.Objects)
		p.at[o], p.head.Objects = i, append(p.head.Objects, o)
	}
	return i
}

// pack compresses the block, which is done with then.
func (p *packing) pack(c *codec, room *scratch, class int64) packed {
	h := &p.head
	if len(h.Seqs) > 1 && !p.terms.doubled {
		h.Words = p.terms.marks
		h.Bits = p.terms.bits(h.row())
	}
	contents, hits := room.seal(h), room.seal(&p.hits)
	room.plain = p.wire.AppendTo(room.plain[:0])
	document := p.terms.document()
	room.done(p)
	from := len(room.packed)
	room.packed = c.compress(room.plain, room.packed)
	return packed{
		class: class, syncs: int64(len(h.Seqs)), first: slices.Min(h.Seqs), last: slices.Max(h.Seqs),
		head: contents, hits: hits, body: room.packed[from:], document: document, seqs: h.Seqs, sizes: h.Sizes,
	}
}

// pack compresses the blocks of a group in the order of their classes.
func (g *group) pack(c *codec) (list []packed) {
	for _, class := range slices.Sorted(maps.Keys(g.blocks)) {
		list = append(list, g.blocks[class].pack(c, g.room, class))
	}
	return list
}
