package list

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// FuzzCursor proves that a cursor is read as a place or not at all, and that what is given
// out for a place is read as the same one.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "shop/web", "~", "~~", "failed~~", "failed~~node-1", "settled~~shop/web", "hold~2026-11-21T03:12:04.123456789Z~shop/web", "settled~2026-11-21T03:12:04Z~/",
		"waiting~2026-11-21T03:12:04+23:59~shop/web", "waiting~0000-01-01T00:00:00Z~a~b", "on hold~~a", "\x00~\xff~\u202e", "failed~99999-01-01T00:00:00Z~a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, ok := readCursor(text)
		if !ok {
			return
		}
		again, ok := readCursor(cursorOf(e))
		if !ok || attentionFirst(e, again) != 0 || again.key != e.key {
			t.Fatalf("%q is given out as %q, which is another place", text, cursorOf(e))
		}
	})
}

// TestCursor: a place reads as itself, whatever its outcome and however long it has been there.
func TestCursor(t *testing.T) {
	since := time.Date(2026, 11, 21, 3, 12, 4, 123456789, time.FixedZone("", 3600))
	for place, want := range []string{"failed~2026-11-21T02:12:04.123456789Z~shop/web", "waiting~2026-11-21T02:12:04.123456789Z~shop/web",
		"moving~2026-11-21T02:12:04.123456789Z~shop/web", "hold~2026-11-21T02:12:04.123456789Z~shop/web", "settled~~shop/web"} {
		trace := &telemetry.Trace{Object: telemetry.Object{Namespace: "shop", Name: "web"}}
		e := &entry{Row: telemetry.Row{Trace: trace, SinceTone: since}, place: place, key: trace.Key()}
		read, ok := readCursor(want)
		if got := cursorOf(e); got != want || !ok || attentionFirst(e, read) != 0 {
			t.Errorf("%q is read as another place, or should be %q", got, want)
		}
	}
	for _, wrong := range []string{"shop/web", "blue~~shop/web", "waiting~today~shop/web", "waiting~~", "waiting~2026-11-21T03:12:04+01:00~shop/web"} {
		if _, ok := readCursor(wrong); ok {
			t.Errorf("%q is read as a place", wrong)
		}
	}
}
