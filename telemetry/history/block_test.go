package history

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// alone is the plain body of syncs.
func alone(t testing.TB, traces ...*telemetry.Trace) (plain []byte) {
	t.Helper()
	var err error
	for _, trace := range traces {
		if plain, err = wire.Append(plain, trace); err != nil {
			t.Fatal(err)
		}
	}
	return plain
}

// blocksOf are syncs as a store with nothing in it would write them.
func blocksOf(t testing.TB, traces ...*telemetry.Trace) []*block {
	t.Helper()
	s := Store{opts: Options{}.withDefaults()}
	list, err := s.divide(traces)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestListsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*hits){
		"as it is":          func(*hits) {},
		"one sync":          func(h *hits) { h.Hits, h.Sizes = h.Hits[:1], h.Sizes[:1] },
		"no sync!":          func(h *hits) { *h = hits{} },
		"64 syncs":          func(h *hits) { h.Hits, h.Sizes = make([]telemetry.Hit, 64), make([]int, 64) },
		"65 syncs!":         func(h *hits) { h.Hits, h.Sizes = make([]telemetry.Hit, 65), make([]int, 65) },
		"a size less!":      func(h *hits) { h.Sizes = h.Sizes[:1] },
		"a size more!":      func(h *hits) { h.Sizes = append(h.Sizes, 3) },
		"a negative size!":  func(h *hits) { h.Sizes[0] = -1 },
		"too large a sync!": func(h *hits) { h.Sizes[1] = maxTrace + 1 },
	} {
		h := hits{Hits: []telemetry.Hit{{Seq: 1, Started: clock()}, {Seq: 2, Error: "a\xff"}}, Sizes: []int{0, maxTrace}}
		change(&h)
		text, err := wire.Append(nil, &h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readHits(pack(nil, text))
		if damaged := strings.HasSuffix(name, "!"); errors.Is(err, errDamaged) != damaged || !damaged && (err != nil || !slices.Equal(got.Hits, h.Hits)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	text, err := wire.Append(nil, &hits{Hits: make([]telemetry.Hit, 1), Sizes: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{[]byte("no list at all"), pack(nil, []byte("no CBOR")), pack(nil, append(text, 0)), nil} {
		if _, err := readHits(data); !errors.Is(err, errDamaged) {
			t.Errorf("text in its place: %v", err)
		}
	}
}

// What is compressed together is bounded: in syncs, in bytes and in time.
func TestBlocksAreBounded(t *testing.T) {
	for name, change := range map[string]func(*block, *telemetry.Trace){
		"fits":                 func(*block, *telemetry.Trace) {},
		"another epoch!":       func(_ *block, x *telemetry.Trace) { x.Epoch = "f" },
		"full of syncs!":       func(b *block, _ *telemetry.Trace) { b.hits.Hits = make([]telemetry.Hit, syncsPerBlock) },
		"full of bytes!":       func(b *block, _ *telemetry.Trace) { b.bytes++ },
		"as long as it may be": func(_ *block, x *telemetry.Trace) { x.Ended = clock().Add(longestBlock) },
		"longer!":              func(_ *block, x *telemetry.Trace) { x.Ended = clock().Add(longestBlock + time.Microsecond) },
		"as early as may be":   func(_ *block, x *telemetry.Trace) { x.Started = clock().Add(time.Second - longestBlock) },
		"earlier!": func(_ *block, x *telemetry.Trace) {
			x.Started = clock().Add(time.Second - longestBlock - time.Microsecond)
		},
	} {
		b := block{epoch: "e", began: clock().UnixMicro(), ended: clock().Add(time.Second).UnixMicro(), bytes: bytesPerBlock - 1, hits: hits{Hits: make([]telemetry.Hit, syncsPerBlock-1)}}
		x := named(1, "web", 0)
		if change(&b, x); b.takes(x) == strings.HasSuffix(name, "!") {
			t.Errorf("%s: %v", name, b.takes(x))
		}
	}
	for after, want := range map[time.Duration]time.Duration{0: 0, longestBlock: longestBlock, longestBlock + time.Second: longestBlock} {
		b := block{began: clock().UnixMicro(), ended: clock().Add(after).UnixMicro()}
		if got := b.number(); got != number(clock().Add(want)) {
			t.Errorf("a block of %v has number %d", after, got)
		}
	}
}

// A block counts what it takes, and has its quiet syncs by themselves.
func TestBlockCountsWhatItTakes(t *testing.T) {
	traces := []*telemetry.Trace{named(3, "web", time.Second), named(2, "cart", 0), named(4, "web", 2*time.Second), named(5, "web", time.Minute)}
	traces[1].Result = telemetry.ResultWrote
	list := blocksOf(t, traces...)
	if len(list) != 2 {
		t.Fatalf("%d blocks", len(list))
	}
	b := list[0]
	plain := [bodies][]byte{alone(t, traces[1]), alone(t, traces[0], traces[2])}
	if b.syncs != [bodies]int64{1, 2} || b.bytes != len(plain[0])+len(plain[1]) || b.first != 2 || b.last != 4 || b.began != clock().UnixMicro() || b.ended != traces[2].Ended.UnixMicro() || b.epoch != "e" {
		t.Errorf("%+v", b)
	}
	for body, want := range plain {
		if got, err := unpack(b.packed[body]); err != nil || !slices.Equal(got, want) {
			t.Errorf("body %d: %q, %v, want %q", body, got, err, want)
		}
	}
	h, err := readHits(b.list)
	if err != nil || len(h.Hits) != 3 || h.Sizes[1] != len(plain[0]) || h.Sizes[0]+h.Sizes[2] != len(plain[1]) {
		t.Fatalf("%+v, %v", h, err)
	}
	for i, hit := range h.Hits {
		if hit.Seq != traces[i].Seq || hit.Class != traces[i].Class(time.Second) {
			t.Errorf("%d: %+v", i, hit)
		}
	}
	if last := list[1]; last.packed[remarkable] != nil || last.syncs != [bodies]int64{0, 1} {
		t.Errorf("a block of a quiet sync: %+v", last)
	}
}

// Room is used again, but not that of a large sync.
func TestRoomIsUsedAgain(t *testing.T) {
	s := Store{opts: Options{}.withDefaults()}
	large := named(1, "web", 0)
	large.UID = strings.Repeat("x", 2*bytesPerBlock)
	for i, c := range []struct {
		sync  *telemetry.Trace
		again bool
	}{{named(1, "web", 0), false}, {named(2, "web", 0), true}, {large, true}, {named(3, "web", 0), true}} {
		before := s.room.plain[quiet]
		if _, err := s.divide([]*telemetry.Trace{c.sync}); err != nil {
			t.Fatal(err)
		}
		if after := s.room.plain[quiet]; len(before) > 0 && (&before[0] == &after[0]) != c.again || cap(after) > 2*bytesPerBlock {
			t.Errorf("%d: room of %d bytes, before it %d", i, cap(after), cap(before))
		}
	}
}

// The largest sync that is kept, and one of a byte more.
func TestLargestSync(t *testing.T) {
	longUnderRace(t)
	x := named(1, "web", 0)
	x.UID = strings.Repeat("x", maxTrace-1000)
	x.UID += strings.Repeat("x", maxTrace-len(alone(t, x)))
	blocksOf(t, x)
	x.UID += "x"
	s := Store{opts: Options{}.withDefaults()}
	if list, err := s.divide([]*telemetry.Trace{x}); !errors.Is(err, errUnfit) || list != nil || !strings.Contains(err.Error(), "sync e/1: it has 33554433 bytes") {
		t.Errorf("of a byte more: %v", err)
	}
}

func TestNumbersOfBlocks(t *testing.T) {
	for micro, want := range map[int64]int64{0: 0, 999: 0, 1000: 1, 1999: 1, 2000: 2, -1: -1, -999: -1, -1000: -1, -1001: -2, -2000: -2} {
		if got := number(time.UnixMicro(micro)); got != want {
			t.Errorf("%d µs have number %d, want %d", micro, got, want)
		}
	}
	if got := moment(number(clock())); got != clock() {
		t.Errorf("the clock's moment is %v", got)
	}
}
