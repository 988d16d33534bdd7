package safetext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

func TestHidden(t *testing.T) {
	for _, s := range []string{"\x00", "\x07", "\x1b", "\x7f", "\u009b", "\r", "\v", "\f", "\u061c", "\u200b", "\u200d", "\u200e", "\u200f", "\u2028", "\u2029",
		"\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\ufff9", "\U000e0001", "\U000e0041", "\U000e007f", "\u00ad",
		"\U000e0000", "\U000e0002", "\U000e001f", "\U000e0100", "\U000e01ef", "\ufe00", "\ufe0f", "\u034f", "\u115f", "\u1160", "\u3164", "\uffa0", "\u2065", "\u17b4", "\u17b5",
		"\u180b", "\u180d", "\u180f", "\ufff0", "\ufff8"} {
		if got := safetext.Text("a" + s + "b"); got != "a b" {
			t.Errorf("%U passes as %q", []rune(s)[0], got)
		}
	}
	for _, table := range []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector} {
		for r := range unicode.MaxRune {
			if unicode.Is(table, r) && !safetext.Hidden(r) {
				t.Fatalf("%U passes", r)
			}
		}
	}
	for _, s := range []string{"quota small refuses 2 pods", "a\n\tb", "größer → 名前 ✓ …", "\ufffd"} {
		if got := safetext.Text(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
	if got := safetext.Text("a\xffb\xe2\x80"); got != "a\uFFFDb\uFFFD" {
		t.Errorf("what is no character becomes %q", got)
	}
	if got := safetext.Line("a\nb\tc\x1b[2J"); got != "a b c [2J" {
		t.Errorf("a line becomes %q", got)
	}
}

// FuzzText: nothing hidden is left, a line is one, and both stay as they are.
func FuzzText(f *testing.F) {
	f.Add("nginx:\x1b]0;PWNED\x07\x1b[2J")
	f.Add("größer\u009b\xff\u202e\U000e0041\xe2\x80")
	f.Fuzz(func(t *testing.T, s string) {
		text, line := safetext.Text(s), safetext.Line(s)
		if strings.ContainsFunc(text, safetext.Hidden) || strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(text+line) {
			t.Fatalf("%q becomes %q and %q", s, text, line)
		}
		if safetext.Text(text) != text || !safetext.Shown(text) || safetext.Shown(s) != (text == s) || safetext.Line(line) != line {
			t.Fatalf("%q changes once more", s)
		}
	})
}
