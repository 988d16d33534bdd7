package diagnosis

import "strings"

// longest bounds what a finding quotes; a sentence leaves out more where it has to.
const longest = 160

// between is the text after one mark and before the next; ok where both are there.
func between(s, from, to string) (text string, ok bool) {
	_, rest, _ := strings.Cut(s, from)
	text, _, ok = strings.Cut(rest, to)
	return text, ok
}
