package history

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// What is read while others write: the file that is there, until it can be opened for writing, and none that is refused
// for what it is.
func TestReadMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	keepOne(t, path)
	k := Keep(path, quick(), slog.New(slog.DiscardHandler))
	reads := func(when string, want int) {
		t.Helper()
		k.open()
		found, err := k.Search(t.Context(), telemetry.Query{})
		if refused := want < 0; refused != (err != nil) || !refused && len(found.Hits) != want {
			t.Errorf("%s: %d hits, %v; want %d", when, len(found.Hits), err, want)
		}
	}
	first := open(t, path, quick())
	reads("taken", 50)
	held := k.held
	if reads("still taken", 50); k.held != held {
		t.Error("it was opened once more, though it is the same file")
	}
	if err := errors.Join(first.Close(), os.Rename(path, path+".away")); err != nil {
		t.Fatal(err)
	}
	first = open(t, path, quick())
	if reads("another one is there", 0); k.held == held {
		t.Error("the one that was moved away is still read")
	}
	if err := errors.Join(first.Add(t.Context(), named(1, "web", 0)), first.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, path+".other"); err != nil {
		t.Skip("no hard links here")
	}
	if reads("it has other names", -1); k.held != nil {
		t.Error("a file that is refused is read")
	}
	if err := os.Remove(path + ".other"); err != nil {
		t.Fatal(err)
	}
	if reads("it can be written", 1); k.store == nil || k.held != nil {
		t.Errorf("open %v, and still read beside that: %v", k.store != nil, k.held != nil)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
}
