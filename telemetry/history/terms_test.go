package history

import (
	"hash/fnv"
	"slices"
	"strconv"
	"testing"
)

// word is a term as files have it, by the library's hash.
func word(kind string, parts ...string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))
	for _, p := range parts {
		_, _ = hash.Write(append([]byte{0}, p...))
	}
	return kind + strconv.FormatUint(hash.Sum64(), 36)
}

func TestTermsStayAsTheyAre(t *testing.T) {
	var s terms
	s.add(termLoop, "deployment")
	s.add(termObject, "deployment", "shop", "web")
	s.add(termLoop, "deployment")
	s.grams(termNamePart, "wäb-1", 2)
	s.grams(termText, "abc", 9)
	s.grams(termText, "ab", 9)
	want := []string{
		word(termLoop, "deployment"), word(termObject, "deployment", "shop", "web"),
		word(termNamePart, "wäb"), word(termNamePart, "äb-"), word(termText, "abc"),
	}
	if got := s.list(); !slices.Equal(got, want) {
		t.Errorf("terms %v, want %v", got, want)
	}
}

func BenchmarkDocument(b *testing.B) {
	g := newGenerator(b, 1, 100)
	trace := g.next()
	b.ReportAllocs()
	for b.Loop() {
		_ = document(trace, trace.Class(0))
	}
}
