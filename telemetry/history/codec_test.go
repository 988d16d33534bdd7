package history

import (
	"bytes"
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
