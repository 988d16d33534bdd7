// Package syncs tells one sync in full: what woke it, the path it went, what it wrote,
// what it held back and when it looks again. Pages of objects and of single syncs are
// made of its parts; it makes none itself.
package syncs

import "github.com/loopscope/loopscope/web/source"

// Teller tells syncs of what is known. It is safe for concurrent use.
type Teller struct{ *source.Source }

// NewTeller returns a teller for that source.
func NewTeller(src *source.Source) *Teller { return &Teller{src} }
