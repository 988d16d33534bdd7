// Package subject finds what a page of an object is about: the object, the syncs that
// are kept of it and the one under the cursor, in the journal or in the history. It says
// what is missing where there is none. It draws no page.
package subject

import "github.com/loopscope/loopscope/web/page"

// Finder finds subjects and syncs. It is safe for concurrent use.
type Finder struct{ *page.Maker }

// NewFinder returns a finder whose problems lead to pages of that maker.
func NewFinder(m *page.Maker) *Finder { return &Finder{m} }
