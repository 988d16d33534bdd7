// Package safetext takes out of other people's words what is no word: characters by
// which a terminal can be told to do something, and those that make a text read other
// than it is.
package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character is not for reading: a control character but the
// end of a line and a tab, one that turns the reading direction around, one of no width,
// a tag, one that chooses how the one before is drawn, or another kind of line end.
func Hidden(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Shown reports whether a text is as Text leaves it. Most are ASCII: one look at each byte.
func Shown(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return utf8.ValidString(s[i:]) && !strings.ContainsFunc(s[i:], Hidden)
		case Hidden(rune(c)):
			return false
		}
	}
	return true
}

// Text is a text with a blank for each hidden character. What went through it once
// comes out of it the same.
func Text(s string) string {
	if Shown(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Line is a text in one line, so that it cannot pass for the next one.
func Line(s string) string {
	return Text(oneLine.Replace(s))
}

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")
