// Package page is how pages are made and served, whatever they show: what an address
// asks for, the frame around each page, its live parts and their digest, its JSON twin,
// and the page of whatever went wrong. It knows no page in particular.
package page

import (
	"github.com/loopscope/loopscope/web/slots"
	"github.com/loopscope/loopscope/web/source"
)

// Maker makes pages of what is known. It is safe for concurrent use once Routes is
// complete.
type Maker struct {
	*source.Source
	Slots *slots.Slots
	// Routes are what is served, by their pattern.
	Routes map[string]Route
}

// New returns a maker that has no routes yet, whose pages are drawn in those slots.
func New(src *source.Source, places *slots.Slots) *Maker {
	return &Maker{Source: src, Slots: places, Routes: map[string]Route{}}
}
