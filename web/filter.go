package web

import (
	"net/url"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

// maxTerms bounds a filter; the rest is ignored and said to be unknown.
const maxTerms = 16

// term is one condition of a filter: its key is "" for a part of a name.
type term struct {
	key, value string
	not        bool
	// unknown terms filter nothing, and are shown as such.
	unknown bool
	text    string
}

// termKeys are the terms that are known, with what they mean.
var termKeys = map[string]string{
	"ns":     "ns:NAMESPACE",
	"is":     "is:failed, waiting, moving, hold, settled, ready, back-off, processing",
	"at":     "at:QUESTION",
	"reason": "reason:TEXT",
	"image":  "image:PART",
	"by":     "by:MANAGER",
}

const knownTerms = "Terms: a part of a name, ns:NAMESPACE, is:OUTCOME, at:QUESTION, reason:TEXT, image:PART and by:MANAGER; a leading minus excludes."

// isWords are the values of is:, each with what it says of a row.
var isWords = map[string]bool{"failed": true, "waiting": true, "moving": true, "hold": true, "settled": true,
	"ready": true, "back-off": true, "processing": true, "timer": true, "idle": true}

// parseFilter reads a filter. It refuses nothing: what it does not know it
// keeps and marks, so that a reader sees why it filters nothing.
func parseFilter(q string) []term {
	var terms []term
	for _, word := range strings.Fields(q) {
		t := term{text: word}
		if len(terms) >= maxTerms {
			t.unknown = true
			return append(terms, t)
		}
		body := word
		if rest, ok := strings.CutPrefix(word, "-"); ok && rest != "" {
			t.not, body = true, rest
		}
		key, value, keyed := strings.Cut(body, ":")
		if !keyed {
			t.value = strings.ToLower(body)
		} else {
			t.key, t.value = strings.ToLower(key), strings.ToLower(value)
			_, known := termKeys[t.key]
			t.unknown = !known || value == "" || t.key == "is" && !isWords[t.value]
		}
		terms = append(terms, t)
	}
	return terms
}

// filterValues is what a filter can ask of a row.
type filterValues struct {
	namespace, name string
	is              []string // outcome and state in the queue
	at              string
	// reasons, images and managers are looked up when a term asks for them; nil for none.
	reasons, images, managers func() []string
}

// holds reports whether all terms hold.
func holds(terms []term, x filterValues) bool {
	for _, t := range terms {
		if !t.unknown && t.match(x) == t.not {
			return false
		}
	}
	return true
}

func (t term) match(x filterValues) bool {
	switch t.key {
	case "ns":
		return strings.EqualFold(x.namespace, t.value)
	case "is":
		return contains(x.is, t.value)
	case "at":
		at := strings.ToLower(x.at)
		return at == t.value || strings.HasPrefix(at, t.value+".")
	case "reason":
		return x.reasons != nil && partOf(x.reasons(), t.value)
	case "image":
		return x.images != nil && partOf(x.images(), t.value)
	case "by":
		return x.managers != nil && partOf(x.managers(), t.value)
	default:
		return strings.Contains(x.namespace+"/"+x.name, t.value)
	}
}

// partOf reports whether a text, in small letters, is in one of the list.
func partOf(list []string, text string) bool {
	for _, x := range list {
		if strings.Contains(strings.ToLower(x), text) {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// filterHref is the list of a loop with these terms.
func filterHref(loop string, terms []term) string {
	if len(terms) == 0 {
		return decision.PathOf(loop)
	}
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.text
	}
	return decision.PathOf(loop) + "?" + url.Values{"q": {strings.Join(words, " ")}}.Encode()
}

// without is the filter less one term.
func without(terms []term, i int) []term {
	rest := append([]term(nil), terms[:i]...)
	return append(rest, terms[i+1:]...)
}

// filterView is the box and its chips.
func filterView(l *decision.Loop, terms []term) views.Filter {
	f := views.Filter{Action: decision.PathOf(l.Name), Label: l.Kind + "s", Hint: "Name, ns:shop, is:waiting, at:RR-3, reason:ImagePullBackOff, image:3.4"}
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.text
		f.Chips = append(f.Chips, views.Chip{Text: chipText(t), Without: filterHref(l.Name, without(terms, i)), Unknown: t.unknown})
		if t.unknown {
			f.Known = knownTerms
		}
	}
	f.Query = strings.Join(words, " ")
	return f
}

func chipText(t term) string {
	if t.not {
		return "not " + strings.TrimPrefix(t.text, "-")
	}
	return t.text
}
