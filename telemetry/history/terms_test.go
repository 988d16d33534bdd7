package history

import (
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// asking makes a sync that was asked these questions, and answered yes to all of them.
func asking(seq int, questions ...string) *telemetry.Trace {
	x := named(seq, "web", time.Duration(seq)*time.Millisecond)
	var path decision.Path
	for _, q := range questions {
		path = append(path, decision.Step{Question: q, Answer: "yes"})
	}
	x.Rounds = []decision.Round{{Verdict: decision.Verdict{Path: path}}}
	return x
}

// A query asks for every trigram of a short text, and for some of a long one.
func TestSomeGrams(t *testing.T) {
	for text, want := range map[string][]string{
		"abc": {"abc"}, "abcd": {"abc", "bcd"}, "abcdefgh": {"abc", "bcd", "cde", "def", "efg", "fgh"},
		"abcdefghi": {"abc", "cde", "efg", "ghi"}, "äbcdefghijklmnö": {"äbc", "def", "ghi", "jkl", "mnö"},
	} {
		m, err := matchOf(&telemetry.Query{Text: strings.ToUpper(text)}, nil)
		var grams []string
		for _, gram := range want {
			grams = append(grams, asWritten(termText, gram))
		}
		if got := strings.Split(m.text, " AND "); err != nil || !slices.Equal(got, grams) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// hashed is a term by the library's hash.
func hashed(kind string, parts ...string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))
	for _, p := range parts {
		_, _ = hash.Write(append([]byte{0}, p...))
	}
	return hash.Sum64()
}

// asWritten is a term as files have it.
func asWritten(kind string, parts ...string) string {
	return strconv.FormatUint(hashed(kind, parts...), 36)
}

func TestTermsStayAsTheyAre(t *testing.T) {
	for _, parts := range [][]string{{""}, {"deployment"}, {"Q-1", "yes"}, {"ä\xff"}} {
		if got := term(termAnswer, parts...); got != hashed("a", parts...) {
			t.Errorf("%q is %x", parts, got)
		}
	}
}

// BenchmarkPack is the work on each of a commit's syncs, SQLite's aside: what
// keeping the history takes from the loops.
func BenchmarkPack(b *testing.B) {
	s := filled(b, nil)
	traces := newGenerator(b, 1, 20).many(64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.divide(traces); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(traces)), "µs/sync")
}

// Everything that a sync can be found by stands in the index, and but for trigrams in the
// table, with a bit for each sync.
func TestTermsOfSyncs(t *testing.T) {
	first, second := asking(1, "Q-1", "Q-2"), asking(2, "Q-1", "Q-3", "Q-4", "Q-5")
	first.Result, first.Sentence.Code = telemetry.ResultFailed, "quota"
	first.Causes = []telemetry.Cause{{Kind: telemetry.CauseTimer}, {Kind: telemetry.CauseStart}}
	first.Failure = &decision.Failure{Message: "NO ä!"}
	s := emptyTerms()
	s.of(first, telemetry.ClassFailed, 0)
	s.of(second, telemetry.ClassQuiet, 63)
	const a, b = 1, 1 << 63
	table, words := s.table(2), []string{asWritten("t", "no "), asWritten("t", "o ä"), asWritten("t", " ä!")}
	for _, c := range []struct {
		kind  string
		parts []string
		set   uint64
	}{
		{"l", []string{"deployment"}, a | b}, {"s", []string{"shop"}, a | b}, {"n", []string{"web"}, a | b},
		{"r", []string{"failed"}, a}, {"r", []string{""}, b}, {"c", []string{"failed"}, a}, {"c", []string{"quiet"}, b}, {"d", []string{"quota"}, a}, {"d", []string{""}, b},
		{"f", []string{"Q-2"}, a}, {"f", []string{"Q-5"}, b}, {"q", []string{"Q-1"}, a | b}, {"a", []string{"Q-1", "yes"}, a | b}, {"q", []string{"Q-2"}, a}, {"a", []string{"Q-2", "yes"}, a},
		{"u", []string{"timer"}, a}, {"u", []string{"start"}, a},
		{"q", []string{"Q-3"}, b}, {"a", []string{"Q-3", "yes"}, b}, {"q", []string{"Q-4"}, b}, {"a", []string{"Q-4", "yes"}, b}, {"q", []string{"Q-5"}, b}, {"a", []string{"Q-5", "yes"}, b},
	} {
		if got := table.set(hashed(c.kind, c.parts...)); got != c.set {
			t.Errorf("%s %q have %x, want %x", c.kind, c.parts, got, c.set)
		}
		words = append(words, asWritten(c.kind, c.parts...))
	}
	for _, none := range []uint64{0, ^uint64(0), hashed("t", "no "), hashed("q", "Q-6")} {
		if got := table.set(none); got != 0 {
			t.Errorf("%x has %x", none, got)
		}
	}
	if got, want := slices.Sorted(slices.Values(strings.Fields(s.document()))), slices.Sorted(slices.Values(words)); !slices.Equal(got, want) {
		t.Errorf("the index is given\n%s, want\n%s", got, want)
	}
}

// Any bytes are a table, of which the last ones may be no entry.
func TestTables(t *testing.T) {
	s := emptyTerms()
	s.sets[5], s.sets[9], s.sets[1] = 0b011, 0b110, 0b100
	whole := s.table(3)
	if one := s.table(1); len(one) > 0 {
		t.Errorf("that of one sync has %d bytes", len(one))
	}
	for _, c := range []struct {
		table table
		terms [][]uint64
		want  uint64
	}{
		{whole, nil, ^uint64(0)}, {nil, nil, ^uint64(0)}, {nil, [][]uint64{{5}}, ^uint64(0)}, {whole, [][]uint64{{}}, 0}, {whole, [][]uint64{{5}}, 0b011}, {whole, [][]uint64{{7}}, 0},
		{whole, [][]uint64{{5}, {9}}, 0b010}, {whole, [][]uint64{{5, 1}}, 0b111}, {whole, [][]uint64{{7, 1}, {9}}, 0b100}, {whole, [][]uint64{{5}, {1}}, 0},
		{whole[:len(whole)-1], [][]uint64{{9}}, 0}, {whole[:len(whole)-1], [][]uint64{{5}}, 0b011},
	} {
		if got := c.table.mean(match{terms: c.terms}); got != c.want {
			t.Errorf("%v: %b, want %b", c.terms, got, c.want)
		}
	}
}

func TestGrams(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  []string
	}{
		{"", 9, nil}, {"ab", 9, nil}, {"abc", 9, []string{"abc"}}, {"abcd", 9, []string{"abc", "bcd"}}, {"abcde", 3, []string{"abc", "bcd", "cde"}},
		{"abcdef", 3, []string{"abc", "bcd", "cde"}}, {"abcdefg", 3, []string{"abc", "bcd", "cde"}}, {"ABcd", 1, []string{"abc"}}, {"äÖüß", 9, []string{"äöü", "öüß"}}, {"abcd", 0, nil},
	} {
		if got := grams(c.text, c.limit); !slices.Equal(got, c.want) {
			t.Errorf("%q up to %d: %v, want %v", c.text, c.limit, got, c.want)
		}
	}
}

// Each field of a query asks for its own words, and tables for the same.
func TestMatchOfQuery(t *testing.T) {
	l, n, s := asWritten("l", "L"), asWritten("n", "N"), asWritten("s", "S")
	for i, c := range []struct {
		q     telemetry.Query
		names []string
		want  string
		terms [][]uint64
	}{
		{telemetry.Query{}, nil, "", nil},
		{telemetry.Query{Loop: "L", Namespace: "S", Name: "N"}, nil, l + " AND " + s + " AND " + n, [][]uint64{{hashed("l", "L")}, {hashed("s", "S")}, {hashed("n", "N")}}},
		{telemetry.Query{Class: "slow"}, nil, asWritten("c", "slow"), [][]uint64{{hashed("c", "slow")}}},
		{telemetry.Query{Code: "C", Leaf: "F", Cause: "U"}, nil, asWritten("d", "C") + " AND " + asWritten("f", "F") + " AND " + asWritten("u", "U"), [][]uint64{{hashed("d", "C")}, {hashed("f", "F")}, {hashed("u", "U")}}},
		{telemetry.Query{Question: "Q"}, nil, asWritten("q", "Q"), [][]uint64{{hashed("q", "Q")}}},
		{telemetry.Query{Question: "Q", Answer: "A"}, nil, asWritten("a", "Q", "A"), [][]uint64{{hashed("a", "Q", "A")}}},
		{telemetry.Query{Results: []telemetry.Result{"R"}}, nil, "(none OR " + asWritten("r", "R") + ")", [][]uint64{{hashed("r", "R")}}},
		{telemetry.Query{Results: []telemetry.Result{"R", "P"}, Loop: "L"}, nil, l + " AND (none OR " + asWritten("r", "R") + " OR " + asWritten("r", "P") + ")", [][]uint64{{hashed("l", "L")}, {hashed("r", "R"), hashed("r", "P")}}},
		{telemetry.Query{NamePart: "N"}, []string{"N"}, "(none OR " + n + ")", [][]uint64{{hashed("n", "N")}}},
		{telemetry.Query{NamePart: "N"}, []string{}, "(none)", [][]uint64{{}}},
		{telemetry.Query{Text: "abc"}, nil, asWritten("t", "abc"), nil},
	} {
		m, err := matchOf(&c.q, c.names)
		if err != nil || m.text != c.want || !slices.EqualFunc(m.terms, c.terms, slices.Equal) {
			t.Errorf("%d: %+v, %v, want %s", i, m, err, c.want)
		}
	}
	for want, q := range map[string]telemetry.Query{"an answer without its question": {Answer: "A"}, `too short with "äb": give 3`: {Text: "äb"}, `too short with "ä"`: {Text: "ä"}} {
		if _, err := matchOf(&q, nil); !errors.Is(err, telemetry.ErrBadQuery) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func emptyTerms() *terms {
	s := new(terms)
	s.clear()
	return s
}
