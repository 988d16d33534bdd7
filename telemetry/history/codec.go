package history

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// maxTrace bounds what a trace takes, and maxBlock what is unpacked when it is read
// back: a damaged or foreign file must not fill the memory.
const (
	maxTrace = 32 << 20
	maxBlock = maxTrace + 2*bytesPerBlock
	// window is how far back a sync is compressed by what others say.
	window = 256 << 10
	// busy is from how many bytes on a block is one of many syncs a second. The time that
	// compressing takes is the loops' then, and such syncs are alike anyway.
	busy = 32 << 10
)

// codec turns blocks into what is stored and back. It is safe for concurrent use, and
// has nothing to close: the journal reads with it for longer than a file is open.
type codec struct {
	encoder *zstd.Encoder // of syncs, with the dictionary
	decoder *zstd.Decoder
}

// compress appends syncs: few of them by zstd and the dictionary, many by S2, which takes
// a third of the time and a third more bytes.
func (c *codec) compress(plain, out []byte) []byte {
	if len(plain) < busy {
		return c.encoder.EncodeAll(plain, out)
	}
	return wrap(plain, out)
}

// decompress reads what compress wrote. What S2 wrote begins with its size, which is
// larger than any that begins like a frame of zstd.
func (c *codec) decompress(body []byte) ([]byte, error) {
	if len(body) > 0 && body[0] == zstdMagic {
		return c.decoder.DecodeAll(body, nil)
	}
	return unwrap(body)
}

// zstdMagic is the first byte of each frame.
const zstdMagic = 0x28

// seal appends a table of contents or a list, written in text before. Every one of
// them can be written: they are of texts, bytes and columns.
func seal(v any, text *bytes.Buffer, out []byte) []byte {
	text.Reset()
	_ = plainly.MarshalToBuffer(v, text)
	return wrap(text.Bytes(), out)
}

// plainly is CBOR without options.
var plainly, _ = cbor.EncOptions{}.UserBufferEncMode()

// unseal reads what seal wrote.
func unseal(data []byte, v any) error {
	text, err := unwrap(data)
	if err == nil {
		err = cbor.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// wrap appends a text, compressed, and a checksum. Tables of contents are small, so
// that S2 does nearly as well as zstd in a fifth of its time, and again when they
// are read.
func wrap(text, out []byte) []byte {
	out = slices.Grow(out, s2.MaxEncodedLen(len(text))+4)
	n := len(s2.Encode(out[len(out):cap(out)], text))
	return binary.LittleEndian.AppendUint32(out[:len(out)+n], crc32.Checksum(text, castagnoli))
}

func unwrap(data []byte) ([]byte, error) {
	n := max(0, len(data)-4)
	size, _ := s2.DecodedLen(data[:n]) // Without one it cannot be decoded either.
	if size > maxBlock {
		return nil, fmt.Errorf("it would have %d bytes, at most %d", size, maxBlock)
	}
	text, err := s2.Decode(nil, data[:n])
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(text, castagnoli) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, errors.New("its checksum does not match")
	}
	return text, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newCodec compresses with the first dictionary and reads what any of them wrote.
func newCodec(dictionaries ...[]byte) (*codec, error) {
	// The next level saves 5 % of the bytes for twice the time.
	plain := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true)}
	write, read := plain, []zstd.DOption{zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true)}
	if len(dictionaries) > 0 { // without one a sync alone is twice as large
		write = append(plain[:len(plain):len(plain)], zstd.WithEncoderDict(dictionaries[0]))
		read = append(read, zstd.WithDecoderDicts(dictionaries...))
	}
	encoder, err := zstd.NewWriter(nil, write...)
	if err != nil {
		return nil, fmt.Errorf("history: prepare compression: %w", err)
	}
	decoder, err := zstd.NewReader(nil, read...)
	if err != nil {
		return nil, fmt.Errorf("history: prepare decompression: %w", err)
	}
	return &codec{encoder, decoder}, nil
}

// readHead reads a block's table of contents.
func readHead(data []byte) (*head, error) {
	var h head
	if err := unseal(data, &h); err != nil {
		return nil, err
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	return &h, nil
}

// readHits reads what lists say of a block's syncs.
func readHits(h *head, data []byte) (*hits, error) {
	var x hits
	if err := unseal(data, &x); err != nil {
		return nil, err
	}
	if !x.has(len(h.Seqs)) {
		return nil, fmt.Errorf("%w: its list does not fit its table of contents", errDamaged)
	}
	return &x, nil
}

// records unpacks the body of a block.
func (c *codec) records(sizes []int, body []byte) ([]wire.Record, error) {
	plain, err := c.decompress(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	list, err := wire.Divide(plain, sizes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return list, nil
}

// whole reads all of a sync.
func whole(r wire.Record) (*telemetry.Trace, error) {
	t, err := r.Unpack()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return t, nil
}

// errUnfit marks a trace that cannot be stored, and never will be.
var errUnfit = errors.New("history: a sync cannot be kept")

// errDamaged marks what cannot be read back.
var errDamaged = errors.New("history: a kept sync is damaged")
