package history

import (
	"slices"
	"sync"
	"weak"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// heldBlock is a block in the journal, as it stands in the file: a quarter of what its
// syncs would take as plain bytes. A page reads some syncs of it at about the same time,
// so that what was unpacked stays until the garbage collector comes.
type heldBlock struct {
	codec *codec
	body  []byte
	sizes []int

	mu     sync.Mutex // guards lately
	lately weak.Pointer[[]wire.Record]
}

// heldSync is a sync of a block in the journal.
type heldSync struct {
	block *heldBlock
	at    int
}

var _ telemetry.Packed[*telemetry.Trace] = (*heldSync)(nil)

// handOver makes the journal keep the syncs as the bytes that they became here.
func (g packedGroup) handOver(journal Journal, c *codec) {
	for _, p := range g.blocks {
		block := &heldBlock{codec: c, body: slices.Clone(p.body), sizes: p.sizes}
		syncs := make([]heldSync, len(p.seqs))
		for i, seq := range p.seqs {
			syncs[i] = heldSync{block, i}
			journal.Pack(seq, &syncs[i])
		}
	}
}

// Bytes is the sync's share of its block.
func (s *heldSync) Bytes() int {
	const size, place = 8, 16 // in sizes, and of the sync itself
	return len(s.block.body)/len(s.block.sizes) + size + place
}

// Unpack reads the sync.
func (s *heldSync) Unpack() (*telemetry.Trace, error) {
	list, err := s.block.records()
	if err != nil {
		return nil, err
	}
	return whole(list[s.at])
}

// records are the block's syncs; who asks at the same time waits and has the same.
func (b *heldBlock) records() ([]wire.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if list := b.lately.Value(); list != nil {
		return *list, nil
	}
	list, err := b.codec.records(b.sizes, b.body)
	if err != nil {
		return nil, err
	}
	b.lately = weak.Make(&list)
	return list, nil
}
