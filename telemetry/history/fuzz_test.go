package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/loopscope/loopscope/telemetry"
)

// FuzzCursor proves that a cursor is one that was given out, or refused, and
// that what comes behind it does not begin with it.
func FuzzCursor(f *testing.F) {
	for _, group := range []int64{0, 1, -1, 17_958_000_000_000, 1<<60 - 1, -1 << 60} {
		f.Add(cursor(place{group, 7}))
	}
	for _, text := range []string{"", "+1.0", "01.1", "1 .1", "Z.1", "zzzzzzzzzzzzzzzzzzzz.1", "1_0.1", "\x00", "-0.0", "1", "1.", "1.1.1", "1.zzzzzzzz", "2.-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseCursor(text)
		switch {
		case err != nil && !errors.Is(err, telemetry.ErrBadQuery):
			t.Fatalf("%q: %v", text, err)
		case err == nil && cursor(p) != text:
			t.Fatalf("%q is read as %q", text, cursor(p))
		}
		for _, oldest := range []bool{true, false} {
			s, err2 := scanFor(&telemetry.Query{After: text, OldestFirst: oldest}, nil, 1)
			if text == "" || err != nil {
				continue
			}
			if err2 != nil || s.behind(p) || s.lo > p.group<<classBits || s.hi < p.group<<classBits {
				t.Fatalf("after %q: %v to %v, %v", text, s.lo, s.hi, err2)
			}
		}
	})
}

// FuzzQuery proves that every query is answered or refused by the index's own
// language: no text of a query is part of that language.
func FuzzQuery(f *testing.F) {
	s := filled(f, newGenerator(f, 22, 5).many(40))
	f.Add("shop", "web", "RS-1", "yes", "forbidden")
	f.Add(`"`, "a OR b", "NOT *", "NEAR(x y)", `t:" AND (`)
	f.Add("\x00", "ä€", "", "", "\xff\xfe\xfd")
	f.Fuzz(func(t *testing.T, namespace, part, question, answer, text string) {
		q := telemetry.Query{Namespace: namespace, NamePart: part, Question: question, Answer: answer, Text: text, Leaf: answer, Results: []telemetry.Result{telemetry.Result(part)}}
		if _, err := s.Search(t.Context(), q); err != nil && !errors.Is(err, telemetry.ErrBadQuery) {
			t.Fatal(err)
		}
	})
}

// FuzzBlock proves that no bytes in the place of a table of contents or of syncs
// make a reader panic.
func FuzzBlock(f *testing.F) {
	c, err := newCodec(dictionary)
	if err != nil {
		f.Fatal(err)
	}
	s := Store{reader: &reader{codec: c}, opts: Options{}.withDefaults()}
	groups, err := s.groups(newGenerator(f, 23, 5).many(12))
	if err != nil {
		f.Fatal(err)
	}
	plain := func(data []byte) []byte {
		text, err := c.decompress(data)
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	open := func(data []byte) []byte {
		text, err := unwrap(data)
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	contents := func(h head) []byte {
		data, err := cbor.Marshal(h)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	for _, g := range groups {
		for _, b := range g.pack(c) {
			f.Add(open(b.head), plain(b.body))
			f.Add(open(b.head), open(b.hits))
			f.Add(open(b.head), plain(b.body)[:len(b.body)/2])
		}
	}
	for _, texts := range []string{"", "\x00", "\x01\x00", "\x01\x01\x01x", "\x01\x05\xff\xff\xff\xff\x7fx", "\x63\x00"} {
		for _, fields := range []string{"", "\x00", strings.Repeat("\x00", 60), strings.Repeat("\x01", 400), strings.Repeat("\xff", 60)} {
			f.Add(contents(head{Objects: objects{{}}, Of: numbers[int]{0}, Seqs: numbers[uint64]{1}, Started: numbers[int64]{1}, Places: numbers[int]{0}, Sizes: numbers[int]{len(fields)}}), []byte(texts+fields))
		}
	}
	f.Add(contents(head{Objects: objects{{}}, Of: numbers[int]{0, 0}, Seqs: numbers[uint64]{1, 2}, Started: numbers[int64]{1, 2}, Places: numbers[int]{0, 1}, Sizes: numbers[int]{2, 2}, Words: make([]byte, 4), Bits: []byte{1, 1}}), []byte("\x01\x00{}{}"))
	q := telemetry.Query{Question: "RS-1", Text: "forbidden", Results: []telemetry.Result{"wrote"}}
	m, err := matchOf(&q, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, table, body []byte) {
		_, _ = c.decompress(body)
		// Compressed here: damaged ones are found by their checksums.
		b := &block{id: 1}
		if b.head, b.err = readHead(wrap(table, nil)); b.err != nil {
			return
		}
		if list, err := readHits(b.head, wrap(body, nil)); err == nil {
			_ = b.head.listed(0, list, telemetry.ClassQuiet)
		}
		for _, i := range b.head.may(&q, m.all, m.any) {
			if i < 0 || i >= len(b.head.Seqs) {
				t.Fatalf("sync %d of %d", i, len(b.head.Seqs))
			}
		}
		records, err := c.records(b.head.Sizes, c.compress(body, nil))
		if err != nil {
			return
		}
		for _, r := range records {
			if trace, err := whole(r); err == nil {
				_ = trace.Hit(telemetry.ClassQuiet).Text
				words := newTerms()
				words.of(trace, trace.Class(time.Second))
			}
		}
	})
}

// FuzzDamagedFile proves that a file with any bytes in any place is read,
// refused or said to be damaged.
func FuzzDamagedFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "h.db")
	s := open(f, path, quick())
	traces := newGenerator(f, 24, 5).many(30)
	if err := errors.Join(s.Add(f.Context(), traces...), s.Close()); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	for _, at := range []uint32{0, 18, 28, 100, 5000, 8192, 20_000, 100_000, 140_000} {
		f.Add(at, []byte{0xff, 0, 0x7f, 0x80, 1})
	}
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte) {
		damaged := append([]byte{}, whole...)
		copy(damaged[int(at)%len(damaged):], bytes)
		path := filepath.Join(t.TempDir(), "h.db")
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := Read(path)
		if err != nil {
			return
		}
		_, _ = file.Search(t.Context(), telemetry.Query{Question: "RS-1"})
		_, _ = file.AsOf(t.Context(), traces[0].Object, clock())
		_, _ = file.Get(t.Context(), traces[0].Epoch, 7)
		_ = file.Each(t.Context(), telemetry.Query{}, func(*telemetry.Trace) error { return nil })
		_ = file.State()
		if err := file.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}
