package prose

import (
	"strings"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// Ellipsis stands where something was left out.
const Ellipsis = "…"

// Clip is somebody else's text in one line of at most limit characters, without hidden
// ones (safetext). What does not fit is left out at the end.
func Clip(s string, limit int) string {
	if limit < 1 {
		return ""
	}
	some, more := head(s, limit)
	if some = safetext.Line(some); !more {
		return some
	}
	some, _ = head(some, limit-1)
	return some + Ellipsis
}

// head is the first n characters of a text, and whether there are more. A text of any
// length is read no further.
func head(s string, n int) (string, bool) {
	for i := range s {
		if n--; n < 0 {
			return s[:i], true
		}
	}
	return s, false
}

// ClipMiddle is somebody else's words in one line of at most limit characters, without
// hidden ones and the stop at their end. What does not fit is left out of the middle: who
// speaks stands in front, and the answer mostly stands at the end.
func ClipMiddle(s string, limit int) string {
	s = strings.TrimRight(strings.Join(strings.Fields(safetext.Text(s)), " "), ". ")
	r := []rune(s)
	switch {
	case len(r) <= limit:
		return s
	case limit < 1:
		return ""
	}
	const gap = 3 // characters between both ends
	back := (limit - gap) * 2 / 3
	front := limit - gap - back
	if front < 8 { // Too short for both ends: the end has the answer.
		return Ellipsis + string(r[len(r)-limit+1:])
	}
	return strings.TrimSpace(beforeCut(string(r[:front])) + " " + Ellipsis + " " + afterCut(string(r[len(r)-back:])))
}

// beforeCut and afterCut leave out half a word where a text was cut, unless it is most of it.
func beforeCut(s string) string {
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,;:")
}

func afterCut(s string) string {
	if i := strings.IndexByte(s, ' '); i < len(s)/2 {
		s = s[i+1:]
	}
	return strings.TrimLeft(s, " ,;:")
}

// Head is the beginning of a text of at most limit bytes that ends with a whole character.
func Head(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
