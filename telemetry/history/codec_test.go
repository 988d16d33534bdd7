package history

import (
	"bytes"
	"errors"
	"testing"
)

// What is compressed comes back, and what is damaged does not.
func TestCompress(t *testing.T) {
	plain := alone(t, newGenerator(t, 5, 3).many(40)...)
	for _, n := range []int{0, 1, 500, 5000, len(plain)} {
		body := pack([]byte("before"), plain[:n])
		got, err := unpack(body[len("before"):])
		if err != nil || !bytes.Equal(got, plain[:n]) {
			t.Errorf("%d bytes come back as %d, %v", n, len(got), err)
		}
		if n < 500 {
			continue
		}
		body[len(body)/2] ^= 0x55
		if got, err := unpack(body[len("before"):]); !errors.Is(err, errDamaged) {
			t.Errorf("%d bytes of which one was damaged come back as %d, %v", n, len(got), err)
		}
	}
}

// What is unpacked has a bound, and what cannot be unpacked is refused.
func TestUnpacking(t *testing.T) {
	longUnderRace(t)
	most := make([]byte, maxBlock+1)
	if text, err := unpack(pack(nil, most[:maxBlock])); err != nil || len(text) != maxBlock {
		t.Errorf("the largest block comes back as %d bytes, %v", len(text), err)
	}
	if text, err := unpack(pack(nil, most)); !errors.Is(err, errDamaged) {
		t.Errorf("a larger one comes back as %d bytes, %v", len(text), err)
	}
	packed := pack(nil, []byte("some text, some text, some text"))
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-1] ^= 1
	for _, data := range [][]byte{nil, {0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, packed[:len(packed)-1], flipped, {0x28}, append(packed, 0)} {
		if text, err := unpack(data); !errors.Is(err, errDamaged) {
			t.Errorf("%v is read as %q, %v", data, text, err)
		}
	}
}
