// Package redact masks credentials in what others wrote: messages, names and image
// references. What it leaves out stands as one ellipsis.
package redact

import (
	"strings"
	"unicode"

	"github.com/loopscope/loopscope/telemetry/safetext"
)

// mask stands for what is left out.
const mask = "…"

// passes bounds how often a text is gone through: what a mask brings side by side may
// look like a credential itself.
const passes = 4

// Text is a text without the credentials that stand in it, and without hidden characters
// (safetext). It is valid UTF-8, never more than three times as long, and comes out of a
// second call the same.
func Text(s string) string { return settled(s, masked) }

// Line is a text in one line, without credentials and hidden characters: an error, a
// name, a short word of somebody else.
func Line(text string) string { return line(text, masked) }

// Image is an image reference in one line, without a login before the host, without
// credentials, and without all that follows a question mark, a number sign, a semicolon or
// a percent sign: no reference that a kubelet can pull has any of them, but people paste
// them. A digest stays.
func Image(ref string) string {
	return line(ref, func(ref string) string {
		ref = withoutLogin(ref)
		if i := strings.IndexAny(ref, "?#;%"); i >= 0 && i+1 < len(ref) {
			ref = ref[:i+1] + mask
		}
		return scan(ref)
	})
}

func masked(s string) string { return withoutLogins(scan(s)) }

// line puts a text into one line. It is masked before, as lines tell where a credential
// ends, and after, as it may go on over two.
func line(s string, step func(string) string) string {
	s = settled(s, step)
	if one := safetext.Line(s); one != s {
		return settled(one, step)
	}
	return s
}

// settled applies a step until nothing changes. A text that goes on changing is made to
// evade the patterns.
func settled(s string, step func(string) string) string {
	s = unhidden(s, step)
	for range passes {
		next := step(s)
		if next == s {
			return s
		}
		s = next
	}
	return mask
}

// unhidden is a text with blanks for its hidden characters, or without them where they
// divide a credential that is none otherwise.
func unhidden(s string, step func(string) string) string {
	if safetext.Shown(s) {
		return s
	}
	s = step(s)
	whole := strings.Map(func(r rune) rune {
		if safetext.Hidden(r) {
			return -1
		}
		return r
	}, s)
	if told := step(whole); told != whole {
		return told
	}
	return safetext.Text(s)
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
		word := text[:end]
		if hasLogin(word) && !strings.HasSuffix(b.String(), user) {
			word = withoutLogin(word)
		}
		b.WriteString(withoutQuery(word))
		text = text[end:]
	}
	return b.String()
}

// user is how the API server begins to say who may not do something. Names of users may
// have a colon and an @.
const user = `User "`

// hasLogin reports whether what stands before an @ may be a login, and not the name of a
// person or a package: a colon stands in it, or a scheme before it and no slash.
func hasLogin(word string) bool {
	before := word[:strings.LastIndexByte(word, '@')+1]
	if _, address, found := strings.Cut(before, "://"); found {
		return strings.Contains(address, ":") || !strings.Contains(address, "/")
	}
	return strings.Contains(before, ":")
}

// withoutQuery leaves out what follows the question mark of an address, but what the
// clients of an API server put there.
func withoutQuery(word string) string {
	address, query, _ := strings.Cut(word, "?")
	if query == "" || !strings.Contains(address, "/") {
		return word
	}
	var told []string
	for parameter := range strings.SplitSeq(query, "&") {
		if !everyday(parameter) {
			parameter = mask
		}
		if parameter != mask || len(told) == 0 || told[len(told)-1] != mask {
			told = append(told, parameter)
		}
	}
	return address + "?" + strings.Join(told, "&")
}

// everyday reports whether a parameter of an address has a number or a switch.
func everyday(parameter string) bool {
	name, value, _ := strings.Cut(parameter, "=")
	switch name {
	case "timeout", "timeoutSeconds", "limit", "resourceVersion", "watch", "allowWatchBookmarks":
		return value == "true" || value == "false" || value != "" && len(value) < 20 && strings.Trim(strings.TrimRight(value, "hms"), "0123456789") == ""
	}
	return false
}

// withoutLogin leaves out what stands before the last @ that no digest follows. A login
// may contain whatever else would end it.
func withoutLogin(ref string) string {
	name, digest := ref, ""
	if i := strings.LastIndexByte(ref, '@'); i > 0 && isDigest(ref[i+1:]) {
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

// isDigest reports whether what follows an @ is algorithm:hex. One of the usual kind may
// be shortened.
func isDigest(s string) bool {
	if strings.HasPrefix(s, "sha256:") {
		return true
	}
	algorithm, hex, _ := strings.Cut(s, ":")
	if algorithm == "" || len(hex) < 32 {
		return false
	}
	return !strings.ContainsFunc(hex, func(r rune) bool { return !unicode.Is(unicode.ASCII_Hex_Digit, r) })
}
