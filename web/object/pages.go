// Package object is the page of one object: its sentence, what keeps it, the picture
// over time, the sync under the cursor and all that are kept. It knows Deployments and
// ReplicaSets by their snapshots, and every other object by its syncs. It knows no list,
// and changes nothing.
package object

import (
	"github.com/loopscope/loopscope/web/scope"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/syncs"
)

// Pages builds the pages of objects. It is safe for concurrent use.
type Pages struct {
	*source.Source
	*subject.Finder
	*syncs.Teller
	*scope.Drawer
	seen evidence
}

// NewPages returns a builder of pages for what the finder finds and the teller tells.
func NewPages(find *subject.Finder, tell *syncs.Teller) *Pages {
	return &Pages{Source: find.Source, Finder: find, Teller: tell, Drawer: scope.NewDrawer(find.Source)}
}
