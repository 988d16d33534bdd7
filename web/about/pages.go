// Package about has the pages that are about the program and its loops rather than one
// object: what runs here and its limits, the queues, every question with its counts,
// rules, reason codes, and how decisions compare with those of another controller.
package about

import (
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/page"
)

// Pages builds pages about the program. It is safe for concurrent use.
type Pages struct {
	*page.Maker
	limits  []views.Line
	readers func() int
}

// NewPages returns a builder of pages that says what is bounded, and how many live
// readers there are now.
func NewPages(m *page.Maker, limits []views.Line, readers func() int) *Pages {
	return &Pages{Maker: m, limits: limits, readers: readers}
}
