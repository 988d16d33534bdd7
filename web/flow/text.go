package flow

import "strings"

// width is about how wide a text of that size is, on the large side.
func width(text string, size int) int {
	sum := 0 // hundredths of the size
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljtfr.,:;'|! ()", r):
			sum += 33
		case strings.ContainsRune("mwMW—", r):
			sum += 88
		case r >= 'A' && r <= 'Z':
			sum += 70
		default:
			sum += 57
		}
	}
	return sum * size / 100
}

// wrap breaks a text between words into lines of that width, the first of which
// has another. A word that is wider stays whole.
func wrap(text string, first, room, size int) []string {
	var lines []string
	line := ""
	limit := first
	for _, word := range strings.Fields(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && width(longer, size) > limit {
			lines = append(lines, line)
			longer, limit = word, room
		}
		line = longer
	}
	if line == "" {
		return lines
	}
	return append(lines, line)
}
