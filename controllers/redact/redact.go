// Package redact masks credentials in what others wrote: messages, names and image
// references. What it leaves out stands as one ellipsis.
package redact

import (
	"strings"
	"unicode"

	"github.com/loopscope/loopscope/controllers/safetext"
)

// mask stands for what is left out.
const mask = "…"

// passes bounds how often a text is gone through: what a mask brings side by side may
// look like a credential itself.
const passes = 4

// Text is a text without the credentials that stand in it. It is valid UTF-8 where the
// text is, never more than three times as long, and comes out of a second call the same.
func Text(s string) string {
	return settled(s, func(s string) string { return withoutLogins(scan(s)) })
}

// Line is a text in one line, without credentials and hidden characters: an error, a
// name, a short word of somebody else.
func Line(text string) string { return Text(safetext.Line(text)) }

// Image is an image reference without a login before the host, without credentials, and
// without all that follows a question mark, a number sign or a semicolon: no reference
// that a kubelet can pull has any of them, but people paste them. A digest stays.
func Image(ref string) string {
	return settled(ref, func(ref string) string {
		ref = withoutLogin(ref)
		if i := strings.IndexAny(ref, "?#;"); i >= 0 && i+1 < len(ref) {
			ref = ref[:i+1] + mask
		}
		return scan(ref)
	})
}

// settled applies a step until nothing changes. A text that goes on changing is made to
// evade the patterns.
func settled(s string, step func(string) string) string {
	for range passes {
		next := step(s)
		if next == s {
			return s
		}
		s = next
	}
	return mask
}

// withoutLogins looks at every address in a text on its own.
func withoutLogins(text string) string {
	if !strings.ContainsAny(text, "@?") {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		end := strings.IndexAny(text, " \n\t\"'`,;()<>[]{}")
		switch {
		case end < 0:
			end = len(text)
		case end == 0:
			end = 1
		}
		b.WriteString(withoutQuery(withoutLogin(text[:end])))
		text = text[end:]
	}
	return b.String()
}

// withoutQuery leaves out what follows the question mark of an address.
func withoutQuery(word string) string {
	if address, query, asked := strings.Cut(word, "?"); asked && query != "" && strings.Contains(address, "/") {
		return address + "?" + mask
	}
	return word
}

// withoutLogin leaves out what stands before the last @ that no digest follows. A login
// may contain whatever else would end it.
func withoutLogin(ref string) string {
	name, digest := ref, ""
	if i := strings.LastIndexByte(ref, '@'); i < 0 {
		return ref
	} else if isDigest(ref[i+1:]) {
		name, digest = ref[:i], ref[i:]
	}
	i := strings.LastIndexByte(name, '@')
	if i <= 0 {
		return ref
	}
	scheme := ""
	if s, _, found := strings.Cut(name[:i], "://"); found {
		scheme = s + "://"
	}
	return scheme + mask + name[i:] + digest
}

// isDigest reports whether what follows an @ is algorithm:hex.
func isDigest(s string) bool {
	algorithm, hex, found := strings.Cut(s, ":")
	if !found || algorithm == "" || len(hex) < 32 {
		return false
	}
	return !strings.ContainsFunc(hex, func(r rune) bool { return !unicode.Is(unicode.ASCII_Hex_Digit, r) })
}
