package history

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
)

// Kinds of term. Their letters stand in files: none may change its meaning.
const (
	termLoop      = "l"
	termNamespace = "s"
	termName      = "n"
	termResult    = "r"
	termClass     = "c"
	termCode      = "d"
	termLeaf      = "f"
	termQuestion  = "q"
	termAnswer    = "a" // question and answer
	termCause     = "u"
	termText      = "t" // a trigram of the error's message
)

const (
	// gram is how many characters of a message are one term. A query has to give
	// as many.
	gram = 3
	// maxText bounds how much of a message can be found; longer ones repeat
	// whole objects.
	maxText = 1000
	// maxGrams bounds a query, about: so many narrow enough.
	maxGrams = 6
)

// terms are what the syncs of a block can be found by.
type terms struct {
	sets  map[uint64]uint64 // the syncs that have each: a bit for each
	grams map[uint64]bool   // of messages, which have too many
}

// clear forgets them.
func (s *terms) clear() {
	if clear(s.sets); s.sets == nil {
		*s = terms{map[uint64]uint64{}, map[uint64]bool{}}
	}
	clear(s.grams)
}

// term is a hash (FNV-1a, 64 bits) of a kind and its parts: SQLite's query language and
// tokenizers have their own view of everything but letters and digits.
func term(kind string, parts ...string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ uint64(kind[0])) * prime
	for _, p := range parts {
		h *= prime // a zero byte between the parts
		for i := range len(p) {
			h = (h ^ uint64(p[i])) * prime
		}
	}
	return h
}

// word is a term as the index has it.
func word(term uint64) string { return strconv.FormatUint(term, 36) }

// document is all words, as the index takes them.
func (s *terms) document() string {
	text := make([]byte, 0, 14*(len(s.sets)+len(s.grams)))
	for t := range s.sets {
		text = append(strconv.AppendUint(text, t, 36), ' ')
	}
	for t := range s.grams {
		text = append(strconv.AppendUint(text, t, 36), ' ')
	}
	return string(text)
}

// entrySize is the bytes of a term and its set.
const entrySize = 16

// table is the terms of so many syncs with their sets, in the order of the terms.
func (s *terms) table(syncs int) table {
	b := make(table, 0, entrySize*len(s.sets))
	if syncs == 1 {
		return b
	}
	for _, t := range slices.Sorted(maps.Keys(s.sets)) {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, t), s.sets[t])
	}
	return b
}

// table says which syncs of a block have which terms. Any bytes are one. A block of one sync
// has none: the index says it all.
type table []byte

// set is the syncs that have a term.
func (b table) set(term uint64) uint64 {
	at := func(i int) []byte { return b[i*entrySize:] }
	n := len(b) / entrySize
	i := sort.Search(n, func(i int) bool { return binary.BigEndian.Uint64(at(i)) >= term })
	if i == n || binary.BigEndian.Uint64(at(i)) != term {
		return 0
	}
	return binary.BigEndian.Uint64(at(i)[entrySize/2:])
}

// mean is the syncs that a query can mean: those that have one term of each list.
func (b table) mean(m match) uint64 {
	all := ^uint64(0)
	if len(b) == 0 {
		return all
	}
	for _, list := range m.terms {
		any := uint64(0)
		for _, t := range list {
			any |= b.set(t)
		}
		all &= any
	}
	return all
}

// of adds everything that the sync in that place can be found by.
func (s *terms) of(t *telemetry.Trace, class telemetry.Class, place int) {
	bit := uint64(1) << place
	for _, x := range [...][2]string{
		{termLoop, t.Loop}, {termNamespace, t.Namespace}, {termName, t.Name}, {termResult, string(t.Result)},
		{termClass, string(class)}, {termCode, t.Sentence.Code}, {termLeaf, t.Leaf()},
	} {
		s.sets[term(x[0], x[1])] |= bit
	}
	for step := range t.Steps() {
		s.sets[term(termQuestion, step.Question)] |= bit
		s.sets[term(termAnswer, step.Question, step.Answer)] |= bit
	}
	for i := range t.Causes {
		s.sets[term(termCause, string(t.Causes[i].Kind))] |= bit
	}
	if t.Failure != nil {
		for _, g := range grams(t.Failure.Message, maxText) {
			s.grams[term(termText, g)] = true
		}
	}
}

// grams are the trigrams of a message in lower case, so many at most.
func grams(text string, limit int) (list []string) {
	var starts []int
	text = strings.ToLower(text)
	for i := range text + "$" { // one start behind the last character
		if starts = append(starts, i); len(starts) > gram {
			list = append(list, text[starts[len(starts)-1-gram]:i])
		}
		if len(list) == limit {
			break
		}
	}
	return list
}

// match is what a query asks the index for, and then each block's table.
type match struct {
	// text is the index's expression, "" where time alone bounds the query.
	text string
	// terms are lists of which a sync has to have one of each.
	terms [][]uint64
}

// oneOf asks for one of these values; without one it finds nothing.
func oneOf[T ~string](m *match, kind string, values ...T) {
	list, words := make([]uint64, len(values)), []string{"none"}
	for i, v := range values {
		list[i] = term(kind, string(v))
		words = append(words, word(list[i]))
	}
	m.terms = append(m.terms, list)
	m.and("(" + strings.Join(words, " OR ") + ")")
}

// all asks for a term.
func (m *match) all(term uint64) {
	m.terms = append(m.terms, []uint64{term})
	m.and(word(term))
}

func (m *match) and(text string) {
	if m.text != "" {
		m.text += " AND "
	}
	m.text += text
}

// matchOf is the match of a query. names are those that its part of one can mean, nil
// where it gives none or there are too many.
func matchOf(q *telemetry.Query, names []string) (m match, err error) {
	for _, x := range [...][2]string{
		{termLoop, q.Loop}, {termNamespace, q.Namespace}, {termName, q.Name}, {termClass, string(q.Class)}, {termCode, q.Code}, {termLeaf, q.Leaf}, {termCause, string(q.Cause)},
	} {
		if x[1] != "" {
			m.all(term(x[0], x[1]))
		}
	}
	switch {
	case q.Answer != "" && q.Question == "":
		return match{}, fmt.Errorf("%w: an answer without its question: give both, or the question alone", telemetry.ErrBadQuery)
	case q.Answer != "":
		m.all(term(termAnswer, q.Question, q.Answer))
	case q.Question != "":
		m.all(term(termQuestion, q.Question))
	}
	parts := grams(q.Text, len(q.Text))
	if q.Text != "" && len(parts) == 0 {
		return match{}, fmt.Errorf("%w: the part of an error's message is too short with %q: give %d characters or more", telemetry.ErrBadQuery, q.Text, gram)
	}
	// A few from all over it: what stands at its beginning is often common, and each costs the index a walk.
	for i := 0; i < len(parts); i += (len(parts)-1)/maxGrams + 1 {
		m.and(word(term(termText, parts[i])))
	}
	if len(q.Results) > 0 {
		oneOf(&m, termResult, q.Results...)
	}
	if names != nil {
		oneOf(&m, termName, names...)
	}
	return m, nil
}
