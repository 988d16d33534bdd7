// Package recall finds again what was found for a text, by where the text is in
// memory: most texts of a sync are constants, and the same memory each time.
package recall

import "unsafe"

// Table keeps what was found for some texts, or pairs of them. It forgets when two
// need the same slot, so nothing may depend on its memory. It is for one goroutine.
type Table[V any] struct {
	slots []slot[V]
	shift uint
}

type slot[V any] struct {
	a, b         *byte
	sizeA, sizeB int
	value        V
}

// New is a table of two to the power of bits slots, 16 at most.
func New[V any](bits uint) Table[V] {
	return Table[V]{make([]slot[V], 1<<bits), 64 - bits}
}

// Find gives the place of what was kept for these two texts. Where nothing was,
// the place is empty now, and the caller's to fill.
func (t *Table[V]) Find(a, b string) (place *V, known bool) {
	x := slot[V]{a: unsafe.StringData(a), b: unsafe.StringData(b), sizeA: len(a), sizeB: len(b)}
	const spread = 0x9e3779b97f4a7c15 // Fibonacci hashing: 2^64 divided by the golden ratio
	s := &t.slots[(uint64(uintptr(unsafe.Pointer(x.a)))*spread^uint64(uintptr(unsafe.Pointer(x.b))))*spread>>t.shift]
	// Holding the pointers keeps the memory from being used for another text.
	if s.a == x.a && s.b == x.b && s.sizeA == x.sizeA && s.sizeB == x.sizeB {
		return &s.value, true
	}
	*s = x
	return &s.value, false
}

// Clear forgets everything.
func (t *Table[V]) Clear() { clear(t.slots) }
