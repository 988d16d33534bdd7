package wire

import "strconv"

// A resourceVersion is a text to everybody but API servers. Nearly all are numbers that
// are close to each other, and no two objects have the same: they would be a third of a
// block's texts.
const (
	noVersion uint64 = iota
	numberedVersion
	otherVersion
	versionBits = 2
)

// maxVersion bounds those that are written as numbers: the steps between two of them
// have room beside the two bits.
const maxVersion = 1 << 60

func rv(w *coder, s *string) {
	if w.reads {
		*s = w.readVersion()
		return
	}
	if *s == "" {
		w.uvarint(noVersion)
		return
	}
	n, ok := number(*s)
	if !ok {
		w.uvarint(otherVersion)
		w.text(*s)
		return
	}
	step := n - w.rv
	w.rv = n
	w.uvarint((uint64(step<<1)^uint64(step>>63))<<versionBits | numberedVersion)
}

// number reads a text that is one as strconv writes it. Each sync has dozens of them.
func number(s string) (n int64, ok bool) {
	if len(s) > 18 || s[0] == '0' { // 18 digits are less than maxVersion.
		return n, false
	}
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return n, false
		}
		n = 10*n + int64(digit)
	}
	return n, true
}

func (w *coder) readVersion() string {
	u := w.next()
	switch {
	case u == noVersion:
		return ""
	case u == otherVersion:
		return w.text("")
	case u&(1<<versionBits-1) == numberedVersion:
		u >>= versionBits
		if n := w.rv + signed(u); n > 0 && n < maxVersion {
			w.rv = n
			return strconv.FormatInt(n, 10)
		}
	}
	w.fail()
	return ""
}

func orRV(m *mask, s *string) {
	if m.has(*s != "") {
		rv(m.w, s)
	}
}
