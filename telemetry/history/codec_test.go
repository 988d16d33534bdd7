package history

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// What is compressed comes back, by whichever way it went, and what is damaged does not.
func TestCompress(t *testing.T) {
	c, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	plain := make([]byte, 4*busy)
	for i, r := range newGenerator(t, 5, 3).many(40) {
		copy(plain[i*3000:], alone(t, r))
	}
	for _, n := range []int{0, 1, 500, busy - 1, busy, busy + 0x28, busy + 0xa8, 2*busy + 0x28, len(plain)} {
		body := c.compress(plain[:n], []byte("before"))
		got, err := c.decompress(body[len("before"):])
		if err != nil || !bytes.Equal(got, plain[:n]) {
			t.Errorf("%d bytes come back as %d, %v", n, len(got), err)
		}
		if n < 500 {
			continue
		}
		body[len(body)/2] ^= 0x55
		if got, err := c.decompress(body[len("before"):]); err == nil {
			t.Errorf("%d bytes of which one was damaged come back as %d", n, len(got))
		}
	}
}

// What is unpacked has a bound, and what cannot be unpacked is refused.
func TestUnpacking(t *testing.T) {
	longUnderRace(t)
	c, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	most := make([]byte, maxBlock+1)
	if text, err := unwrap(wrap(most[:maxBlock], nil)); err != nil || len(text) != maxBlock {
		t.Errorf("the largest block comes back as %d bytes, %v", len(text), err)
	}
	if _, err := unwrap(wrap(most, nil)); err == nil || !strings.Contains(err.Error(), "at most 35651584") {
		t.Errorf("a larger one: %v", err)
	}
	packed := wrap([]byte("some text, some text, some text"), nil)
	flipped := slices.Clone(packed)
	flipped[len(flipped)-1] ^= 1
	for _, data := range [][]byte{nil, {0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, packed[:len(packed)-1], flipped, {zstdMagic}, {5, 0, 1, 2, 3, 4, 5}} {
		if text, err := c.decompress(data); err == nil {
			t.Errorf("%v is read as %q", data, text)
		}
		if err := unseal(data, &head{}); !errors.Is(err, errDamaged) {
			t.Errorf("%v is unsealed: %v", data, err)
		}
		if _, err := c.records([]int{1}, data); !errors.Is(err, errDamaged) {
			t.Errorf("%v is of syncs: %v", data, err)
		}
	}
	if err := unseal(wrap([]byte("no CBOR"), nil), &head{}); !errors.Is(err, errDamaged) {
		t.Errorf("text is unsealed: %v", err)
	}
	plain := alone(t, named(1, "web", 0))
	if _, err := c.records([]int{len(plain)}, c.compress(plain, nil)); !errors.Is(err, errDamaged) {
		t.Errorf("a sync that is longer than its block: %v", err)
	}
	list, err := c.records([]int{1}, c.compress(plain, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole(list[0]); !errors.Is(err, errDamaged) {
		t.Errorf("a sync that ends too early: %v", err)
	}
}

// A body is compressed with the dictionary where syncs are few, and fast where they are many.
func TestManySyncsAreCompressedFast(t *testing.T) {
	c, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	for size, is := range map[int]bool{busy - 1: true, busy: false} {
		if body := c.compress(make([]byte, size), nil); body[0] == zstdMagic != is {
			t.Errorf("%d bytes: the body begins with %#x", size, body[0])
		}
	}
}

// A dictionary that is none is no reason for a panic when a file is opened.
func TestDictionariesAreChecked(t *testing.T) {
	for want, list := range map[string][][]byte{"prepare compression": {[]byte("none")}, "prepare decompression": {dictionary, []byte("none")}} {
		if _, err := newCodec(list...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("newCodec = %v, want %q", err, want)
		}
	}
}
