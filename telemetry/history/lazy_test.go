package history

import (
	"errors"
	"runtime"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// A sync in the journal takes its share of a block. The block is unpacked once for those
// that read it at about the same time, and what cannot be unpacked is said to be damaged.
func TestSyncsInTheJournal(t *testing.T) {
	c, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	plain := alone(t, named(7, "web", 0))
	x := named(7, "web", 0)
	s := Store{opts: Options{}.withDefaults()}
	groups, err := s.groups([]*telemetry.Trace{x})
	if err != nil {
		t.Fatal(err)
	}
	p := groups[0].pack(c)[0]
	b := &lazyBlock{codec: c, body: c.compress(plain, nil), sizes: p.sizes}
	got, err := (&lazySync{b, 0}).Unpack()
	if err != nil || text(t, got) != text(t, x) {
		t.Errorf("unpacked %v, %v", got, err)
	}
	one, err := b.records()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.records(); err != nil || &again[0] != &one[0] {
		t.Errorf("it was unpacked again, %v", err)
	}
	runtime.KeepAlive(one)
	damaged := &lazyBlock{codec: c, body: make([]byte, 90), sizes: []int{1, 1, 1}}
	if got := (&lazySync{damaged, 0}).Bytes(); got != 90/3+8+16 {
		t.Errorf("it takes %d bytes", got)
	}
	if _, err := (&lazySync{damaged, 0}).Unpack(); !errors.Is(err, errDamaged) {
		t.Errorf("a damaged one: %v", err)
	}
}
