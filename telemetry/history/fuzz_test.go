package history

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/wire"
)

// FuzzCursor proves that a cursor is one that was given out, or refused, and
// that what comes behind it does not begin with it.
func FuzzCursor(f *testing.F) {
	for _, block := range []int64{0, 1, -1, 17_958_000_000_000, 1<<63 - 1, -1 << 63} {
		f.Add(cursor(place{block, 7}))
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
			if err2 != nil || s.behind(p) || s.lo > p.block || s.hi < p.block {
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

// FuzzBlock proves that no bytes in the place of a table, of a list or of syncs make a
// reader panic.
func FuzzBlock(f *testing.F) {
	unpacked := func(data []byte) []byte {
		plain, err := unpack(data)
		if err != nil {
			f.Fatal(err)
		}
		return plain
	}
	for _, b := range blocksOf(f, newGenerator(f, 23, 5).many(12)...) {
		table, list := unpacked(b.table), unpacked(b.list)
		for _, body := range b.plain {
			f.Add(table, list, body)
			f.Add(table[:len(table)/2], list, body[:len(body)/2])
		}
		f.Add(list, table, list)
	}
	for _, sizes := range [][]int{{0}, {1}, {1 << 40}, {-1}, {5, 5}, {5, 1, 5}, {maxTrace, maxTrace}} {
		list, err := wire.Append(nil, &hits{Hits: make([]telemetry.Hit, len(sizes)), Sizes: sizes})
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte{}, list, []byte("\x00\x01\x02\x00"))
	}
	q := telemetry.Query{Question: "RS-1", Text: "forbidden", Results: []telemetry.Result{"wrote"}}
	asked, err := scanFor(&q, nil, 1)
	if err != nil {
		f.Fatal(err)
	}
	all, err := scanFor(&telemetry.Query{}, nil, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data, list, body []byte) {
		_, _ = unpack(data)
		// Compressed here: damaged ones are found by their checksums.
		b := &openBlock{id: math.MaxInt64, table: data, data: pack(nil, list), kept: true, plain: [bodies][]byte{body, body}}
		for _, s := range []scan{asked, all} {
			_, _ = s.visit(b, func(e entry) (bool, error) {
				if b.err != nil {
					return true, nil
				}
				if trace, err := b.sync(e.index); err == nil {
					_ = trace.Hit(telemetry.ClassQuiet).Text
					words := emptyTerms()
					words.of(trace, trace.Class(time.Second), e.index)
				}
				_ = text(t, e.hit())
				return true, nil
			})
		}
	})
}
