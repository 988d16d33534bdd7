package safebytes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/safebytes"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "größer → 名前 ✓ …\n\tb": "größer → 名前 ✓ …\n\tb", "a\x1b[2J\u009b\u202eb": "a [2J  b", "\U000e0041": " ", "a\x9b\xff": "a  ", "\ufffd": "\ufffd", "a\r\x7f": "a  ",
	} {
		if got := string(safebytes.Text([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	same := []byte("a → b")
	if got := safebytes.Text(same); &got[0] != &same[0] {
		t.Error("a clean text is copied")
	}
}

// FuzzJSON: nothing hidden is left, and the value is the same.
func FuzzJSON(f *testing.F) {
	f.Add("nginx:\x1b]0;PWNED\x07\x1b[2J\u009b2J\u202eb\u200bc\u061cd\u2028e\U000e0041f\x7f")
	f.Add("größer\u009b\xff\u00ad\xe2\x80")
	f.Fuzz(func(t *testing.T, s string) {
		raw, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		got := safebytes.JSON(raw)
		if bytes.ContainsFunc(got, safetext.Hidden) {
			t.Fatalf("%q becomes %q", s, got)
		}
		var before, after map[string]string
		if err := errors.Join(json.Unmarshal(raw, &before), json.Unmarshal(got, &after)); err != nil || !maps.Equal(before, after) {
			t.Fatalf("%q reads as %q: %v", s, after, err)
		}
	})
}

func BenchmarkText(b *testing.B) {
	page := []byte(strings.Repeat(`<td class="why">1 pod of revision 2 is not available: 3 of 10 · 5s</td>`+"\n", 1500))
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		safebytes.Text(page)
	}
}
