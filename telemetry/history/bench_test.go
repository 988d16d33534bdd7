package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// What a search and an as-of read may take, 19 times of 20.
const (
	searchWithin = 50 * time.Millisecond
	asOfWithin   = 100 * time.Millisecond
)

// TestSpeed fills a history with syncs of 10,000 names that all differ, and
// measures what comes out of it. It is a sample of 1,000 unless
// LOOPSCOPE_HISTORY_SYNCS asks for more: `make bench-history` asks for a million.
func TestSpeed(t *testing.T) {
	longUnderRace(t)
	n := 1000
	more, err := strconv.Atoi(os.Getenv("LOOPSCOPE_HISTORY_SYNCS"))
	if err == nil {
		n = more
	}
	b := speed{t: t, strict: err == nil, rng: rand.New(rand.NewPCG(3, 3)), path: filepath.Join(t.TempDir(), "h.db")}
	b.fill(n)
	file, err := Read(b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, kind := range b.kinds() {
		b.search(file, kind)
	}
	b.asOf(file)
	b.export(file)
}

type speed struct {
	t *testing.T
	// strict asks for the promised times, which a machine that runs everything
	// else meanwhile, with the race detector, cannot keep.
	strict bool
	rng    *rand.Rand
	path   string
	some   []*telemetry.Trace // a sample of all, to ask for
	last   time.Time
}

// times is how often something is asked: a tenth in a sample.
func (b *speed) times(n int) int {
	if b.strict {
		return n
	}
	return n / 10
}

// fill writes n syncs in batches, as the keeper does, and measures the writing
// alone: the syncs are made meanwhile.
func (b *speed) fill(n int) {
	s := open(b.t, b.path, Options{Clock: clock, MaxBytes: 8 << 30}) // all of them are to be searched
	g := newGenerator(b.t, 21, 10_000)
	batches := make(chan []*telemetry.Trace, 4)
	go func() {
		defer close(batches)
		for made := 0; made < n; made += commitSize {
			batches <- g.many(min(commitSize, n-made))
		}
	}()
	var writing, slowest time.Duration
	var largest int64
	for batch := range batches {
		began := time.Now()
		if err := s.Add(b.t.Context(), batch...); err != nil {
			b.t.Fatal(err)
		}
		if _, err := s.Trim(b.t.Context(), trimChunks); err != nil {
			b.t.Fatal(err)
		}
		took := time.Since(began)
		writing, slowest, largest = writing+took, max(slowest, took), max(largest, onDisk(b.path))
		if len(b.some) < 2000 || b.rng.IntN(50) == 0 {
			b.remember(batch[b.rng.IntN(len(batch))])
		}
		b.last = batch[len(batch)-1].Started
	}
	state := s.State()
	var pages, free int64
	if err := s.conn.QueryRowContext(b.t.Context(), "SELECT (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count)").Scan(&pages, &free); err != nil {
		b.t.Fatal(err)
	}
	each := float64((pages-free)*pageSize) / float64(state.Kept)
	b.t.Logf("%d syncs written at %.0f a second (slowest batch of %d: %v); %d kept; %.0f bytes a sync, at most %.0f MiB on the disk; the default limit of 1 GiB holds %.0f such syncs",
		n, float64(n)/writing.Seconds(), commitSize, slowest.Round(time.Millisecond), state.Kept, each, float64(largest)/(1<<20), float64(inUse(DefaultMaxBytes))/each)
	if each > 2048 {
		b.t.Errorf("%.0f bytes a sync: the default limit holds too few", each)
	}
	if err := s.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// remember keeps a sample of 2,000, younger and older ones.
func (b *speed) remember(t *telemetry.Trace) {
	if len(b.some) < 2000 {
		b.some = append(b.some, t)
		return
	}
	b.some[b.rng.IntN(len(b.some))] = t
}

// kind is a sort of search that people do.
type kind struct {
	name string
	of   func(t *telemetry.Trace) telemetry.Query
}

func (b *speed) kinds() []kind {
	step := func(t *telemetry.Trace) (question, answer string) {
		if p := t.Path(); len(p) > 0 {
			s := p[b.rng.IntN(len(p))]
			return s.Question, s.Answer
		}
		return "D-1", "yes"
	}
	cause := func(t *telemetry.Trace) telemetry.CauseKind { return t.Causes[b.rng.IntN(len(t.Causes))].Kind }
	return []kind{
		{"everything", func(*telemetry.Trace) telemetry.Query { return telemetry.Query{} }},
		{"loop", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Loop: t.Loop} }},
		{"namespace", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Namespace: t.Namespace} }},
		{"name", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Name: t.Name} }},
		{"object", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{Loop: t.Loop, Namespace: t.Namespace, Name: t.Name}
		}},
		{"part of a name", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{NamePart: t.Name[:max(3, len(t.Name)-1)]}
		}},
		{"result", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{Results: []telemetry.Result{t.Result}}
		}},
		{"class", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Class: t.Class(time.Second)} }},
		{"code", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Code: t.Sentence.Code} }},
		{"leaf", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Leaf: t.Leaf()} }},
		{"question", func(t *telemetry.Trace) telemetry.Query {
			q, _ := step(t)
			return telemetry.Query{Question: q}
		}},
		{"question=answer", func(t *telemetry.Trace) telemetry.Query {
			q, a := step(t)
			return telemetry.Query{Question: q, Answer: a}
		}},
		{"cause", func(t *telemetry.Trace) telemetry.Query { return telemetry.Query{Cause: cause(t)} }},
		{"error text", func(t *telemetry.Trace) telemetry.Query {
			text := "exceeded quota: team-quota"
			if t.Failure != nil && len(t.Failure.Message) > 12 {
				from := b.rng.IntN(len(t.Failure.Message) - 12)
				text = t.Failure.Message[from : from+12]
			}
			return telemetry.Query{Text: text}
		}},
		{"time", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{Since: t.Started, Until: t.Started.Add(time.Minute)}
		}},
		{"namespace, failed", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{Namespace: t.Namespace, Class: telemetry.ClassFailed}
		}},
		{"answer, in a namespace", func(t *telemetry.Trace) telemetry.Query {
			q, a := step(t)
			return telemetry.Query{Namespace: t.Namespace, Question: q, Answer: a}
		}},
		{"cause and leaf, in a time", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{Cause: cause(t), Leaf: t.Leaf(), Until: t.Started}
		}},
		{"a later page of an answer", func(t *telemetry.Trace) telemetry.Query {
			q, a := step(t)
			return telemetry.Query{Question: q, Answer: a, After: cursor(place{number(t.Ended), 0})}
		}},
		{"oldest first, class", func(t *telemetry.Trace) telemetry.Query {
			return telemetry.Query{Class: t.Class(time.Second), OldestFirst: true}
		}},
	}
}

// search asks a hundred times for different things, or in a sample ten times.
func (b *speed) search(a telemetry.Archive, k kind) {
	var took []time.Duration
	hits := 0
	for range b.times(100) {
		q := k.of(b.some[b.rng.IntN(len(b.some))])
		began := time.Now()
		found, err := a.Search(b.t.Context(), q)
		took = append(took, time.Since(began))
		if err != nil {
			b.t.Fatalf("%s: %v", k.name, err)
		}
		hits += len(found.Hits)
	}
	if hits == 0 {
		b.t.Errorf("search by %s finds nothing", k.name)
	}
	b.say("search by "+k.name, took, fmt.Sprintf("%d hits", hits), searchWithin)
}

func (b *speed) asOf(a telemetry.Archive) {
	var took []time.Duration
	found := 0
	first := b.some[0].Started
	for range b.times(300) {
		o := b.some[b.rng.IntN(len(b.some))].Object
		at := first.Add(time.Duration(b.rng.Int64N(int64(b.last.Sub(first)) + 1)))
		began := time.Now()
		_, err := a.AsOf(b.t.Context(), o, at)
		took = append(took, time.Since(began))
		if err == nil {
			found++
		} else if !errors.Is(err, telemetry.ErrNotKept) {
			b.t.Fatal(err)
		}
	}
	if found == 0 {
		b.t.Error("nothing is found as of any moment")
	}
	b.say("as of a moment", took, fmt.Sprintf("%d found", found), asOfWithin)
}

func (b *speed) export(a telemetry.Archive) {
	n, began := 0, time.Now()
	if err := a.Each(b.t.Context(), telemetry.Query{Limit: 20_000}, func(*telemetry.Trace) error { n++; return nil }); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("%-40s %.0f syncs a second", "export", float64(n)/time.Since(began).Seconds())
}

func (b *speed) say(what string, took []time.Duration, note string, within time.Duration) {
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[len(took)*percent/100].Round(10 * time.Microsecond) }
	b.t.Logf("%-40s p50 %9v  p95 %9v  max %9v  %s", what, at(50), at(95), took[len(took)-1].Round(10*time.Microsecond), strings.TrimSpace(note))
	if p95 := at(95); b.strict && p95 > within {
		b.t.Errorf("%s takes %v, want at most %v", what, p95, within)
	}
}

// BenchmarkWire is what writing and reading a sync takes, without compression.
func BenchmarkWire(b *testing.B) {
	traces := newGenerator(b, 27, 100).many(256)
	var data []byte
	var err error
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range traces {
				if data, err = wire.Append(data[:0], t); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/256, "µs/sync")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range traces {
				if err := wire.Read(data, new(telemetry.Trace)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/256, "µs/sync")
	})
}
