// Package list has the pages that list: the objects of a loop, attention first, and what a
// search finds in the history. It keeps each list up to date with the journal, however
// many readers there are. It knows no page of an object, and draws rows only when
// somebody has them in sight.
package list

import "github.com/loopscope/loopscope/web/page"

// Pages builds lists. It is safe for concurrent use.
type Pages struct {
	*page.Maker
	lists listings
}

// NewPages returns a builder of lists that are framed by that maker.
func NewPages(m *page.Maker) *Pages { return &Pages{Maker: m} }
