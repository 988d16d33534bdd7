package history

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/loopscope/loopscope/telemetry"
)

// maxTrace bounds a trace's JSON when it is read back: a damaged or foreign file
// must not fill the memory.
const maxTrace = 64 << 20

// codec turns traces into what is stored and back. It is safe for concurrent use.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// newCodec compresses with the first dictionary and reads what any of them wrote.
func newCodec(dictionaries ...[]byte) (*codec, error) {
	// The next level saves 5 % of the bytes for twice the time.
	write := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true)}
	read := []zstd.DOption{zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxTrace), zstd.WithDecoderLowmem(true)}
	if len(dictionaries) > 0 { // without one traces are more than twice as large
		write = append(write, zstd.WithEncoderDict(dictionaries[0]))
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

func (c *codec) close() {
	_ = c.encoder.Close() // writes nothing: only EncodeAll is used
	c.decoder.Close()
}

func (c *codec) pack(t *telemetry.Trace) ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("%w: sync %s/%d: %w", errUnfit, t.Epoch, t.Seq, err)
	}
	return c.encoder.EncodeAll(text, nil), nil
}

// trace reads a stored trace.
func (c *codec) trace(body []byte) (*telemetry.Trace, error) {
	var t telemetry.Trace
	if err := c.into(body, &t); err != nil {
		return nil, err
	}
	if t.Version > telemetry.TraceVersion {
		return nil, fmt.Errorf("history: a sync of trace version %d, and this program reads up to %d: use the release that wrote it", t.Version, telemetry.TraceVersion)
	}
	return &t, nil
}

// errUnfit marks a trace that cannot be stored, and never will be.
var errUnfit = errors.New("history: a sync cannot be written as JSON")

// errDamaged marks a row that cannot be read back.
var errDamaged = errors.New("history: a kept sync is damaged")

func (c *codec) into(body []byte, v any) error {
	text, err := c.decoder.DecodeAll(body, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}
