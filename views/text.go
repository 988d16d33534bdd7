package views

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// Tone is how a mark is coloured; it is never shown without its word.
type Tone string

// The tones, named by their glyph in the sprite and their class in the style sheet.
const (
	Failed  Tone = "fail"
	Waiting Tone = "wait"
	Moving  Tone = "move"
	Idle    Tone = "idle"
	OK      Tone = "ok"
)

// Mark is a glyph and the word that says the same.
type Mark struct {
	Tone Tone   `json:"tone"`
	Word string `json:"word"`
}

// RunKind says how a Run is set.
type RunKind uint8

// The kinds of Run.
const (
	Plain  RunKind = iota
	Strong         // a number or word that matters
	Code           // a name, a value, somebody else's words
	Until          // the time left until At, counting down
	Since          // the time passed since At
	Clock          // At as a time of day, with the date on hover
	Jump           // a link to Href
	Faint          // an aside
)

// Run is a stretch of text that is set in one way.
type Run struct {
	Kind RunKind
	Text string
	At   time.Time
	Href string
}

// Text is what a page says somewhere, as runs.
type Text []Run

// Say makes a Text of plain words.
func Say(s string) Text { return Text{{Text: s}} }

// Sayf makes a Text of formatted plain words.
func Sayf(format string, args ...any) Text { return Say(fmt.Sprintf(format, args...)) }

// Plain appends words.
func (t Text) Plain(s string) Text { return append(t, Run{Text: s}) }

// Strong appends words that matter.
func (t Text) Strong(s string) Text { return append(t, Run{Kind: Strong, Text: s}) }

// Faint appends an aside.
func (t Text) Faint(s string) Text { return append(t, Run{Kind: Faint, Text: s}) }

// Code appends a name or a value.
func (t Text) Code(s string) Text { return append(t, Run{Kind: Code, Text: s}) }

// Link appends a link within the console.
func (t Text) Link(text, href string) Text {
	return append(t, Run{Kind: Jump, Text: text, Href: href})
}

// Until appends a countdown, Since an age, Clock a time of day.
func (t Text) Until(at time.Time) Text { return append(t, Run{Kind: Until, At: at}) }

// Since appends an age.
func (t Text) Since(at time.Time) Text { return append(t, Run{Kind: Since, At: at}) }

// Clock appends a time of day.
func (t Text) Clock(at time.Time) Text { return append(t, Run{Kind: Clock, At: at}) }

// Join appends other text.
func (t Text) Join(more Text) Text { return append(t, more...) }

// Still is the text with its ages and countdowns as they stood at that instant.
func (t Text) Still(at time.Time) Text {
	still := slices.Clone(t)
	for i, r := range still {
		if r.Kind == Until || r.Kind == Since {
			still[i] = Run{Text: r.at(at)}
		}
	}
	return still
}

// String is the text without ages and countdowns, for titles and announcements.
func (t Text) String() string { return t.At(time.Time{}) }

// At is the text in plain words as of now; a zero now leaves the moving times out.
func (t Text) At(now time.Time) string {
	var b strings.Builder
	for _, r := range t {
		b.WriteString(r.at(now))
	}
	return b.String()
}

// Roughly is the text in plain words as of now, with ages and countdowns that change once a minute
// at most: for what a reader hears, and for what is sent again with every change.
func (t Text) Roughly(now time.Time) string {
	var b strings.Builder
	for _, r := range t {
		switch r.Kind {
		case Until:
			b.WriteString(prose.Rough(r.At.Sub(now)))
		case Since:
			b.WriteString(prose.Rough(now.Sub(r.At)))
		default:
			b.WriteString(r.at(now))
		}
	}
	return b.String()
}

func (r Run) at(now time.Time) string {
	switch {
	case r.Kind == Clock:
		return r.At.UTC().Format("15:04:05")
	case r.Kind != Until && r.Kind != Since:
		return r.Text
	case now.IsZero():
		return ""
	case r.Kind == Until:
		return Left(r.At, now)
	default:
		return prose.Span(now.Sub(r.At))
	}
}

type wireRun struct {
	Text  string     `json:"text,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	At    *time.Time `json:"at,omitempty"`
	Href  string     `json:"href,omitempty"`
}

// MarshalJSON writes a string where the words stand still, and otherwise a list
// of their parts, so that a program reads instants and not somebody's "5m 12s".
func (t Text) MarshalJSON() ([]byte, error) {
	still := true
	wire := make([]wireRun, 0, len(t))
	for _, r := range t {
		w := wireRun{Text: r.Text, Href: r.Href}
		switch r.Kind {
		case Until:
			still, w.Until = false, &r.At
		case Since:
			still, w.Since = false, &r.At
		case Clock:
			still, w.At = false, &r.At
		}
		wire = append(wire, w)
	}
	if still {
		return json.Marshal(t.String())
	}
	return json.Marshal(wire)
}

type clockKey struct{}

// WithNow lets ages and countdowns print as of now. Without it they print
// nothing, which keeps a live fragment equal while only the clock has moved;
// the script fills them in.
func WithNow(ctx context.Context, now time.Time) context.Context {
	return context.WithValue(ctx, clockKey{}, now)
}

func nowOf(ctx context.Context) time.Time {
	now, _ := ctx.Value(clockKey{}).(time.Time)
	return now
}

type rootKey struct{}

// WithPath makes the links of a page that is served at a path of the console lead to
// the others from there, so that it does not matter under which address the console as a
// whole is mounted. Without it links begin with a slash.
func WithPath(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, rootKey{}, strings.Repeat("../", max(0, strings.Count(path, "/")-1)))
}

// At is the address of a page of the console, as a link to it; what is no path is checked
// as the address of anywhere.
func At(ctx context.Context, address string) templ.SafeURL {
	root, relative := ctx.Value(rootKey{}).(string)
	path, ok := strings.CutPrefix(address, "/")
	switch {
	case !relative || !ok || strings.HasPrefix(path, "/"):
		return templ.URL(address)
	case root+path == "":
		return "./"
	default:
		return templ.SafeURL(root + path)
	}
}

// Words places a Text. It is written by hand because every space counts in it.
func Words(t Text) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		now := nowOf(ctx)
		var b strings.Builder
		for _, r := range t {
			r.write(ctx, &b, now)
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

func (r Run) write(ctx context.Context, b *strings.Builder, now time.Time) {
	text := templ.EscapeString(r.at(now))
	switch r.Kind {
	case Strong:
		b.WriteString("<b>" + text + "</b>")
	case Code:
		b.WriteString("<code>" + text + "</code>")
	case Faint:
		b.WriteString(`<span class="dim">` + text + "</span>")
	case Until:
		fmt.Fprintf(b, `<span class="one" data-until="%d" title="%s">%s</span>`, r.At.UnixMilli(), absolute(r.At), text)
	case Since:
		fmt.Fprintf(b, `<span class="one" data-since="%d" title="%s">%s</span>`, r.At.UnixMilli(), absolute(r.At), text)
	case Clock:
		fmt.Fprintf(b, `<time datetime="%s" title="%[1]s">%s</time>`, absolute(r.At), text)
	case Jump:
		fmt.Fprintf(b, `<a href="%s">%s</a>`, templ.EscapeString(string(At(ctx, r.Href))), text)
	default:
		b.WriteString(text)
	}
}

// fact places a value that was compared. A long word breaks between the words it is made of;
// by hand, as a template would print spaces there.
func fact(f Fact) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		value := longWord.ReplaceAllStringFunc(templ.EscapeString(f.Value), func(word string) string {
			return hump.ReplaceAllString(word, "$1<wbr>$2")
		})
		_, err := fmt.Fprintf(w, `<span><span class="dim">%s</span> %s</span>`, templ.EscapeString(f.Name), value)
		return err
	})
}

var (
	longWord = regexp.MustCompile(`[A-Za-z]{16,}`)
	hump     = regexp.MustCompile(`([a-z])([A-Z])`)
)

func absolute(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Left prints the time until at, 0s when it is over: never a negative.
func Left(at, now time.Time) string { return prose.Span(at.Sub(now)) }

// Took prints how long something lasted: 40 µs, 0.4 ms, 9 ms, 1.2 s.
func Took(d time.Duration) string {
	switch {
	case d > 0 && d < 100*time.Microsecond:
		return fmt.Sprintf("%d µs", max(1, d/time.Microsecond))
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// pct prints a coordinate with one decimal at most.
func pct(f float64) string { return string(appendPct(nil, f)) }

func appendPct(b []byte, f float64) []byte {
	return strconv.AppendFloat(b, math.Round(f*10)/10, 'f', -1, 64)
}
