package history

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// asWritten is a term as files have it, by the library's hash.
func asWritten(kind string, parts ...string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))
	for _, p := range parts {
		_, _ = hash.Write(append([]byte{0}, p...))
	}
	return kind + strconv.FormatUint(hash.Sum64(), 36)
}

func TestTermsStayAsTheyAre(t *testing.T) {
	s := newTerms()
	s.add(termLoop, "deployment")
	s.add(termObject, "deployment", "shop", "web")
	s.add(termLoop, "deployment")
	s.grams(termText, "wäb-1", 2)
	s.grams(termText, "abc", 9)
	s.grams(termText, "ab", 9)
	want := []string{
		asWritten(termLoop, "deployment"), asWritten(termObject, "deployment", "shop", "web"),
		asWritten(termText, "wäb"), asWritten(termText, "äb-"), asWritten(termText, "abc"),
	}
	if got := strings.Fields(s.document()); !slices.Equal(got, want) {
		t.Errorf("terms %v, want %v", got, want)
	}
}

// BenchmarkPack is the work on each of a commit's syncs, SQLite's aside: what
// keeping the history takes from the loops.
func BenchmarkPack(b *testing.B) {
	s := filled(b, nil)
	traces := newGenerator(b, 1, 20).many(64)
	b.ReportAllocs()
	for b.Loop() {
		groups, err := s.groups(traces)
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range groups {
			if _, err := g.pack(s.codec); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(traces)), "µs/sync")
}
