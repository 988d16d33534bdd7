package history

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/loopscope/loopscope/telemetry"
)

// maxTrace bounds a trace's JSON, and maxBlock what is unpacked when it is read
// back: a damaged or foreign file must not fill the memory.
const (
	maxTrace = 32 << 20
	maxBlock = maxTrace + 2*bytesPerBlock
)

// codec turns blocks into what is stored and back. It is safe for concurrent use.
type codec struct {
	encoder *zstd.Encoder // of syncs, with the dictionary
	// contents is that of tables of contents, which a dictionary of syncs does not help.
	contents *zstd.Encoder
	decoder  *zstd.Decoder
}

// newCodec compresses with the first dictionary and reads what any of them wrote.
func newCodec(dictionaries ...[]byte) (*codec, error) {
	// The next level saves 5 % of the bytes for twice the time.
	plain := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true)}
	write, read := plain, []zstd.DOption{zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true)}
	if len(dictionaries) > 0 { // without one a sync alone is twice as large
		write = append(plain[:len(plain):len(plain)], zstd.WithEncoderDict(dictionaries[0]))
		read = append(read, zstd.WithDecoderDicts(dictionaries...))
	}
	encoder, err := zstd.NewWriter(nil, write...)
	if err != nil {
		return nil, fmt.Errorf("history: prepare compression: %w", err)
	}
	contents, err := zstd.NewWriter(nil, plain...)
	if err != nil {
		return nil, fmt.Errorf("history: prepare compression: %w", err)
	}
	decoder, err := zstd.NewReader(nil, read...)
	if err != nil {
		return nil, fmt.Errorf("history: prepare decompression: %w", err)
	}
	return &codec{encoder, contents, decoder}, nil
}

func (c *codec) close() {
	_, _ = c.encoder.Close(), c.contents.Close() // write nothing: only EncodeAll is used
	c.decoder.Close()
}

// head reads a block's table of contents.
func (c *codec) head(data []byte) (*head, error) {
	text, err := c.decoder.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	var h head
	if err := cbor.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	return &h, nil
}

// hits reads what lists say of a block's syncs.
func (c *codec) hits(h *head, data []byte) ([]hit, error) {
	text, err := c.decoder.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	var list []hit
	if err := cbor.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if len(list) != len(h.Seqs) {
		return nil, fmt.Errorf("%w: its list does not fit its table of contents", errDamaged)
	}
	return list, nil
}

// stored is a sync as it was stored: its JSON, and its snapshot's.
type stored struct{ text, snapshot []byte }

// records unpacks the body of a block.
func (c *codec) records(h *head, body []byte) ([]stored, error) {
	plain, err := c.decoder.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	list := make([]stored, len(h.Sizes))
	for i, size := range h.Sizes {
		if size[0]+size[1] > len(plain) {
			return nil, fmt.Errorf("%w: it is shorter than its table of contents says", errDamaged)
		}
		list[i] = stored{plain[:size[0]:size[0]], plain[size[0] : size[0]+size[1] : size[0]+size[1]]}
		plain = plain[size[0]+size[1]:]
	}
	return list, nil
}

// trace reads all of it.
func (r stored) trace() (*telemetry.Trace, error) {
	var t telemetry.Trace
	if err := json.Unmarshal(r.text, &t); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if t.Version > telemetry.TraceVersion {
		return nil, fmt.Errorf("history: a sync of trace version %d, and this program reads up to %d: use the release that wrote it", t.Version, telemetry.TraceVersion)
	}
	if len(r.snapshot) > 0 {
		if !json.Valid(r.snapshot) {
			return nil, fmt.Errorf("%w: its snapshot is no JSON", errDamaged)
		}
		t.Snapshot = r.snapshot
	}
	return &t, nil
}

// errUnfit marks a trace that cannot be stored, and never will be.
var errUnfit = errors.New("history: a sync cannot be written as JSON")

// errDamaged marks what cannot be read back.
var errDamaged = errors.New("history: a kept sync is damaged")
