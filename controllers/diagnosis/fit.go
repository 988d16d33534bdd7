package diagnosis

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// How many characters of a quoted message are kept at least: fairQuote is what most
// people need, leastQuote is for where there is no room for that.
const (
	leastQuote = 24
	fairQuote  = 40
)

// longestTime is how many characters a length of time takes at most ("59m 59s"). What fits
// must not depend on the second in which it is looked at.
const longestTime = 7

// Length is how many characters words take, whenever they are said.
func Length(w decision.Words) int {
	n := 0
	for _, p := range w {
		switch p.Kind {
		case decision.Until, decision.Since:
			n += longestTime
		default:
			n += utf8.RuneCountInString(p.Print(time.Time{}))
		}
	}
	return n
}

// Fit shortens the longest words of others until all of it fits into limit characters,
// and leaves out those in brackets where it still does not. Our own words stay whole.
func Fit(w decision.Words, limit int) decision.Words {
	w = shorten(w, limit, leastQuote)
	for i := len(w) - 2; i > 0 && Length(w) > limit; i-- {
		if w[i].Kind == decision.Quote && w[i-1].Text == " (" && w[i+1].Text == ")" {
			w = slices.Concat(w[:i-1], w[i+2:])
			i = len(w) - 1
		}
	}
	return w
}

// Short is Fit as long as nothing has to be left out.
func Short(w decision.Words, limit int) (fitted decision.Words, ok bool) {
	fitted = shorten(w, limit, leastQuote)
	return fitted, Length(fitted) <= limit
}

// Fair is Short as long as enough is left of the words of others to understand them.
func Fair(w decision.Words, limit int) (fitted decision.Words, ok bool) {
	fitted = shorten(w, limit, fairQuote)
	return fitted, Length(fitted) <= limit
}

func shorten(w decision.Words, limit, least int) decision.Words {
	for over := Length(w) - limit; over > 0; over = Length(w) - limit {
		at, most := -1, least
		for i, p := range w {
			if n := utf8.RuneCountInString(p.Text); (p.Kind == decision.Quote || p.Kind == decision.Told) && n > most {
				at, most = i, n
			}
		}
		if at < 0 {
			break
		}
		w = slices.Clone(w)
		w[at].Text = prose.ClipMiddle(w[at].Text, max(least, most-over))
	}
	return w
}
