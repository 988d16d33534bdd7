package history

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
)

// Kinds of term. Their letters stand in files: none may change its meaning.
const (
	termLoop      = "l"
	termNamespace = "s"
	termName      = "n"
	termObject    = "o" // loop, namespace and name
	termNamePart  = "p" // a trigram of the name
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
	// gram is how many characters of a name or message are one term. A query
	// has to give as many.
	gram = 3
	// maxText bounds how much of a message can be found; longer ones repeat
	// whole objects.
	maxText = 1000
	// maxGrams bounds a query: the first ones narrow enough.
	maxGrams = 24
)

// terms is a set of words of the index in the order in which they came, with a
// blank between them. A word is letters and digits, whatever it stands for, as
// SQLite's query language and tokenizers have their own view of everything else:
// its kind, and a hash (FNV-1a, 64 bits) of kind and parts to the base of 36. Every
// sync that is kept has a hundred of them, so none is a string of its own.
type terms struct {
	text []byte
	seen map[uint64]bool
}

func (s *terms) add(kind string, parts ...string) {
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
	if s.seen == nil {
		s.seen = make(map[uint64]bool, 128)
		s.text = make([]byte, 0, 2048)
	}
	if s.seen[h] {
		return
	}
	s.seen[h] = true
	if len(s.text) > 0 {
		s.text = append(s.text, ' ')
	}
	s.text = strconv.AppendUint(append(s.text, kind...), h, 36)
}

// term is a single word.
func term(kind string, parts ...string) string {
	var s terms
	s.add(kind, parts...)
	return string(s.text)
}

// list is the words one by one.
func (s *terms) list() []string { return strings.Fields(string(s.text)) }

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

// document is everything that a sync can be found by, as the index takes it.
func document(t *telemetry.Trace, class telemetry.Class) string {
	var s terms
	s.add(termLoop, t.Loop)
	s.add(termNamespace, t.Namespace)
	s.add(termName, t.Name)
	s.add(termObject, t.Loop, t.Namespace, t.Name)
	s.grams(termNamePart, t.Name, maxText)
	s.add(termResult, string(t.Result))
	s.add(termClass, string(class))
	s.add(termCode, t.Sentence.Code)
	s.add(termLeaf, t.Leaf())
	for _, step := range t.Path() {
		s.add(termQuestion, step.Question)
		s.add(termAnswer, step.Question, step.Answer)
	}
	for _, c := range t.Causes {
		s.add(termCause, string(c.Kind))
	}
	if t.Failure != nil {
		s.grams(termText, strings.ToLower(t.Failure.Message), maxText)
	}
	return string(s.text)
}

// match is the index's expression for a query, "" where time alone bounds it.
func match(q *telemetry.Query) (string, error) {
	var s terms
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
		return "", fmt.Errorf("%w: an answer without its question: give both, or the question alone", telemetry.ErrBadQuery)
	default:
		s.given(termQuestion, q.Question)
	}
	if err := s.part(termNamePart, "the part of a name", q.NamePart); err != nil {
		return "", err
	}
	if err := s.part(termText, "the part of an error's message", strings.ToLower(q.Text)); err != nil {
		return "", err
	}
	all := s.list()
	if len(q.Results) > 0 {
		all = append(all, "("+strings.Join(results(q.Results), " OR ")+")")
	}
	return strings.Join(all, " AND "), nil
}

func (s *terms) given(kind, value string) {
	if value != "" {
		s.add(kind, value)
	}
}

func (s *terms) part(kind, what, text string) error {
	if text == "" {
		return nil
	}
	if len([]rune(text)) < gram {
		return fmt.Errorf("%w: %s is too short with %q: give %d characters or more", telemetry.ErrBadQuery, what, text, gram)
	}
	s.grams(kind, text, maxGrams)
	return nil
}

func results(list []telemetry.Result) []string {
	var s terms
	for _, r := range list {
		s.add(termResult, string(r))
	}
	return s.list()
}
