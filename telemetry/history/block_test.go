package history

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// twoSyncs is the table of contents of two syncs of two objects. The first has the first
// and the last of ten words, the second has the second and the ninth.
func twoSyncs() *head {
	h := &head{
		Objects: objects{{Loop: "deployment", Namespace: "shop", Name: "web"}, {Loop: "deployment", Namespace: "shop", Name: "cart"}},
		Of:      numbers[int]{0, 1}, Seqs: numbers[uint64]{1, 2}, Started: numbers[int64]{clock().UnixNano(), clock().Add(time.Second).UnixNano()},
		Places: numbers[int]{0, 1}, Sizes: numbers[int]{0, maxTrace},
		Bits: []byte{1, 2, 2, 1},
	}
	for w := range byte(10) {
		h.Words = append(h.Words, w, 0, 0, 1)
	}
	return h
}

func TestTableOfContentsIsChecked(t *testing.T) {
	for name, change := range map[string]func(*head){
		"as it is": func(*head) {},
		"no words": func(h *head) { h.Words, h.Bits = nil, nil },
		"one sync": func(h *head) {
			*h = head{Objects: h.Objects, Of: h.Of[:1], Seqs: h.Seqs[:1], Started: h.Started[:1], Places: h.Places[:1], Sizes: h.Sizes[:1]}
		},
		"no sync!":             func(h *head) { *h = head{} },
		"an object less!":      func(h *head) { h.Of = h.Of[:1] },
		"a number more!":       func(h *head) { h.Seqs = append(h.Seqs, 3) },
		"a start less!":        func(h *head) { h.Started = h.Started[:1] },
		"a place less!":        func(h *head) { h.Places = h.Places[:1] },
		"a size less!":         func(h *head) { h.Sizes = h.Sizes[:1] },
		"half a word!":         func(h *head) { h.Words = append(h.Words[:4], 1, 1); h.Bits = h.Bits[:2] },
		"five bytes of words!": func(h *head) { h.Words, h.Bits = append(h.Words[:4], 1), h.Bits[:2] },
		"a bit less!":          func(h *head) { h.Bits = h.Bits[:3] },
		"bits of no words!":    func(h *head) { h.Words = nil },
		"object -1!":           func(h *head) { h.Of[1] = -1 },
		"object 2 of 2!":       func(h *head) { h.Of[1] = 2 },
		"a negative size!":     func(h *head) { h.Sizes[0] = -1 },
		"too large a sync!":    func(h *head) { h.Sizes[1] = maxTrace + 1 },
	} {
		h := twoSyncs()
		change(h)
		if err := h.check(); errors.Is(err, errDamaged) != strings.HasSuffix(name, "!") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := readHead(seal(h, &(&scratch{}).text, nil)); errors.Is(err, errDamaged) != strings.HasSuffix(name, "!") {
			t.Errorf("%s, read back: %v", name, err)
		}
	}
	if _, err := readHead([]byte("no table at all")); !errors.Is(err, errDamaged) {
		t.Errorf("text in its place: %v", err)
	}
}

// A list has as many of everything as its table of contents has syncs.
func TestListFitsItsTable(t *testing.T) {
	whole := func() *hits {
		x := &hits{}
		x.add(telemetry.Hit{Took: 1})
		x.add(telemetry.Hit{Took: 2})
		return x
	}
	for i := -1; i < reflect.TypeFor[hits]().NumField(); i++ {
		x := whole()
		if i >= 0 {
			column := reflect.ValueOf(x).Elem().Field(i)
			column.Set(column.Slice(0, 1))
		}
		if _, err := readHits(twoSyncs(), seal(x, &(&scratch{}).text, nil)); errors.Is(err, errDamaged) != (i >= 0) || err != nil != (i >= 0) {
			t.Errorf("without the last of column %d: %v", i, err)
		}
	}
	if _, err := readHits(twoSyncs(), []byte("no list at all")); !errors.Is(err, errDamaged) {
		t.Errorf("text in its place: %v", err)
	}
}

func TestMarks(t *testing.T) {
	h := twoSyncs()
	for words, row := range map[int]int{0: 0, 1: 1, 7: 1, 8: 1, 9: 2, 16: 2, 17: 3} {
		if got := (&head{Words: make([]byte, 4*words)}).row(); got != row {
			t.Errorf("%d words take %d bytes, want %d", words, got, row)
		}
	}
	const each = 1 << 24
	if got := h.marks([]uint32{each, each + 3, 7, each + 9}); !slices.Equal(got, []int{0, 3, -1, 9}) {
		t.Errorf("marks in places %v", got)
	}
	for place := -1; place < 10; place++ {
		if got, want := [2]bool{h.has(0, place), h.has(1, place)}, [2]bool{place == 0 || place == 9, place == 1 || place == 8}; got != want {
			t.Errorf("word %d: %v, want %v", place, got, want)
		}
	}
	one := &head{Seqs: numbers[uint64]{1}}
	if without := (&head{Seqs: h.Seqs}); !one.exact() || !h.exact() || without.exact() {
		t.Errorf("exact: one sync %v, two with words %v, two without %v", one.exact(), h.exact(), without.exact())
	}
	for i, c := range []struct {
		q        *telemetry.Query
		all, any []uint32
		want     []int
	}{
		{nil, []uint32{7}, nil, []int{0, 1}}, // A walk over everything looks at nothing.
		{&telemetry.Query{}, nil, nil, []int{0, 1}},
		{&telemetry.Query{Name: "cart"}, nil, nil, []int{1}},
		{&telemetry.Query{Since: clock().Add(1)}, nil, nil, []int{1}},
		{&telemetry.Query{Until: clock().Add(1)}, nil, nil, []int{0}},
		{&telemetry.Query{}, []uint32{each}, nil, []int{0}},
		{&telemetry.Query{}, []uint32{each, each + 9}, nil, []int{0}},
		{&telemetry.Query{}, []uint32{each, each + 1}, nil, nil},
		{&telemetry.Query{}, []uint32{7}, nil, nil},
		{&telemetry.Query{}, nil, []uint32{each, each + 8}, []int{0, 1}},
		{&telemetry.Query{}, nil, []uint32{7, each + 8}, []int{1}},
		{&telemetry.Query{}, nil, []uint32{7}, nil},
		{&telemetry.Query{}, []uint32{each}, []uint32{each + 8}, nil},
	} {
		if got := h.may(c.q, c.all, c.any); !slices.Equal(got, c.want) {
			t.Errorf("%d: may be %v, want %v", i, got, c.want)
		}
	}
	h.Words, h.Bits = nil, nil
	if got := h.may(&telemetry.Query{}, []uint32{7}, []uint32{7}); len(got) != 2 {
		t.Errorf("without words %v may have one, want both", got)
	}
}

func TestRoomIsUsedAgain(t *testing.T) {
	s := &scratch{}
	a, b := s.packing(), s.packing()
	s.done(a)
	s.done(b)
	if c, d := s.packing(), s.packing(); c.wire != b.wire || c.terms != b.terms || d.wire != a.wire || d.terms != a.terms || len(s.blocks)+len(s.terms) != 0 {
		t.Error("blocks are not packed with the tables of those before")
	}
	for i, c := range []struct {
		plain, packed, text, blocks int
		kept                        bool
	}{
		{maxScratch / 2, maxScratch / 2, 0, 2 * len(classes), true},
		{maxScratch/2 + 1, maxScratch / 2, 0, 0, false},
		{maxScratch / 2, maxScratch / 2, 1, 0, false},
		{0, 0, 0, 2*len(classes) + 1, false},
	} {
		s := scratch{plain: make([]byte, 0, c.plain), packed: make([]byte, c.packed), blocks: make([]*wire.Block, c.blocks)}
		s.text.Grow(c.text)
		if s.clear(); (s.blocks != nil) != c.kept || len(s.packed) != 0 {
			t.Errorf("%d: %d blocks are left, and %d bytes", i, len(s.blocks), len(s.packed))
		}
	}
}

// What is compressed together is bounded: in syncs, in bytes and in time.
func TestGroupsAreBounded(t *testing.T) {
	full := group{epoch: "e", began: clock(), ended: clock().Add(time.Second), syncs: syncsPerBlock - 1, bytes: bytesPerBlock - 1}
	for name, change := range map[string]func(*group, *telemetry.Trace){
		"fits":                 func(*group, *telemetry.Trace) {},
		"another epoch!":       func(_ *group, x *telemetry.Trace) { x.Epoch = "f" },
		"full of syncs!":       func(g *group, _ *telemetry.Trace) { g.syncs++ },
		"full of bytes!":       func(g *group, _ *telemetry.Trace) { g.bytes++ },
		"as long as it may be": func(_ *group, x *telemetry.Trace) { x.Ended = clock().Add(longestBlock) },
		"longer!":              func(_ *group, x *telemetry.Trace) { x.Ended = clock().Add(longestBlock + 1) },
		"as early as may be":   func(_ *group, x *telemetry.Trace) { x.Started = clock().Add(time.Second - longestBlock) },
		"earlier!":             func(_ *group, x *telemetry.Trace) { x.Started = clock().Add(time.Second - longestBlock - 1) },
	} {
		g, x := full, named(1, "web", 0)
		if change(&g, x); g.takes(x) == strings.HasSuffix(name, "!") {
			t.Errorf("%s: %v", name, g.takes(x))
		}
	}
	for after, want := range map[time.Duration]time.Duration{0: 0, longestBlock: longestBlock, longestBlock + time.Second: longestBlock} {
		g := group{began: clock(), ended: clock().Add(after)}
		if got := g.number(); got != number(clock().Add(want)) {
			t.Errorf("a group of %v has number %d", after, got)
		}
	}
}

func TestGroupCountsWhatItTakes(t *testing.T) {
	s := Store{opts: Options{}.withDefaults()}
	traces := []*telemetry.Trace{named(3, "web", time.Second), named(2, "cart", 0), named(4, "web", 2*time.Second), named(5, "web", time.Minute)}
	groups, err := s.groups(traces)
	if err != nil || len(groups) != 2 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	var took int
	b := wire.NewBlock()
	for _, x := range traces[:3] {
		_, n, _ := b.Add(x)
		took += n
	}
	g := groups[0]
	if h := g.blocks[classes[telemetry.ClassQuiet]].head; g.syncs != 3 || g.bytes != took || !g.began.Equal(clock()) || !g.ended.Equal(traces[2].Ended) ||
		!slices.Equal(h.Places, numbers[int]{0, 1, 2}) || !slices.Equal(h.Of, numbers[int]{0, 1, 0}) || h.Epoch != "e" {
		t.Errorf("%d syncs of %d bytes (want %d) from %v to %v: %+v", g.syncs, g.bytes, took, g.began, g.ended, h)
	}
	c, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	if p := g.pack(c); len(p) != 1 || p[0].first != 2 || p[0].last != 4 || p[0].syncs != 3 {
		t.Errorf("packed: %+v", p)
	}
}

// The largest sync that is kept, and one of a byte more.
func TestLargestSync(t *testing.T) {
	longUnderRace(t)
	x := named(1, "web", 0)
	x.UID = strings.Repeat("x", maxTrace-1000)
	_, took, err := wire.NewBlock().Add(x)
	if err != nil {
		t.Fatal(err)
	}
	x.UID += strings.Repeat("x", maxTrace-took)
	s := Store{opts: Options{}.withDefaults()}
	if _, err := s.groups([]*telemetry.Trace{x}); err != nil {
		t.Errorf("of %d bytes: %v", maxTrace, err)
	}
	x.UID += "x"
	if list, err := s.groups([]*telemetry.Trace{x}); !errors.Is(err, errUnfit) || list != nil || !strings.Contains(err.Error(), "sync e/1: it has 33554433 bytes") {
		t.Errorf("of a byte more: %v", err)
	}
}

// A block is read back with the marks of its words, unless two of them have the same.
func TestBlocksHaveMarks(t *testing.T) {
	c, err := newCodec(dictionary)
	if err != nil {
		t.Fatal(err)
	}
	s := Store{opts: Options{}.withDefaults()}
	for _, n := range []int{1, 2} {
		for _, doubled := range []bool{false, true} {
			groups, err := s.groups([]*telemetry.Trace{named(1, "web", 0), named(2, "web", 0)}[:n])
			if err != nil {
				t.Fatal(err)
			}
			quiet := classes[telemetry.ClassQuiet]
			groups[0].blocks[quiet].terms.doubled = doubled
			h, err := readHead(groups[0].pack(c)[0].head)
			if err != nil || (len(h.Words) > 0) != (n > 1 && !doubled) {
				t.Errorf("%d syncs, doubled %v: %d bytes of words, %v", n, doubled, len(h.Words), err)
			}
		}
	}
}

func TestNumbersOfGroups(t *testing.T) {
	for micro, want := range map[int64]int64{0: 0, 999: 0, 1000: 1, 1999: 1, 2000: 2, -1: -1, -999: -1, -1000: -1, -1001: -2, -2000: -2} {
		if got := number(time.UnixMicro(micro)); got != want {
			t.Errorf("%d µs have number %d, want %d", micro, got, want)
		}
	}
	if got := moment(number(clock())); got != clock() {
		t.Errorf("the clock's moment is %v", got)
	}
	for n, want := range map[int64]int64{0: 0, 5: 40, -5: -40, math.MaxInt64: math.MaxInt64 &^ 7, math.MinInt64: -(math.MaxInt64 &^ 7)} {
		if got := bounded(n); got != want {
			t.Errorf("bounded(%d) = %d, want %d", n, got, want)
		}
	}
}
