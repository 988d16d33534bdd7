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
			g.pack(s.codec)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(traces)), "µs/sync")
}

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

// Everything that a sync can be found by stands in the index, and what tables of
// contents know besides, with a bit for each sync.
func TestTermsOfSyncs(t *testing.T) {
	first, second := asking(1, "Q-1", "Q-2"), asking(2, "Q-1", "Q-3", "Q-4", "Q-5")
	first.Result, first.Sentence.Code = telemetry.ResultFailed, "quota"
	first.Causes = []telemetry.Cause{{Kind: telemetry.CauseTimer}, {Kind: telemetry.CauseStart}}
	first.Failure = &decision.Failure{Message: "NO ä!"}
	s := newTerms()
	s.of(first, telemetry.ClassFailed)
	s.of(second, telemetry.ClassQuiet)
	want := strings.Join([]string{
		asWritten("l", "deployment"), asWritten("s", "shop"), asWritten("n", "web"), asWritten("o", "deployment", "shop", "web"),
		asWritten("r", "failed"), asWritten("c", "failed"), asWritten("d", "quota"), asWritten("f", "Q-2"),
		asWritten("q", "Q-1"), asWritten("a", "Q-1", "yes"), asWritten("q", "Q-2"), asWritten("a", "Q-2", "yes"),
		asWritten("u", "timer"), asWritten("u", "start"), asWritten("t", "no "), asWritten("t", "o ä"), asWritten("t", " ä!"),
		asWritten("r", ""), asWritten("c", "quiet"), asWritten("d", ""), asWritten("f", "Q-5"),
		asWritten("q", "Q-3"), asWritten("a", "Q-3", "yes"), asWritten("q", "Q-4"), asWritten("a", "Q-4", "yes"), asWritten("q", "Q-5"), asWritten("a", "Q-5", "yes"),
	}, " ")
	if got := s.document(); got != want {
		t.Errorf("the index is given\n%s, want\n%s", got, want)
	}
	h := &head{Seqs: numbers[uint64]{1, 2}, Words: s.marks}
	h.Bits = s.bits(h.row())
	for _, c := range []struct {
		kind, value   string
		first, second bool
	}{
		{termResult, "failed", true, false}, {termCode, "quota", true, false}, {termLeaf, "Q-2", true, false}, {termQuestion, "Q-1", true, true}, {termQuestion, "Q-2", true, false},
		{termCause, "timer", true, false}, {termCause, "start", true, false}, {termResult, "", false, true}, {termLeaf, "Q-5", false, true}, {termQuestion, "Q-3", false, true},
		{termQuestion, "Q-4", false, true}, {termQuestion, "Q-5", false, true}, {termName, "web", false, false}, {termClass, "quiet", false, false}, {termText, "no ", false, false},
	} {
		place := h.marks([]uint32{newWord(c.kind, c.value).mark()})[0]
		if got := [2]bool{h.has(0, place), h.has(1, place)}; got != [2]bool{c.first, c.second} {
			t.Errorf("%s %q: %v", c.kind, c.value, got)
		}
	}
	if len(s.marks) != 4*18 || s.doubled {
		t.Errorf("%d bytes of marks, doubled %v", len(s.marks), s.doubled)
	}
	if s.clear(); s.document() != "" || len(s.places)+len(s.marks)+len(s.marked)+len(s.rows)+len(s.ends) != 0 {
		t.Errorf("left after clearing: %+v", s)
	}
}

func TestMarksOfWords(t *testing.T) {
	s := newTerms()
	for _, c := range []struct {
		kind, value string
		place       int32
	}{
		{termName, "web", -1}, {termResult, "wrote", 0}, {termCode, "a", 1}, {termName, "web", -1}, {termClass, "quiet", -1}, {termText, "abc", -1},
		{termLeaf, "L", 2}, {termCode, "a", 1}, {termResult, "wrote", 0}, {termAnswer, "x", 3}, {termCause, "x", 4}, {termLoop, "x", -1}, {termNamespace, "x", -1}, {termObject, "x", -1},
	} {
		if got := s.add(c.kind, c.value); got != c.place {
			t.Errorf("%s %q has the mark in place %d, want %d", c.kind, c.value, got, c.place)
		}
	}
	if !slices.Equal(s.rows, []int32{0, 1, 2, 1, 0, 3, 4}) {
		t.Errorf("rows %v", s.rows)
	}
}

// These two words have one mark, so that a block of both has none, and its syncs are unpacked.
func TestWordsOfOneMark(t *testing.T) {
	const one, other = "q1216081", "q1824190"
	s := newTerms()
	for i, want := range []bool{false, true, true} {
		if s.add(termQuestion, []string{one, other, "Q-1"}[i]); s.doubled != want {
			t.Errorf("doubled after %d words: %v", i+1, s.doubled)
		}
	}
	x := filled(t, []*telemetry.Trace{asking(1, one), asking(2, other), asking(3, one, other), asking(4, "Q-1")})
	for question, want := range map[string][]uint64{one: {3, 1}, other: {3, 2}, "Q-1": {4}} {
		if got := pages(t, x, telemetry.Query{Question: question}, 2); !slices.Equal(got, want) {
			t.Errorf("asked %s: %v, want %v", question, got, want)
		}
		if got := pages(t, x, telemetry.Query{Question: question, Cause: telemetry.CauseTimer}, 2); len(got) > 0 {
			t.Errorf("asked %s, and with a cause: %v", question, got)
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
		{"abcdef", 3, []string{"abc", "bcd", "cde"}}, {"abcdefg", 3, []string{"abc", "bcd", "cde"}}, {"abcd", 1, []string{"abc"}}, {"äöüß", 9, []string{"äöü", "öüß"}}, {"abcd", 0, nil},
	} {
		s := newTerms()
		s.grams(termText, c.text, c.limit)
		var want []string
		for _, w := range c.want {
			want = append(want, asWritten(termText, w))
		}
		if got := strings.Fields(s.document()); !slices.Equal(got, want) {
			t.Errorf("%q up to %d: %v, want %v", c.text, c.limit, got, c.want)
		}
	}
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

// Each field of a query asks for its own words, and for marks where tables of contents have them.
func TestMatchOfQuery(t *testing.T) {
	l, n, o := asWritten("l", "L"), asWritten("n", "N"), asWritten("o", "L", "S", "N")
	for i, c := range []struct {
		q        telemetry.Query
		names    []string
		want     string
		all, any []word
	}{
		{telemetry.Query{}, nil, "", nil, nil},
		{telemetry.Query{Loop: "L", Namespace: "S", Name: "N"}, nil, o, nil, nil},
		{telemetry.Query{Loop: "L", Namespace: "S"}, nil, l + " AND " + asWritten("s", "S"), nil, nil},
		{telemetry.Query{Loop: "L", Name: "N"}, nil, l + " AND " + n, nil, nil},
		{telemetry.Query{Namespace: "S", Name: "N"}, nil, asWritten("s", "S") + " AND " + n, nil, nil},
		{telemetry.Query{Class: "slow"}, nil, asWritten("c", "slow"), nil, nil},
		{telemetry.Query{Code: "C", Leaf: "F", Cause: "U"}, nil, asWritten("d", "C") + " AND " + asWritten("f", "F") + " AND " + asWritten("u", "U"), []word{newWord("d", "C"), newWord("f", "F"), newWord("u", "U")}, nil},
		{telemetry.Query{Question: "Q"}, nil, asWritten("q", "Q"), []word{newWord("q", "Q")}, nil},
		{telemetry.Query{Question: "Q", Answer: "A"}, nil, asWritten("a", "Q", "A"), []word{newWord("a", "Q", "A")}, nil},
		{telemetry.Query{Results: []telemetry.Result{"R"}}, nil, "(r OR " + asWritten("r", "R") + ")", nil, []word{newWord("r", "R")}},
		{telemetry.Query{Results: []telemetry.Result{"R", "P"}, Loop: "L"}, nil, l + " AND (r OR " + asWritten("r", "R") + " OR " + asWritten("r", "P") + ")", nil, []word{newWord("r", "R"), newWord("r", "P")}},
		{telemetry.Query{NamePart: "N"}, []string{"N"}, "(n OR " + n + ")", nil, nil},
		{telemetry.Query{NamePart: "N"}, []string{}, "(n)", nil, nil},
		{telemetry.Query{Text: "abc"}, nil, asWritten("t", "abc"), nil, nil},
	} {
		m, err := matchOf(&c.q, c.names)
		marks := func(words []word) (list []uint32) {
			for _, w := range words {
				list = append(list, w.mark())
			}
			return list
		}
		if err != nil || m.text != c.want || !slices.Equal(m.all, marks(c.all)) || !slices.Equal(m.any, marks(c.any)) {
			t.Errorf("%d: %+v, %v, want %s", i, m, err, c.want)
		}
	}
	for want, q := range map[string]telemetry.Query{"an answer without its question": {Answer: "A"}, `too short with "äb": give 3`: {Text: "äb"}, `too short with "ä"`: {Text: "ä"}} {
		if _, err := matchOf(&q, nil); !errors.Is(err, telemetry.ErrBadQuery) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
