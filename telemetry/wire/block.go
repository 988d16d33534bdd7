package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/internal/recall"
)

// version is that of the syncs in a block. A field that comes later is read and
// written where the version is at least its own.
const version = 1

// maxTexts bounds the texts of a block.
const maxTexts = 1 << 20

// Block is syncs in the making. It is for one goroutine.
type Block struct{ w coder }

// NewBlock is an empty block. Its tables are large: use it again.
func NewBlock() *Block {
	return &Block{coder{known: make(map[string]uint32, 1024), recall: recall.New[uint32](11)}}
}

// Clear empties the block, after an error, too.
func (b *Block) Clear() {
	w := &b.w
	clear(w.texts)
	clear(w.known)
	w.recall.Clear()
	*w = coder{data: w.data[:0], texts: w.texts[:0], known: w.known, recall: w.recall}
}

// Add appends a sync, and says how many bytes it takes, and how many with the
// texts that none before it had. After an error the block is of no use until it was cleared.
func (b *Block) Add(t *telemetry.Trace) (size, took int, err error) {
	w, data, texts := &b.w, len(b.w.data), b.w.size
	w.lists = 0
	w.trace(t)
	if len(w.texts) > maxTexts && w.err == nil {
		w.err = fmt.Errorf("more than %d different texts", maxTexts)
	}
	size = len(w.data) - data
	return size, size + w.size - texts, w.err
}

// AppendTo appends all of it: the list of texts, and the syncs.
func (b *Block) AppendTo(all []byte) []byte {
	w := &b.w
	all = slices.Grow(all, 16+2*len(w.texts)+w.size+len(w.data))
	all = binary.AppendUvarint(binary.AppendUvarint(all, version), uint64(len(w.texts)))
	for _, s := range w.texts {
		all = binary.AppendUvarint(all, uint64(len(s)))
	}
	for _, s := range w.texts {
		all = append(all, s...)
	}
	return append(all, w.data...)
}

// Record is one sync of a block. It is never changed.
type Record struct {
	fields []byte
	texts  []string // of the whole block
}

// Divide gives the syncs of a block, of which the sizes are known. They share its
// bytes: nobody may change those.
func Divide(block []byte, sizes []int) ([]Record, error) {
	w := &coder{data: block, reads: true}
	if err := w.readTexts(); err != nil {
		return nil, err
	}
	list := make([]Record, len(sizes))
	for i, size := range sizes {
		if size < 0 || size > len(w.data) {
			return nil, errShort
		}
		list[i], w.data = Record{w.data[:size], w.texts}, w.data[size:]
	}
	return list, nil
}

// readTexts reads the list of texts, and leaves the rest to be read.
func (w *coder) readTexts() error {
	if v := w.next(); v < 1 || v > version {
		return fmt.Errorf("syncs of version %d, and this program reads up to %d: use the release that wrote them", v, version)
	}
	n := w.next()
	if n > min(maxTexts, uint64(len(w.data))) {
		return errShort
	}
	sizes := make([]uint64, n)
	var total uint64
	for i := range sizes {
		sizes[i] = w.next()
		rest := uint64(len(w.data))
		if total += sizes[i]; sizes[i] > rest || total > rest { // The first, as a sum may begin again at 0.
			return errShort
		}
	}
	if w.err != nil {
		return w.err
	}
	text := string(w.data[:total])
	w.data, w.texts = w.data[total:], make([]string, n)
	for i, size := range sizes {
		w.texts[i], text = text[:size], text[size:]
	}
	return nil
}

// Unpack reads all of it.
func (r *Record) Unpack() (*telemetry.Trace, error) {
	t, w := new(telemetry.Trace), coder{data: r.fields, reads: true, texts: r.texts}
	w.trace(t)
	return t, w.end()
}
