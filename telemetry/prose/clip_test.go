package prose_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/telemetry/safetext"
)

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		s     string
		limit int
		want  string
	}{
		{"", 5, ""}, {"web-1", 5, "web-1"}, {"web-12", 5, "web-…"}, {"ääää", 4, "ääää"}, {"äääää", 4, "äää…"}, {"web", 1, "…"}, {"web", 0, ""}, {"web", -1, ""},
		{"a\nb\tc", 9, "a b c"}, {"a\x1b[2Jb", 4, "a […"}, {"\xff\xff\xff\xff\xff", 3, "\uFFFD…"}, {"a\xe2\x80", 5, "a\uFFFD"},
	} {
		if got := prose.Clip(tt.s, tt.limit); got != tt.want {
			t.Errorf("%q in %d characters is %q, want %q", tt.s, tt.limit, got, tt.want)
		}
	}
}

func TestClipMiddle(t *testing.T) {
	long := "admission webhook says first this and then that, and at last the answer: 42."
	digits := strings.Repeat("0123456789", 6)
	for _, tt := range []struct {
		s     string
		limit int
		want  string
	}{
		{long, 100, strings.TrimSuffix(long, ".")},
		{long, 40, "admission … at last the answer: 42"},
		{long, 12, "… answer: 42"},
		{long, 2, "…2"}, {long, 1, "…"}, {long, 0, ""},
		{" a \n\n b. ", 9, "a b"}, {"a b", 3, "a b"},
		// A third of the room is for the front, if that is enough for a word.
		{digits, 40, "0123456789012 … 678901234567890123456789"},
		{digits, 25, "01234567 … 67890123456789"},
		{digits, 24, "…" + digits[60-23:]},
		// Half a word is left out, unless it is most of what stands there.
		{"abcdef " + digits, 40, "abcdef 012345 … 678901234567890123456789"},
		{"abcdefg " + digits, 40, "abcdefg … 678901234567890123456789"},
		{digits + " abcdefghijkl", 40, "0123456789012 … abcdefghijkl"},
		{digits + " abcdefghijk", 40, "0123456789012 … 890123456789 abcdefghijk"},
		{"a\x1b[2Jb", 9, "a [2Jb"},
	} {
		got := prose.ClipMiddle(tt.s, tt.limit)
		if n := utf8.RuneCountInString(got); n > tt.limit {
			t.Errorf("%q has %d characters of %d", got, n, tt.limit)
		}
		if got != tt.want {
			t.Errorf("in %d characters it is %q, want %q", tt.limit, got, tt.want)
		}
	}
}

func TestHead(t *testing.T) {
	for limit, want := range []string{"", "a", "a", "aä", "aä\n", "aä\n"} {
		if got := prose.Head("aä\n", limit); got != want {
			t.Errorf("%d bytes are %q, want %q", limit, got, want)
		}
	}
	if got := prose.Head("\x80\x80\x80", 2); got != "" {
		t.Errorf("where no character begins, two bytes are %q", got)
	}
	if got := prose.Head("a", -1); got != "" {
		t.Errorf("fewer than no bytes are %q", got)
	}
}

// FuzzClip: whatever is clipped is valid, bounded, of one line, without hidden characters,
// and stays as it is when it is clipped again.
func FuzzClip(f *testing.F) {
	f.Add("admission webhook \"x\" denied the request: größer\u009b\xff\u202e\U000e0041\xe2\x80", 20)
	f.Add("a ,,, ;;; ...", 9)
	f.Add("\xff\xff a\n\n\x1b]0;PWNED\x07", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= 400
		for name, clip := range map[string]func(string, int) string{"Clip": prose.Clip, "ClipMiddle": prose.ClipMiddle} {
			got := clip(s, limit)
			switch n := utf8.RuneCountInString(got); {
			case n > max(limit, 0):
				t.Errorf("%s: %q has %d characters of %d", name, got, n, limit)
			case !utf8.ValidString(got) || strings.ContainsFunc(got, safetext.Hidden) || strings.ContainsFunc(got, unicode.IsControl):
				t.Errorf("%s: %q passes what is hidden", name, got)
			case clip(got, limit) != got:
				t.Errorf("%s: %q becomes %q", name, got, clip(got, limit))
			case n < min(limit, 1) && strings.ContainsFunc(s, unicode.IsLetter):
				t.Errorf("%s: nothing is left of %q", name, s)
			}
		}
		if head := prose.Head(s, limit); !strings.HasPrefix(s, head) || len(head) > max(limit, 0) || utf8.ValidString(s) && !utf8.ValidString(head) {
			t.Errorf("Head(%q, %d) is %q", s, limit, head)
		}
	})
}
