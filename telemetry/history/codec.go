package history

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxTrace bounds what a trace takes, and maxBlock what is unpacked when it is read
	// back: a damaged or foreign file must not fill the memory.
	maxTrace = 32 << 20
	maxBlock = maxTrace + 8*bytesPerBlock
	// window is how far back a sync is compressed by what others say.
	window = 256 << 10
)

// One of each is for everything; both are safe for concurrent use and have nothing to close.
var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(readersAtOnce), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
)

// pack appends compressed bytes, with a checksum.
func pack(to, plain []byte) []byte { return packer.EncodeAll(plain, to) }

// unpack reads what pack wrote.
func unpack(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it is empty", errDamaged)
	}
	plain, err := unpacker.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return plain, nil
}

// errUnfit marks a trace that cannot be stored, and never will be.
var errUnfit = errors.New("history: a sync cannot be kept")

// errDamaged marks what cannot be read back.
var errDamaged = errors.New("history: a kept sync is damaged")
