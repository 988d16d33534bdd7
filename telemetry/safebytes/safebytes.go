// Package safebytes takes out of what is about to be sent or written the characters that
// are not for reading (safetext.Hidden), whoever put them there. It may not know what the
// bytes say.
package safebytes

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// Text is a text with a blank for each hidden character, and for each byte that belongs
// to no character.
func Text(b []byte) []byte {
	return replaced(b, func(out []byte, _ rune) []byte { return append(out, ' ') })
}

// JSON is JSON with each hidden character of its strings as an escape: whoever reads it
// gets the very same values.
func JSON(b []byte) []byte {
	return replaced(b, func(out []byte, r rune) []byte {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		return fmt.Appendf(out, `\u%04x`, r)
	})
}

// plain are the bytes that need no second look.
var plain = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		is[c] = !safetext.Hidden(rune(c))
	}
	return is
}()

// replaced returns b itself where nothing is hidden in it, as mostly.
func replaced(b []byte, put func(out []byte, r rune) []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(b); {
		if plain[b[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if size == 1 || safetext.Hidden(r) { // One byte that is not plain is hidden, or of no character.
			out = put(append(out, b[done:i]...), r)
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}
