package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/loopscope/loopscope/telemetry/internal/recall"
)

// coder writes fields as bytes, or reads them back: one walk over the fields does
// both, so that what the one does the other undoes. Numbers are varints, and
// instants are counted from the second in which the sync started. Texts are places
// in a list of all those of the block, which have most of them in common, or stand
// where they are.
type coder struct {
	data   []byte // what was written, or what is left to read
	reads  bool
	inline bool              // texts stand where they are
	texts  []string          // the list, without the empty one
	known  map[string]uint32 // their places from 1, while it writes
	recall recall.Table[uint32]
	size   int    // bytes of the texts, while it writes
	lists  uint64 // bytes of all elements of lists
	start  int64  // the second
	rv     int64  // the last resourceVersion
	err    error
}

// end says whether all was read, and nothing else was there.
func (w *coder) end() error {
	if len(w.data) > 0 {
		w.fail()
	}
	return w.err
}

var errShort = errors.New("it ends too early or has a value out of bounds")

// fail ends reading: what follows is empty.
func (w *coder) fail() { w.err, w.data = errShort, nil }

func (w *coder) uvarint(n uint64) uint64 {
	if !w.reads {
		if n < 0x80 {
			w.data = append(w.data, byte(n))
		} else {
			w.data = binary.AppendUvarint(w.data, n)
		}
		return n
	}
	return w.next()
}

// next reads a number.
func (w *coder) next() uint64 {
	n, size := binary.Uvarint(w.data)
	if size <= 0 {
		w.fail()
		return n // which is 0
	}
	w.data = w.data[size:]
	return n
}

func (w *coder) varint(n int64) int64 { return signed(w.uvarint(uint64(n<<1) ^ uint64(n>>63))) }

// signed is the number that varint wrote.
func signed(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// Traces are shared: what is written is only read.

func count(w *coder, n *uint64) {
	if w.reads {
		*n = w.next()
		return
	}
	w.uvarint(*n)
}

func integer[T ~int | ~int64](w *coder, n *T) {
	if w.reads {
		*n = T(signed(w.next()))
		return
	}
	w.varint(int64(*n))
}

func (w *coder) bool(b *bool) {
	switch {
	case w.reads:
		*b = w.next() == 1
	case *b:
		w.uvarint(1)
	default:
		w.uvarint(0)
	}
}

func str[T ~string](w *coder, s *T) {
	if w.reads {
		*s = T(w.text(""))
		return
	}
	w.text(string(*s))
}

func (w *coder) text(s string) string {
	if w.inline {
		return w.here(s)
	}
	if !w.reads {
		w.uvarint(w.place(s))
		return s
	}
	at := w.next()
	switch {
	case at == 0:
		return ""
	case at > uint64(len(w.texts)):
		w.fail()
		return ""
	}
	return w.texts[at-1]
}

// here writes a text where it stands.
func (w *coder) here(s string) string {
	n := w.uvarint(uint64(len(s)))
	switch {
	case !w.reads:
		w.data = append(w.data, s...)
		return s
	case n > uint64(len(w.data)):
		w.fail()
		return ""
	}
	s, w.data = string(w.data[:n]), w.data[n:]
	return s
}

// place is where a text stands in the list; it is added if it does not.
func (w *coder) place(s string) uint64 {
	if s == "" {
		return 0
	}
	place, known := w.recall.Find(s)
	if known {
		return uint64(*place)
	}
	at, ok := w.known[s]
	if !ok {
		w.texts = append(w.texts, s)
		at = uint32(len(w.texts))
		w.known[s] = at
		w.size += len(s)
	}
	*place = at
	return uint64(at)
}

// The years 0 to 9999 in seconds: JSON has no other ones, and nothing is kept that
// could not leave the program.
const firstSecond, lastSecond = -62_167_219_200, 253_402_300_799

// instant keeps the zero time and nanoseconds. It is read back in UTC.
func (w *coder) instant(t *time.Time) {
	switch {
	case w.reads:
		*t = w.readInstant()
	case t.IsZero():
		w.uvarint(0)
	case t.Unix() < firstSecond || t.Unix() > lastSecond:
		w.err = fmt.Errorf("an instant is in the year %d: JSON has those from 0 to 9999", t.Year())
	default:
		from := t.Unix() - w.start
		w.uvarint(uint64(from<<1) ^ uint64(from>>63) + 1)
		w.uvarint(uint64(t.Nanosecond()))
	}
}

func (w *coder) readInstant() time.Time {
	from := w.next()
	if from == 0 {
		return time.Time{}
	}
	from--
	second, nano := w.start+signed(from), w.next()
	if second < firstSecond || second > lastSecond || nano >= uint64(time.Second) {
		w.fail()
		return time.Time{}
	}
	return time.Unix(second, int64(nano)).UTC()
}

// maxLists bounds what the elements of all lists take in memory: compressed, a thousand
// of them can stand in a byte.
const maxLists = 128 << 20

var errLarge = fmt.Errorf("its lists take more than %d MiB", maxLists>>20)

// room notes the elements of a list, and reports whether there is room for them.
func (w *coder) room(n int, each uintptr) bool {
	w.lists += uint64(n) * uint64(each)
	if w.lists <= maxLists {
		return true
	}
	w.err = errLarge
	if w.reads {
		w.data = nil
	}
	return false
}

// each keeps the difference between no list and an empty one.
func each[S ~[]E, E any](w *coder, s *S, one func(*coder, *E)) {
	size := unsafe.Sizeof(*new(E))
	if !w.reads {
		if *s == nil || !w.room(len(*s), size) {
			w.uvarint(0)
			return
		}
		w.uvarint(uint64(len(*s)) + 1)
		for i := range *s {
			one(w, &(*s)[i])
		}
		return
	}
	n := w.next()
	if n == 0 {
		return
	}
	if n--; n > uint64(len(w.data)) { // Each takes a byte at least.
		w.fail()
		return
	}
	if !w.room(int(n), size) {
		return
	}
	*s = make(S, 0, min(n, 64)) // Some elements take a hundred times their bytes: no number alone takes room for them.
	for range n {
		var e E
		if one(w, &e); w.err != nil {
			return
		}
		*s = append(*s, e)
	}
}

// mask is fields of which most are empty: each takes a bit, and bytes where it has a
// value. Its bits stand before the values of all of them.
type mask struct {
	w    *coder
	bits uint32
	next uint32 // the bit of the next field
	at   int    // where the bits stand, while it writes
	size int    // their bytes
}

// mask begins the fields, 8 for each byte at most; end has to end them.
func (w *coder) mask(bytes int) mask {
	m := mask{w: w, next: 1, at: len(w.data), size: bytes}
	switch {
	case !w.reads:
		w.data = append(w.data, "\x00\x00\x00"[:bytes]...)
	case bytes > len(w.data):
		w.fail()
	default:
		for i := range bytes {
			m.bits |= uint32(w.data[i]) << (8 * i)
		}
		w.data = w.data[bytes:]
	}
	return m
}

// end writes the bits.
func (m *mask) end() {
	if m.next > 1<<(8*m.size) {
		panic("wire: a mask has fewer bits than fields")
	}
	if m.w.reads {
		return
	}
	for i := range m.size {
		m.w.data[m.at+i] = byte(m.bits >> (8 * i))
	}
}

// has reports whether the next field has a value: by the bits that were read, or as
// the one says who writes.
func (m *mask) has(value bool) bool {
	bit := m.next
	m.next <<= 1
	if m.w.reads {
		return m.bits&bit != 0
	}
	if value {
		m.bits |= bit
	}
	return value
}

func (m *mask) bool(b *bool) {
	if !m.w.reads {
		m.has(*b)
		return
	}
	*b = m.has(false)
}

func (m *mask) instant(t *time.Time) {
	if m.has(!t.IsZero()) {
		m.w.instant(t)
	}
}

func (m *mask) count(n *uint64) {
	if m.has(*n != 0) {
		count(m.w, n)
	}
}

func orInteger[T ~int | ~int64](m *mask, n *T) {
	if m.has(*n != 0) {
		integer(m.w, n)
	}
}

func orStr[T ~string](m *mask, s *T) {
	if m.has(*s != "") {
		str(m.w, s)
	}
}

func orEach[S ~[]E, E any](m *mask, s *S, one func(*coder, *E)) {
	if m.has(*s != nil) {
		each(m.w, s, one)
	}
}

// maybe is a value that need not be there.
func maybe[E any](m *mask, p **E, one func(*coder, *E)) {
	if !m.has(*p != nil) {
		return
	}
	if m.w.reads {
		*p = new(E)
	}
	one(m.w, *p)
}
