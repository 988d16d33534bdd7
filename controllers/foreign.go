package controllers

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/controllers/safetext"
)

// longestForeign bounds the words of others that the record keeps of one
// message, in bytes. Nothing reads further than that, and a webhook may say as
// much as it likes.
const longestForeign = 2 << 10

// foreign is the words of somebody else as the record may hold them: nothing that is
// not for reading (safetext), no login in an address, and a bearable length. Words
// that went through it once come out of it the same.
func foreign(text string) string {
	text = safetext.Text(text)
	if strings.ContainsAny(text, "@?") {
		text = withoutLogins(text)
	}
	if len(text) <= longestForeign {
		return text
	}
	cut := longestForeign - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// withoutLogins looks at every address in a text on its own.
func withoutLogins(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		end := strings.IndexAny(text, " \n\t\"'`,;()<>[]{}")
		switch {
		case end < 0:
			end = len(text)
		case end == 0:
			end = 1
		}
		b.WriteString(withoutLogin(text[:end]))
		text = text[end:]
	}
	return b.String()
}

// imageName is an image reference or another address without what must not be
// told: a login before the host, and everything after a question mark. No
// reference that a kubelet can pull has either, but people paste them. A digest
// follows an @, too, and stays.
func imageName(ref string) string { return withoutLogin(safetext.Line(ref)) }

func withoutLogin(ref string) string {
	if address, query, asked := strings.Cut(ref, "?"); asked && query != "" && strings.Contains(address, "/") {
		ref = address + "?…"
	}
	name, digest := ref, ""
	if i := strings.LastIndexByte(ref, '@'); i < 0 {
		return ref
	} else if isDigest(ref[i+1:]) {
		name, digest = ref[:i], ref[i:]
	}
	i := strings.LastIndexByte(name, '@')
	if i < 0 {
		return ref
	}
	scheme := ""
	if s, _, found := strings.Cut(name[:i], "://"); found {
		scheme = s + "://"
	}
	return scheme + "…" + name[i:] + digest
}

// isDigest reports whether what follows an @ is algorithm:hex.
func isDigest(s string) bool {
	algorithm, hex, found := strings.Cut(s, ":")
	if !found || algorithm == "" || len(hex) < 32 {
		return false
	}
	return !strings.ContainsFunc(hex, func(r rune) bool { return !unicode.Is(unicode.ASCII_Hex_Digit, r) })
}

// notDeleted begins the error of a refused deletion, but not its event ([3.8]).
const notDeleted = "unable to delete pods: "

// hearsay remembers, for one sync, what others said in their very words, where
// the record holds other ones. What is published must be the very words: a
// status write stores the conditions of its body. The zero value is ready, and
// stays empty in all but a few syncs. Safe for concurrent use.
type hearsay struct {
	mu       sync.Mutex
	verbatim map[string]string // by the words of the record
}

// hear returns the words that the record may hold.
func (h *hearsay) hear(text string) string {
	told := foreign(text)
	if told != text {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.verbatim == nil {
			h.verbatim = map[string]string{}
		}
		h.verbatim[told] = text
	}
	return told
}

// hearFailure does the same for the message of an API server. Events leave out
// the words that acting puts before that of a deletion.
func (h *hearsay) hearFailure(f *decision.Failure) {
	if f == nil {
		return
	}
	if message, wrapped := strings.CutPrefix(f.Message, notDeleted); wrapped {
		f.Message = notDeleted + h.hear(message)
		return
	}
	f.Message = h.hear(f.Message)
}

// repeat puts the very words back into what is to be published. They may stand
// behind words of ours.
func (h *hearsay) repeat(told string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	words := ""
	for w := range h.verbatim {
		if w != "" && len(w) > len(words) && strings.HasSuffix(told, w) {
			words = w
		}
	}
	if words == "" {
		return told
	}
	return strings.TrimSuffix(told, words) + h.verbatim[words]
}

// condition is how every condition of a snapshot is copied.
func (h *hearsay) condition(kind, status, reason, message string) decision.Condition {
	return decision.Condition{Type: h.hear(kind), Status: h.hear(status), Reason: h.hear(reason), Message: h.hear(message)}
}
