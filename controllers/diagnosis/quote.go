package diagnosis

import "strings"

// longest bounds what a finding quotes; a sentence leaves out more where it has to.
const longest = 160

// Quote is somebody else's words in one line of at most limit characters. What
// does not fit is left out of the middle: who speaks stands in front, and the
// answer mostly stands at the end.
func Quote(s string, limit int) string {
	s = strings.TrimRight(strings.Join(strings.Fields(s), " "), ". ")
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	if limit < 2 {
		return "…"
	}
	const join = " … "
	tail := (limit - len([]rune(join))) * 2 / 3
	head := limit - len([]rune(join)) - tail
	if head < 8 { // Too short for both ends: the end has the answer.
		return "…" + string(r[len(r)-limit+1:])
	}
	return front(string(r[:head])) + join + back(string(r[len(r)-tail:]))
}

// front and back leave out half a word where the text was cut, unless it is most of it.
func front(s string) string {
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,;:")
}

func back(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 && i < len(s)/2 {
		s = s[i+1:]
	}
	return strings.TrimLeft(s, " ,;:")
}

// between is the text after one mark and before the next; ok where both are there.
func between(s, from, to string) (text string, ok bool) {
	_, rest, _ := strings.Cut(s, from)
	text, _, ok = strings.Cut(rest, to)
	return text, ok
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
