package history

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/internal/recall"
)

// Kinds of term. Their letters stand in files: none may change its meaning.
const (
	termLoop      = "l"
	termNamespace = "s"
	termName      = "n"
	termObject    = "o" // loop, namespace and name
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

// terms is the set of words of some syncs, for the index: a word is letters and
// digits, whatever it stands for, as SQLite's query language and tokenizers have
// their own view of everything else: its kind, and a hash (FNV-1a, 64 bits) of kind
// and parts to the base of 36. Every sync has a hundred of them, and shares nearly
// all with those beside it.
type terms struct {
	words  []word
	places map[uint64]int // of the words
	marks  []byte         // of those words that have one, four bytes each
	marked map[uint32]bool
	// doubled is set where two words have the same mark.
	doubled bool
	// rows are the places of the marks of every sync, some of them twice, one sync
	// after the other; ends are where they end.
	rows []int32
	ends []int
	// steps are the places of the marks of questions and their answers.
	steps recall.Pairs[[2]int32]
}

type word struct {
	kind string
	hash uint64
	at   int32 // of its mark, -1 where it has none
}

func (w word) String() string { return string(w.append(nil)) }

func (w word) append(b []byte) []byte { return strconv.AppendUint(append(b, w.kind...), w.hash, 36) }

// mark is what a block's table of contents knows a word by.
func (w word) mark() uint32 { return uint32(w.hash) }

func newWord(kind string, parts ...string) word {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(kind) {
		h = (h ^ uint64(kind[i])) * prime
	}
	for _, p := range parts {
		h *= prime // a zero byte between the parts
		for i := range len(p) {
			h = (h ^ uint64(p[i])) * prime
		}
	}
	return word{kind: kind, hash: h}
}

func newTerms() *terms {
	return &terms{places: map[uint64]int{}, marked: map[uint32]bool{}, steps: recall.NewPairs[[2]int32](7)}
}

// clear forgets the terms, and their marks.
func (s *terms) clear() {
	clear(s.places)
	clear(s.marked)
	s.steps.Clear()
	s.words, s.marks, s.rows, s.ends, s.doubled = s.words[:0], s.marks[:0], s.rows[:0], s.ends[:0], false
}

// add adds a word to the sync at hand, and returns the place of its mark, -1 where
// it has none.
func (s *terms) add(kind string, parts ...string) int32 {
	w := newWord(kind, parts...)
	place, ok := s.places[w.hash]
	if !ok {
		place = len(s.words)
		s.places[w.hash] = place
		if w.at = -1; marked(kind) {
			w.at = int32(len(s.marks) / 4)
			s.marks = binary.LittleEndian.AppendUint32(s.marks, w.mark())
			s.doubled = s.doubled || s.marked[w.mark()]
			s.marked[w.mark()] = true
		}
		s.words = append(s.words, w)
	}
	at := s.words[place].at
	if at >= 0 {
		s.rows = append(s.rows, at)
	}
	return at
}

// marked reports whether tables of contents have this kind of word. Objects
// stand there as they are, and messages have too many words.
func marked(kind string) bool {
	switch kind {
	case termResult, termCode, termLeaf, termQuestion, termAnswer, termCause:
		return true
	}
	return false
}

// document is all words, as the index takes them.
func (s *terms) document() string {
	text := make([]byte, 0, 16*len(s.words))
	for i, w := range s.words {
		if i > 0 {
			text = append(text, ' ')
		}
		text = w.append(text)
	}
	return string(text)
}

func (s *terms) grams(kind, text string, limit int) {
	var starts []int
	for i := range text {
		if starts = append(starts, i); len(starts) > gram && len(starts) <= limit+gram {
			s.add(kind, text[starts[len(starts)-1-gram]:i])
		}
	}
	if n := len(starts); n >= gram && n-gram < limit {
		s.add(kind, text[starts[n-gram]:])
	}
}

// of adds everything that a sync can be found by.
func (s *terms) of(t *telemetry.Trace, class telemetry.Class) {
	s.add(termLoop, t.Loop)
	s.add(termNamespace, t.Namespace)
	s.add(termName, t.Name)
	s.add(termObject, t.Loop, t.Namespace, t.Name)
	s.add(termResult, string(t.Result))
	s.add(termClass, string(class))
	s.add(termCode, t.Sentence.Code)
	s.add(termLeaf, t.Leaf())
	for step := range t.Steps() {
		s.step(step.Question, step.Answer)
	}
	for _, c := range t.Causes {
		s.add(termCause, string(c.Kind))
	}
	if t.Failure != nil {
		s.grams(termText, strings.ToLower(t.Failure.Message), maxText)
	}
	s.ends = append(s.ends, len(s.rows))
}

func (s *terms) step(question, answer string) {
	places, known := s.steps.Find(question, answer)
	if known {
		s.rows = append(s.rows, places[:]...)
		return
	}
	*places = [2]int32{s.add(termQuestion, question), s.add(termAnswer, question, answer)}
}

// bits are a row for each sync, of so many bytes, with a bit for each mark.
func (s *terms) bits(row int) []byte {
	bits, from := make([]byte, len(s.ends)*row), 0
	for i, end := range s.ends {
		for _, place := range s.rows[from:end] {
			bits[i*row+int(place)/8] |= 1 << (place % 8)
		}
		from = end
	}
	return bits
}

// match is what a query asks the index for, and then each table of contents.
type match struct {
	// text is the index's expression, "" where time alone bounds the query.
	text string
	// all are the marks that a sync has to have, any those of which it needs one.
	all, any []uint32
}

// names are those that the query's part of one can mean, nil where it gives none
// or there are too many.
func matchOf(q *telemetry.Query, names []string) (match, error) {
	s := newTerms()
	if q.Loop != "" && q.Namespace != "" && q.Name != "" {
		s.add(termObject, q.Loop, q.Namespace, q.Name)
	} else {
		s.given(termLoop, q.Loop)
		s.given(termNamespace, q.Namespace)
		s.given(termName, q.Name)
	}
	s.given(termClass, string(q.Class))
	s.given(termCode, q.Code)
	s.given(termLeaf, q.Leaf)
	s.given(termCause, string(q.Cause))
	switch {
	case q.Question != "" && q.Answer != "":
		s.add(termAnswer, q.Question, q.Answer)
	case q.Answer != "":
		return match{}, fmt.Errorf("%w: an answer without its question: give both, or the question alone", telemetry.ErrBadQuery)
	default:
		s.given(termQuestion, q.Question)
	}
	switch n := len([]rune(q.Text)); {
	case n >= gram:
		s.some(termText, strings.ToLower(q.Text))
	case n > 0:
		return match{}, fmt.Errorf("%w: the part of an error's message is too short with %q: give %d characters or more", telemetry.ErrBadQuery, q.Text, gram)
	}
	var m match
	var all []string
	for _, w := range s.words {
		all = append(all, w.String())
		if marked(w.kind) {
			m.all = append(m.all, w.mark())
		}
	}
	if len(q.Results) > 0 {
		all = append(all, oneOf(termResult, q.Results))
		for _, r := range q.Results {
			m.any = append(m.any, newWord(termResult, string(r)).mark())
		}
	}
	if names != nil {
		all = append(all, oneOf(termName, names))
	}
	m.text = strings.Join(all, " AND ")
	return m, nil
}

// oneOf asks for any of these words; without one it finds nothing.
func oneOf[T ~string](kind string, values []T) string {
	any := []string{kind}
	for _, v := range values {
		any = append(any, newWord(kind, string(v)).String())
	}
	return "(" + strings.Join(any, " OR ") + ")"
}

func (s *terms) given(kind, value string) {
	if value != "" {
		s.add(kind, value)
	}
}

// some adds a few trigrams of a text, from all over it: what stands at its
// beginning is often common, and each costs the index a walk.
func (s *terms) some(kind, text string) {
	var starts []int
	for i := range text {
		starts = append(starts, i)
	}
	starts = append(starts, len(text))
	last := len(starts) - 1 - gram
	for i := 0; i < last; i += last/maxGrams + 1 {
		s.add(kind, text[starts[i]:starts[i+gram]])
	}
	s.add(kind, text[starts[last]:])
}
