package rollingupdate

import "cmp"

// Names are what may name the new one of an update ([RU-1]).
type Names struct {
	// Parked is whose pods the old name takes over.
	Parked string
	// Next is the note on the old one, and Begun is set where its size is written down, too.
	Next  string
	Begun bool
	// Asked is the name in the request.
	Asked string
	// Heir is the one that says that it replaces the old one, and Made what one would be called
	// that is made from it.
	Heir, Made string
}

// New is what the new one is or will be called; "" where nothing names it. In the middle of an
// update no request changes that.
func (n Names) New() string {
	begun := ""
	if n.Begun {
		begun = n.Next
	}
	return cmp.Or(n.Parked, begun, n.Asked, n.Next, n.Heir, n.Made)
}
