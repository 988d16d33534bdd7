package history

import (
	"slices"
	"sync"
	"weak"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// lazyBlock is a block in the journal, as it stands in the file: a quarter of what its
// syncs would take as plain bytes. A page reads some syncs of it at about the same time,
// so that what was unpacked stays until the garbage collector comes.
type lazyBlock struct {
	codec *codec
	body  []byte
	sizes []int

	mu          sync.Mutex // guards weakRecords
	weakRecords weak.Pointer[[]wire.Record]
}

// lazySync is a sync of a block in the journal.
type lazySync struct {
	block *lazyBlock
	at    int
}

var _ telemetry.Packed[*telemetry.Trace] = (*lazySync)(nil)

// handOver makes the journal keep the syncs as the bytes that they became here.
func (g packedGroup) handOver(journal Journal, c *codec) {
	for _, p := range g.blocks {
		block := &lazyBlock{codec: c, body: slices.Clone(p.body), sizes: p.sizes}
		syncs := make([]lazySync, len(p.seqs))
		for i, seq := range p.seqs {
			syncs[i] = lazySync{block, i}
			journal.Pack(seq, &syncs[i])
		}
	}
}

// Bytes is the sync's share of its block.
func (s *lazySync) Bytes() int {
	const size, place = 8, 16 // in sizes, and of the sync itself
	return len(s.block.body)/len(s.block.sizes) + size + place
}

// Unpack reads the sync.
func (s *lazySync) Unpack() (*telemetry.Trace, error) {
	list, err := s.block.records()
	if err != nil {
		return nil, err
	}
	return whole(list[s.at])
}

// records are the block's syncs; who asks at the same time waits and has the same.
func (b *lazyBlock) records() ([]wire.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if list := b.weakRecords.Value(); list != nil {
		return *list, nil
	}
	list, err := b.codec.records(b.sizes, b.body)
	if err != nil {
		return nil, err
	}
	b.weakRecords = weak.Make(&list)
	return list, nil
}
