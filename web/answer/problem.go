package answer

import (
	"time"

	"github.com/loopscope/loopscope/views"
)

// Problem is an error that the reader can do something about: it becomes a page,
// or JSON where JSON was asked for.
type Problem struct {
	views.Problem
	Retry time.Duration // after which it may go better, 0 for not said
}

// Error is its code with its heading.
func (e *Problem) Error() string { return e.Code + ": " + e.Heading }

// NewProblem is an error that the reader can do something about, with its HTTP status and a
// code for programs.
func NewProblem(status int, code, heading string, lines ...views.Text) *Problem {
	return &Problem{Problem: views.Problem{Status: status, Code: code, Heading: heading, Lines: lines}}
}

// RetryIn says after how long the request may be made again.
func (e *Problem) RetryIn(d time.Duration) *Problem {
	e.Retry = d
	return e
}

// Link adds where the reader may go from here.
func (e *Problem) Link(text, href string) *Problem {
	return e.LinkTo(views.Link{Text: text, Href: href})
}

// LinkTo adds a link.
func (e *Problem) LinkTo(l views.Link) *Problem {
	e.Links = append(e.Links, l)
	return e
}

// Wire is an error as programs get it.
type Wire struct {
	Error wireProblem `json:"error"`
}

type wireProblem struct {
	Status  int          `json:"status"`
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Links   []views.Link `json:"links,omitempty"`
}

// WireOf is a problem as programs get it.
func WireOf(p views.Problem) Wire {
	text := p.Heading
	for _, l := range p.Lines {
		text += " " + l.String()
	}
	return Wire{wireProblem{p.Status, p.Code, text, p.Links}}
}
