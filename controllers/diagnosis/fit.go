package diagnosis

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/loopscope/loopscope/controllers/decision"
)

// leastQuote is how many characters of foreign words are left at least.
const leastQuote = 24

// Fit shortens the longest foreign words until all of it fits into limit characters
// as of now, or until nothing more can be left out. Our own words stay whole.
func Fit(w decision.Words, limit int, now time.Time) decision.Words {
	over := utf8.RuneCountInString(w.At(now)) - limit
	if over <= 0 {
		return w
	}
	w = slices.Clone(w)
	for over > 0 {
		at, most := -1, leastQuote
		for i, p := range w {
			if n := utf8.RuneCountInString(p.Text); (p.Kind == decision.Quote || p.Kind == decision.Told) && n > most {
				at, most = i, n
			}
		}
		if at < 0 {
			break
		}
		w[at].Text = Quote(w[at].Text, max(leastQuote, most-over))
		over -= most - utf8.RuneCountInString(w[at].Text)
	}
	return w
}
