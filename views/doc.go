// Package views places what the presenter gives it. It may not import anything
// of ours, compute an answer, or write a sentence: its view models are plain
// values, and the same values are printed by a page and by its JSON twin.
//
// One page is one templ file and one view model. A part of a page that changes
// while it is being read is a component of its own with an id; the page and the
// live stream render the same component.
package views
