package history

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// FuzzCursor proves that a cursor is one that was given out, or refused.
func FuzzCursor(f *testing.F) {
	for _, id := range []int64{0, 1, -1, 17_958_000_000_000, 1<<63 - 1, -1 << 63} {
		f.Add(cursor(id))
	}
	for _, text := range []string{"", "+1", "01", "1 ", "Z", "zzzzzzzzzzzzzzzzzzzz", "1_0", "\x00", "-0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseCursor(text)
		switch {
		case err != nil && !errors.Is(err, telemetry.ErrBadQuery):
			t.Fatalf("%q: %v", text, err)
		case err == nil && cursor(id) != text:
			t.Fatalf("%q is read as %q", text, cursor(id))
		}
		for _, s := range []scan{{lo: -1 << 63, hi: 1<<63 - 1}, {lo: -1 << 63, hi: 1<<63 - 1, oldest: true}} {
			if rest := s.after(id); err == nil && rest.lo <= id && id <= rest.hi && id != -1<<63 && id != 1<<63-1 {
				t.Fatalf("after %d comes %d to %d", id, rest.lo, rest.hi)
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

// FuzzRow proves that no bytes in the place of a trace make a reader panic.
func FuzzRow(f *testing.F) {
	c, err := newCodec(dictionary)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.close)
	for _, trace := range newGenerator(f, 23, 5).many(5) {
		body, err := c.pack(trace)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
		f.Add(body[:len(body)/2])
	}
	for _, json := range []string{"{}", "null", `{"v":99}`, `{"rounds":[{}],"report":{}}`, `{"sentence":{"object":"x","lead":[{"kind":"until"}]}}`} {
		f.Add(c.encoder.EncodeAll([]byte(json), nil))
	}
	r := reader{codec: c}
	f.Fuzz(func(t *testing.T, body []byte) {
		hit, _ := r.hit(row{id: 1, body: body}, &telemetry.Query{Question: "RS-1", Text: "forbidden"})
		_ = hit.Text
		if trace, err := c.trace(body); err == nil {
			_ = document(trace, trace.Class(time.Second))
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
