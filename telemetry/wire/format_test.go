package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// kept is syncs of an earlier day as JSON, with the bytes that they became.
type kept struct {
	Traces      []*telemetry.Trace
	Deployments []*deployment.Snapshot
	ReplicaSets []*replicaset.Snapshot
	Block       []byte
	Packed      [][]byte
}

func earlier(t *testing.T) *kept {
	t.Helper()
	data, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	k := new(kept)
	if err := json.Unmarshal(data, k); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestBytesStay: what is in files is read for as long as there are files, so a field
// may be added, and none may be written in another way. There is no flag to write this
// file anew: what fails here needs another version.
func TestBytesStay(t *testing.T) {
	want, got := earlier(t), kept{}
	got.write(t, want)
	if !bytes.Equal(got.Block, want.Block) {
		t.Errorf("the block is\n%q\nand was\n%q", got.Block, want.Block)
	}
	if !reflect.DeepEqual(got.Packed, want.Packed) {
		t.Errorf("the snapshots are\n%q\nand were\n%q", got.Packed, want.Packed)
	}
}

func (k *kept) write(t *testing.T, of *kept) {
	t.Helper()
	b := NewBlock()
	for _, x := range of.Traces {
		if _, _, err := b.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	k.Block = b.AppendTo(nil)
	for _, s := range of.Deployments {
		k.Packed = append(k.Packed, must(Pack(s)).Value().(packed))
	}
	for _, s := range of.ReplicaSets {
		k.Packed = append(k.Packed, must(Pack(s)).Value().(packed))
	}
}

// TestCutOff: what is not whole is not read, and nothing panics on it.
func TestCutOff(t *testing.T) {
	k := earlier(t)
	for i, whole := range k.Packed {
		for n := 1; n < len(whole); n++ {
			if _, err := packed(whole[:n]).Unpack(); !errors.Is(err, errShort) {
				t.Fatalf("%d of %d bytes of snapshot %d are read: %v", n, len(whole), i, err)
			}
		}
		if _, err := packed(append(whole, 0)).Unpack(); !errors.Is(err, errShort) {
			t.Errorf("a byte after snapshot %d is read: %v", i, err)
		}
	}
	if _, err := (packed{9, 0}).Unpack(); !errors.Is(err, errShort) {
		t.Errorf("a snapshot of no kind: %v", err)
	}
	b := NewBlock()
	size, _, err := b.Add(k.Traces[0])
	if err != nil {
		t.Fatal(err)
	}
	records, err := Divide(b.AppendTo(nil), []int{size})
	if err != nil {
		t.Fatal(err)
	}
	whole := records[0].fields
	for n := range whole {
		if _, err := (&Record{whole[:n], records[0].texts}).Unpack(); !errors.Is(err, errShort) {
			t.Fatalf("%d of %d bytes of a sync are read: %v", n, len(whole), err)
		}
	}
	if _, err := (&Record{append(whole, 0), records[0].texts}).Unpack(); !errors.Is(err, errShort) {
		t.Errorf("a byte after a sync is read: %v", err)
	}
}

// TestDamagedBlocks: a number alone takes no room, whatever it says.
func TestDamagedBlocks(t *testing.T) {
	numbers := func(list ...uint64) (b []byte) {
		for _, n := range list {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	none := func(texts int) []byte { return append(numbers(1, uint64(texts)), make([]byte, maxTexts+9)...) }
	for name, c := range map[string]struct {
		block []byte
		sizes []int
		want  string
	}{
		"no texts":                    {numbers(1, 0), nil, ""},
		"a text to its end":           {append(numbers(1, 1, 3), "abc"...), nil, ""},
		"an empty text":               {numbers(1, 1, 0), nil, ""},
		"two syncs, one of no bytes":  {append(numbers(1, 0), "abc"...), []int{3, 0}, ""},
		"no version":                  {numbers(0, 0), nil, "version 0"},
		"a version of later":          {numbers(version+1, 0), nil, "version 2"},
		"no number of texts":          {numbers(1), []int{}, "too early"},
		"more texts than bytes":       {numbers(1, 1<<60), nil, "too early"},
		"as many texts as are read":   {none(maxTexts), nil, ""},
		"one more":                    {none(maxTexts + 1), nil, "too early"},
		"half a size":                 {append(numbers(1, 1), 0x80), nil, "too early"},
		"a text that is cut off":      {append(numbers(1, 1, 4), "abc"...), nil, "too early"},
		"two texts that are too long": {append(numbers(1, 2, 3, 1), "abc"...), nil, "too early"},
		"sizes that come to 1":        {append(numbers(1, 2, 2, math.MaxUint64), "abc"...), nil, "too early"},
		"a sync that is cut off":      {append(numbers(1, 0), "abc"...), []int{2, 2}, "too early"},
		"less than nothing":           {append(numbers(1, 0), "abc"...), []int{-1}, "too early"},
	} {
		if _, err := Divide(c.block, c.sizes); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, data := range map[string][]byte{"nothing": nil, "half a number": {0x80}, "more than a number has": bytes.Repeat([]byte{0xff}, 11)} {
		if w := (coder{reads: true, data: data}); w.next() != 0 || !errors.Is(w.end(), errShort) {
			t.Errorf("%s is a number: %v", name, w.err)
		}
	}
}

// TestDamagedSnapshots are found as a sync is read, and not by whoever looks at it.
func TestDamagedSnapshots(t *testing.T) {
	for name, p := range map[string]packed{"no JSON": {kindJSON, '{'}, "a JSON of another kind": {kindDeployment, '7'}, "no snapshot": {kindReplicaSet, 1, 2}, "of no kind": {9}} {
		b := NewBlock()
		size, _, err := b.Add(&telemetry.Trace{Snapshot: telemetry.SnapshotOf(p)})
		if err != nil {
			t.Fatal(err)
		}
		records, err := Divide(b.AppendTo(nil), []int{size})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := records[0].Unpack(); !errors.Is(err, errShort) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := NewBlock().Add(&telemetry.Trace{Snapshot: telemetry.SnapshotOf(noJSON{})}); !errors.Is(err, errShort) {
		t.Errorf("a snapshot that nobody can read is written: %v", err)
	}
}

// noJSON is a snapshot of another package that cannot be unpacked.
type noJSON struct{ packed }

func (noJSON) Unpack() (any, error) { return nil, errShort }

// TestBoundsOfInstants that are read, from any second on.
func TestBoundsOfInstants(t *testing.T) {
	for _, c := range []struct {
		second int64
		nano   uint64
		want   error
	}{
		{firstSecond, 0, nil}, {firstSecond - 1, 0, errShort}, {lastSecond, 999_999_999, nil}, {lastSecond + 1, 0, errShort}, {0, 1_000_000_000, errShort},
	} {
		for _, start := range []int64{0, firstSecond, lastSecond} {
			w := coder{start: start}
			from := c.second - start
			w.uvarint(uint64(from<<1) ^ uint64(from>>63) + 1)
			w.uvarint(c.nano)
			w.reads = true
			if at := w.readInstant(); !errors.Is(w.end(), c.want) || w.err == nil && !at.Equal(time.Unix(c.second, int64(c.nano))) {
				t.Errorf("second %d and %d ns from %d: %v, %v", c.second, c.nano, start, at, w.err)
			}
		}
	}
	for second, ok := range map[int64]bool{firstSecond: true, firstSecond - 1: false, lastSecond: true, lastSecond + 1: false} {
		at, w := time.Unix(second, 0), coder{}
		if w.instant(&at); (w.err == nil) != ok {
			t.Errorf("second %d is written: %v", second, w.err)
		}
	}
}

// TestBoundsOfVersions: what is no number as strconv writes it is a text.
func TestBoundsOfVersions(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "9": 9, "999999999999999999": 999_999_999_999_999_999, "1000000000000000000": -1, "0": -1, "01": -1, "1/": -1, "1:": -1} {
		if n, ok := number(s); ok != (want > 0) || ok && n != want {
			t.Errorf("%q is the number %d: %t", s, n, ok)
		}
	}
	for n, want := range map[int64]error{1: nil, 0: errShort, -1: errShort, maxVersion - 1: nil, maxVersion: errShort} {
		w := coder{}
		w.uvarint((uint64(n<<1)^uint64(n>>63))<<versionBits | numberedVersion)
		w.reads = true
		if s := w.readVersion(); !errors.Is(w.end(), want) || (s == "") != (want != nil) {
			t.Errorf("the version %d is read as %q: %v", n, s, w.err)
		}
	}
}

// TestFactsOfOne: another kind of value may have the same bits as a truth.
func TestFactsOfOne(t *testing.T) {
	want := []decision.Fact{decision.Bool("is", true), decision.Duration("took", 1), decision.Instant("at", time.Unix(1, 0)), decision.Count("n", 1)}
	if got := rewritten(t, &telemetry.Trace{Numbers: want})[0].Numbers; !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %s", text(t, want), text(t, got))
	}
}

// TestNoListIsNotAnEmptyOne where a list has no bit of its own.
func TestNoListIsNotAnEmptyOne(t *testing.T) {
	for _, facts := range [][]decision.Fact{nil, {}} {
		x := &telemetry.Trace{Rounds: []decision.Round{{Verdict: decision.Verdict{Actions: []decision.Action{{Victims: []decision.Victim{{Facts: facts}}}}}}}}
		if got := rewritten(t, x)[0]; !reflect.DeepEqual(got, x) {
			t.Errorf("%s is read as %s", text(t, x), text(t, got))
		}
	}
}

// TestDamagedLists have no elements that were not there.
func TestDamagedLists(t *testing.T) {
	overflows := math.MaxUint64/uint64(unsafe.Sizeof("")) + 1 // elements that take no bytes in all, as numbers go
	for name, data := range map[string][]byte{
		"more than bytes":       binary.AppendUvarint(nil, 4),
		"far more":              append(binary.AppendUvarint(nil, overflows+1), make([]byte, 9)...),
		"elements are cut off":  {3, 0x80, 0x80},
		"the second is cut off": {3, 0, 0x80},
	} {
		w, list := coder{reads: true, data: data}, []string(nil)
		if each(&w, &list, str[string]); !errors.Is(w.end(), errShort) || len(list) > 1 || len(list) == 1 && name != "the second is cut off" {
			t.Errorf("%s: %q, %v", name, list, w.err)
		}
	}
	w := coder{lists: maxLists - 10}
	if w.room(11, 1) || !w.reads && !errors.Is(w.err, errLarge) {
		t.Error("a byte more than allowed")
	}
	if w = (coder{lists: maxLists - 10}); !w.room(5, 2) || w.err != nil {
		t.Error("as much as allowed is refused")
	}
}

// TestTextsAreBounded, and an error that there was before stays.
func TestTextsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		texts int
		trace telemetry.Trace
		want  string
	}{
		"as many as allowed": {maxTexts - 1, telemetry.Trace{Epoch: "e"}, ""},
		"more":               {maxTexts, telemetry.Trace{Epoch: "e"}, "different texts"},
		"after an error":     {maxTexts, telemetry.Trace{Epoch: "e", Ended: time.Unix(lastSecond+1, 0)}, "year 10000"},
	} {
		b := NewBlock()
		b.w.texts = make([]string, c.texts)
		if _, _, err := b.Add(&c.trace); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
