package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// FuzzSafeWriter: in whatever pieces a text is written, it comes out as Text has it, and
// nothing hidden is left.
func FuzzSafeWriter(f *testing.F) {
	f.Add("nginx:\x1b]0;PWNED\x07\x1b[2J", uint8(1))
	f.Add("größer\u009b\xff\u202e\U000e0041\xe2\x80", uint8(2))
	f.Add("\xf0\x9f\x98\x80", uint8(3))
	f.Fuzz(func(t *testing.T, text string, piece uint8) {
		var out bytes.Buffer
		w := newSafeWriter(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), 1+int(piece%7))
			if got, err := w.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", got, n, err)
			}
			rest = rest[n:]
		}
		got := out.String()
		if strings.ContainsFunc(got, safetext.Hidden) || !utf8.ValidString(got) {
			t.Fatalf("%q is written as %q", text, got)
		}
		if want := safetext.Text(text); utf8.ValidString(text) && got != want {
			t.Fatalf("%q is written as %q, want %q", text, got, want)
		}
	})
}
