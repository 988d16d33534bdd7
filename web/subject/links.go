package subject

import (
	"net/url"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/words"
)

// StoryHref leads to the story that the sync under the cursor belongs to.
func (x *Subject) StoryHref() string {
	href := address.Of(x.Object) + "/story"
	if x.Pinned {
		href += "?sync=" + words.Digits(x.Cursor.Seq) + "&epoch=" + x.Cursor.Epoch
	}
	return href
}

// Told is the sync that the top of the page tells of: the newest, or the one in
// force at the moment that the address names.
func (x *Subject) Told() *telemetry.Trace {
	if x.Moment.IsZero() {
		return x.Newest
	}
	return x.Cursor
}

// StepTo leads to the page at that sync.
func (x *Subject) StepTo(t *telemetry.Trace) *views.Link {
	return &views.Link{Text: words.Digits(t.Seq), Href: x.hrefAt(x.Window, t)}
}

// Href is the page with another window, at the sync under the cursor where that
// is pinned and at the newest otherwise.
func (x *Subject) Href(window string, pinned bool) string {
	if pinned {
		return x.hrefAt(window, x.Cursor)
	}
	return x.href(window, url.Values{})
}

func (x *Subject) hrefAt(window string, t *telemetry.Trace) string {
	return x.href(window, url.Values{"epoch": {t.Epoch}, "sync": {words.Digits(t.Seq)}})
}

// href is the page with these parameters, that window, and what else the address says to show.
func (x *Subject) href(window string, args url.Values) string {
	if WindowOf(window) != 0 {
		args.Set("window", window)
	}
	if x.All {
		args.Set("all", "")
	}
	if x.Pod != "" {
		args.Set("pod", x.Pod)
	}
	if len(args) == 0 {
		return address.Of(x.Object)
	}
	return address.Of(x.Object) + "?" + args.Encode()
}

// scopeWindows are the lengths that a reader may ask for.
var scopeWindows = []struct {
	word string
	span time.Duration
}{{"23m", 23 * time.Minute}, {"1h", time.Hour}, {"6h", 6 * time.Hour}}

// WindowOf is the length that an address asks for; 0 for the one that fits.
func WindowOf(word string) time.Duration {
	for _, w := range scopeWindows {
		if w.word == word {
			return w.span
		}
	}
	return 0
}

// Windows are the lengths that a reader can choose from; the one that is shown
// leads nowhere.
func (x *Subject) Windows() []views.Link {
	list := []views.Link{{Text: "automatic", Href: x.Href("", x.Pinned)}}
	for _, w := range scopeWindows {
		list = append(list, views.Link{Text: w.word, Href: x.Href(w.word, x.Pinned)})
	}
	for i, l := range list {
		if l.Text == x.Window || i == 0 && WindowOf(x.Window) == 0 {
			list[i].Href = ""
		}
	}
	return list
}

// WhatIfHref leads from an object to its plans: those of the sync under the
// cursor, if that is pinned.
func (x *Subject) WhatIfHref() string {
	href := address.Of(x.Object) + "/what-if"
	if x.Pinned {
		href += "?sync=" + words.Digits(x.Cursor.Seq) + "&epoch=" + url.QueryEscape(x.Cursor.Epoch)
	}
	return href
}
