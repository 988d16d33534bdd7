// Package story has the pages of what is over: one sync by its permalink, the chain that
// led to it, and the story of a rollout. Where the journal does not go back far enough it
// reads the history. It follows nothing live.
package story

import (
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/syncs"
)

// Pages builds pages of syncs, chains and stories. It is safe for concurrent use.
type Pages struct {
	*source.Source
	*subject.Finder
	*syncs.Teller
}

// NewPages returns a builder of pages for what the finder finds and the teller tells.
func NewPages(find *subject.Finder, tell *syncs.Teller) *Pages {
	return &Pages{Source: find.Source, Finder: find, Teller: tell}
}
