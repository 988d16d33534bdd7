// Package recall finds again what was found for a text, by where the text is in
// memory: most texts of a sync are constants, and the same memory each time.
package recall

import "unsafe"

// spread is for Fibonacci hashing: 2^64 divided by the golden ratio.
const spread = 0x9e3779b97f4a7c15

// Table keeps what was found for some texts. It forgets when two need the same slot,
// so nothing may depend on its memory. It is for one goroutine.
type Table[V any] struct {
	slots []slot[V]
	shift uint
}

// A slot holds the pointer, which keeps the memory from being used for another text.
type slot[V any] struct {
	a     *byte
	size  uint32
	value V
}

// New is a table of two to the power of bits slots, 16 at most.
func New[V any](bits uint) Table[V] { return Table[V]{make([]slot[V], 1<<bits), 64 - bits} }

// Find gives the place of what was kept for this text. Where nothing was, the place
// is empty now, and the caller's to fill.
func (t *Table[V]) Find(a string) (place *V, known bool) {
	p, size := unsafe.StringData(a), length(a)
	s := &t.slots[uint64(uintptr(unsafe.Pointer(p)))*spread>>t.shift]
	if s.a == p && s.size == size {
		return &s.value, true
	}
	*s = slot[V]{a: p, size: size}
	return &s.value, false
}

// length is one more than the text's, so that an empty slot is that of no text. None
// is larger than that.
func length(a string) uint32 { return uint32(len(a)) + 1 }

// Clear forgets everything.
func (t *Table[V]) Clear() { clear(t.slots) }

// Pairs is a Table for two texts at a time.
type Pairs[V any] struct {
	slots []pair[V]
	shift uint
}

type pair[V any] struct {
	a, b         *byte
	sizeA, sizeB uint32
	value        V
}

// NewPairs is a table of two to the power of bits slots, 16 at most.
func NewPairs[V any](bits uint) Pairs[V] { return Pairs[V]{make([]pair[V], 1<<bits), 64 - bits} }

// Find is Table.Find for these two.
func (t *Pairs[V]) Find(a, b string) (place *V, known bool) {
	x := pair[V]{a: unsafe.StringData(a), b: unsafe.StringData(b), sizeA: length(a), sizeB: length(b)}
	s := &t.slots[(uint64(uintptr(unsafe.Pointer(x.a)))*spread^uint64(uintptr(unsafe.Pointer(x.b))))*spread>>t.shift]
	if s.a == x.a && s.b == x.b && s.sizeA == x.sizeA && s.sizeB == x.sizeB {
		return &s.value, true
	}
	*s = x
	return &s.value, false
}

// Clear forgets everything.
func (t *Pairs[V]) Clear() { clear(t.slots) }
