// Package filter reads what a person types above a list, and tells whether a row
// matches. It refuses nothing, and knows no list.
package filter

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
)

// MaxTerms bounds a filter; the rest is left out, and the first of it kept as unknown to tell so.
const MaxTerms = 16

// Term is one condition of a filter: its key is "" for a part of a name.
type Term struct {
	Key, Value string
	not        bool
	// Unknown terms filter nothing, and are shown as such.
	Unknown bool
	Text    string
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

// Complete is what a term may go on with that is typed so far: a key, or a value of is:. The
// values of other keys are not known here.
func Complete(typed string) (offers []string) {
	body, minus := strings.CutPrefix(typed, "-")
	key, _, keyed := strings.Cut(body, ":")
	words := slices.Sorted(maps.Keys(termKeys))
	switch {
	case keyed && key == "is":
		words = slices.Sorted(maps.Keys(isWords))
	case keyed:
		return nil
	}
	for _, word := range words {
		offer := word + ":"
		if keyed {
			offer = key + ":" + word
		}
		if minus {
			offer = "-" + offer
		}
		offers = append(offers, offer)
	}
	return offers
}

const knownTerms = "Terms: a part of a name, ns:NAMESPACE, is:OUTCOME, at:QUESTION, reason:TEXT, image:PART and by:MANAGER; a leading minus excludes."

// isWords are the values of is:, each with whether it is of the row's key in a work queue.
var isWords = map[string]bool{"failed": false, "waiting": false, "moving": false, "hold": false, "settled": false,
	"ready": true, "back-off": true, "processing": true, "timer": true, "idle": true}

// OfQueue reports whether the term asks for the state of a key in a work queue.
func (t Term) OfQueue() bool { return t.Key == "is" && isWords[t.Value] }

// Parse reads a filter. It refuses nothing: what it does not know it
// keeps and marks, so that a reader sees why it filters nothing.
func Parse(q string) []Term {
	var terms []Term
	for _, word := range strings.Fields(q) {
		t := Term{Text: word}
		if len(terms) >= MaxTerms {
			t.Unknown = true
			return append(terms, t)
		}
		body := word
		if rest, ok := strings.CutPrefix(word, "-"); ok && rest != "" {
			t.not, body = true, rest
		}
		key, value, keyed := strings.Cut(body, ":")
		if !keyed {
			t.Value = strings.ToLower(body)
		} else {
			t.Key, t.Value = strings.ToLower(key), strings.ToLower(value)
			_, known := termKeys[t.Key]
			_, word := isWords[t.Value]
			t.Unknown = !known || value == "" || t.Key == "is" && !word
		}
		terms = append(terms, t)
	}
	return terms
}

// Values is what a filter can ask of a row.
type Values struct {
	Namespace, Name string
	Is              []string // outcome and state in the queue
	At              string
	// Reasons, Images and Managers are looked up when a term asks for them; nil for none.
	Reasons, Images, Managers func() []string
}

// Holds reports whether all terms hold.
func Holds(terms []Term, x Values) bool {
	for _, t := range terms {
		if !t.Unknown && t.match(x) == t.not {
			return false
		}
	}
	return true
}

func (t Term) match(x Values) bool {
	switch t.Key {
	case "ns":
		return strings.EqualFold(x.Namespace, t.Value)
	case "is":
		return contains(x.Is, t.Value)
	case "at":
		at := strings.ToLower(x.At)
		return at == t.Value || strings.HasPrefix(at, t.Value+".")
	case "reason":
		return x.Reasons != nil && partOf(x.Reasons(), t.Value)
	case "image":
		return x.Images != nil && partOf(x.Images(), t.Value)
	case "by":
		return x.Managers != nil && partOf(x.Managers(), t.Value)
	default:
		return strings.Contains(strings.TrimPrefix(x.Namespace+"/"+x.Name, "/"), t.Value)
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

// Href is the list of a loop with these terms.
func Href(loop string, terms []Term) string {
	if len(terms) == 0 {
		return decision.PathOf(loop)
	}
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.Text
	}
	return decision.PathOf(loop) + "?" + url.Values{"q": {strings.Join(words, " ")}}.Encode()
}

// Without is the filter less one term.
func Without(terms []Term, i int) []Term {
	rest := append([]Term(nil), terms[:i]...)
	return append(rest, terms[i+1:]...)
}

// View is the box and its chips.
func View(l *decision.Loop, terms []Term) views.Filter {
	f := views.Filter{Action: decision.PathOf(l.Name), Label: l.Many(), Hint: "Name, ns:shop, is:waiting"}
	if l.Sizes != "" {
		f.Hint += ", at:RR-3, reason:ImagePullBackOff, image:3.4"
	}
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.Text
		f.Chips = append(f.Chips, views.Chip{Text: Chip(t), Without: Href(l.Name, Without(terms, i)), Unknown: t.Unknown})
	}
	f.Query, f.Known = strings.Join(words, " "), known(terms)
	return f
}

// known is what to say beside terms that filter nothing; "" where all do.
func known(terms []Term) string {
	var list []string
	for i, t := range terms {
		switch {
		case t.Unknown && i >= MaxTerms:
			list = append(list, Beyond("A filter", t))
		case t.Unknown && len(list) == 0:
			list = append(list, knownTerms)
		}
	}
	return strings.Join(list, " ")
}

// Beyond says of a term that a filter, or what else is one, has enough without it.
func Beyond(what string, t Term) string {
	return fmt.Sprintf("%s has at most %d terms: %s and any after it were left out.", what, MaxTerms, prose.Clip(t.Text, 80))
}

// Chip is one term as a person says it.
func Chip(t Term) string {
	if t.not {
		return "not " + strings.TrimPrefix(t.Text, "-")
	}
	return t.Text
}

// Join says a filter in words.
func Join(terms []Term) string {
	var words []string
	for _, t := range terms {
		if !t.Unknown {
			words = append(words, Chip(t))
		}
	}
	if len(words) == 0 {
		return "here"
	}
	return prose.And(words)
}
