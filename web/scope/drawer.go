// Package scope is the picture over time: sizes, syncs and pods of an object as lines
// and lanes. It draws what package timeline has put together, and serves nothing.
package scope

import "github.com/loopscope/loopscope/web/source"

// Drawer draws pictures of what is known. It is safe for concurrent use.
type Drawer struct{ *source.Source }

// NewDrawer returns a drawer for that source.
func NewDrawer(src *source.Source) *Drawer { return &Drawer{src} }
