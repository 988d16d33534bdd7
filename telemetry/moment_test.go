package telemetry

import (
	"strings"
	"testing"
	"time"
)

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, time.March, 14, 12, 30, 0, 0, time.FixedZone("", 3600)) // 11:30 UTC
	for text, want := range map[string]string{
		"2026-11-21T03:02:24Z": "2026-11-21T03:02:24Z", "2026-11-21T03:02:24.5+01:00": "2026-11-21T02:02:24.5Z", "2026-11-21 03:02": "2026-11-21T03:02:00Z",
		"2026-11-21": "2026-11-21T00:00:00Z", "11:29": "2026-03-14T11:29:00Z", "11:31": "2026-03-13T11:31:00Z", " 03:02:24 ": "2026-03-14T03:02:24Z",
		"90m": "2026-03-14T10:00:00Z", "0s": "2026-03-14T11:30:00Z",
	} {
		if got, err := ParseMoment(text, now); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %s, %v, want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
	if _, err := ParseMoment(strings.Repeat("9", 61), now); !strings.HasPrefix(err.Error(), `"`+strings.Repeat("9", 59)+`…" is not`) {
		t.Errorf("a long text: %v", err)
	}
	for _, text := range []string{"", "yesterday", "-5m", "25:00", "2026-13-01", strings.Repeat("9", 500)} {
		if got, err := ParseMoment(text, now); err == nil || !strings.Contains(err.Error(), "90m (ago)") || len(err.Error()) > 250 {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// FuzzParseMoment proves that what is taken for a moment is one that can be
// written down, and that a time of day is never one that is still to come.
func FuzzParseMoment(f *testing.F) {
	for _, text := range []string{"2026-11-21T03:02:24Z", "03:02", "90m", "2562047h47m16s", "0000-01-01", "9999-12-31T23:59:59-23:59", "1e9h", "\x00"} {
		f.Add(text)
	}
	now := time.Date(2026, time.March, 14, 12, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		at, err := ParseMoment(text, now)
		if err != nil {
			return
		}
		if at.Location() != time.UTC || len(text) <= 8 && strings.Contains(text, ":") && at.After(now) {
			t.Fatalf("%q is %s", text, at)
		}
	})
}
