// Package prose has what sentences, pages and error messages put texts together with:
// plurals, lists, numbers and lengths of time as people read them, and other people's
// texts cut to a bearable length.
package prose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Number is whatever something can be counted in.
type Number interface{ ~int | ~int64 | ~uint64 }

// Plural is the word that goes with n.
func Plural[N Number](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count is a number with its noun, of which the plural ends in s: 1 cause, 3 causes.
func Count[N Number](n N, noun string) string {
	return Thousands(n) + " " + Plural(n, noun, noun+"s")
}

// Thousands is a number with commas: 12,113.
func Thousands[N Number](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// And is a list as a sentence has it: a, b and c.
func And(list []string) string { return series(list, " and ") }

// Or is a choice as a sentence has it: a, b or c.
func Or(list []string) string { return series(list, " or ") }

func series(list []string, last string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + last + list[n-1]
	}
	return strings.Join(list, "")
}

// Some is a list of which most are named, where there are more of them: a, b and 3 more.
func Some(list []string, most int) string {
	text := strings.Join(list[:min(len(list), most)], ", ")
	if more := len(list) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// OrNone is a value, or a word for an empty one.
func OrNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Upper is a text with a capital letter at its beginning.
func Upper(s string) string { return first(s, unicode.ToUpper) }

// Lower is a text with a small letter at its beginning.
func Lower(s string) string { return first(s, unicode.ToLower) }

func first(s string, to func(rune) rune) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return s
	}
	return string(to(r)) + s[size:]
}

// CommonPrefix is the length in bytes of what two texts both begin with.
func CommonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// LastClause is what stands behind the last colon and blank of an error, where that of
// whoever it began with is.
func LastClause(message string) string {
	if i := strings.LastIndex(message, ": "); i >= 0 {
		return message[i+len(": "):]
	}
	return message
}

const day = 24 * time.Hour

// Span is a length of time with at most two units: 0.4s, 12s, 4m 48s, 2h 10m, 6d 3h, from a
// hundred days on with one, so that it takes 7 characters at most. One that is negative is 0s.
// console.js writes the same.
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("0.%ds", max(1, d/(100*time.Millisecond)))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return two(d, time.Hour, "h", time.Minute, "m")
	case d < 100*day:
		return two(d, day, "d", time.Hour, "h")
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

// Rough is a length of time by its largest unit alone, for what is not to change every second:
// 4m, 2h, 6d.
func Rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

func two(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	if rest := d % big / small; rest > 0 {
		return fmt.Sprintf("%d%s %d%s", d/big, bigName, rest, smallName)
	}
	return fmt.Sprintf("%d%s", d/big, bigName)
}
