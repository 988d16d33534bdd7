package views

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 21, 3, 2, 54, 925e6, time.UTC)

func TestLengths(t *testing.T) {
	if Left(at, at) != "0s" || Left(at, at.Add(time.Hour)) != "0s" || Left(at.Add(5*time.Minute+12*time.Second), at) != "5m 12s" {
		t.Error("a countdown is never negative, and says now when it is due")
	}
	if Took(40*time.Microsecond) != "40 µs" || Took(0) != "0.0 ms" || Took(400*time.Microsecond) != "0.4 ms" || Took(41*time.Millisecond) != "41 ms" || Took(1200*time.Millisecond) != "1.2 s" {
		t.Error("lengths of phases")
	}
}

// TestWordsEscape proves that no run lets markup through, whatever its kind.
func TestWordsEscape(t *testing.T) {
	evil := `<b onclick="x">&'`
	for kind := Plain; kind <= Faint; kind++ {
		var b bytes.Buffer
		if err := Words(Text{{Kind: kind, Text: evil, Href: `javascript:alert(1)"><script>`, At: at}}).Render(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Contains(got, "onclick=\"") || strings.Contains(got, "<script") || strings.Contains(got, `"javascript:`) {
			t.Errorf("kind %d renders %s", kind, got)
		}
	}
}

// TestFactBreaks: a long word may break where its parts meet, and a short one may not.
func TestFactBreaks(t *testing.T) {
	for value, want := range map[string]string{
		"ProgressDeadlineExceeded": "Progress<wbr>Deadline<wbr>Exceeded",
		"NewRSAvailable <b>":       "NewRSAvailable &lt;b&gt;",
	} {
		var b bytes.Buffer
		if err := fact(Fact{Name: "reason", Value: value}).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != `<span><span class="dim">reason</span> `+want+"</span>" {
			t.Errorf("%s is %s", value, got)
		}
	}
}

// TestWordsStandStill proves that what is sent live does not depend on the
// time of day, and that a page read without a script does say it.
func TestWordsStandStill(t *testing.T) {
	text := Say("deadline in ").Until(at.Add(31 * time.Second)).Plain(", last ").Since(at.Add(-time.Minute)).Plain(" ago at ").Clock(at)
	render := func(ctx context.Context) string {
		var b bytes.Buffer
		if err := Words(text).Render(ctx, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	still, shown := render(context.Background()), render(WithNow(context.Background(), at))
	if strings.Contains(still, "31s") || !strings.Contains(still, `data-until="1795230205925"`) {
		t.Errorf("a live fragment says %s", still)
	}
	for _, want := range []string{">31s<", ">1m<", ">03:02:54<"} {
		if !strings.Contains(shown, want) {
			t.Errorf("a page lacks %s: %s", want, shown)
		}
	}
	if got := text.At(at); got != "deadline in 31s, last 1m ago at 03:02:54" {
		t.Errorf("in plain words: %q", got)
	}
	stood := text.Still(at)
	if got := stood.At(at.Add(time.Hour)); got != "deadline in 31s, last 1m ago at 03:02:54" {
		t.Errorf("an hour after it stood still: %q", got)
	}
	if got := text.At(at.Add(time.Minute)); got == text.At(at) {
		t.Error("the text itself stands still, too")
	}
}

// TestRoughly: what a reader hears has its ages and countdowns, and changes no more than once a minute.
func TestRoughly(t *testing.T) {
	text := Say("again in ").Until(at.Add(31 * time.Second)).Plain(", for ").Since(at.Add(-125 * time.Second)).Plain(", since ").Clock(at)
	for after, want := range map[time.Duration]string{
		0:                "again in less than a minute, for 2m, since 03:02:54",
		20 * time.Second: "again in less than a minute, for 2m, since 03:02:54",
		3 * time.Hour:    "again in less than a minute, for 3h, since 03:02:54",
		76 * time.Hour:   "again in less than a minute, for 3d, since 03:02:54",
	} {
		if got := text.Roughly(at.Add(after)); got != want {
			t.Errorf("after %s it is %q, want %q", after, got, want)
		}
	}
}

func TestTextAsJSON(t *testing.T) {
	for want, text := range map[string]Text{
		`"plain and code"`: Say("plain and ").Code("code"),
		`[{"text":"in "},{"until":"2026-11-21T03:02:54.925Z"}]`: Say("in ").Until(at),
		`""`: nil,
	} {
		got, err := json.Marshal(text)
		if err != nil || string(got) != want {
			t.Errorf("%v becomes %s (%v), want %s", text, got, err, want)
		}
	}
}
