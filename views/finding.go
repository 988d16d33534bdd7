package views

import (
	"time"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// Finding is one thing that keeps pods from being available.
type Finding struct {
	Code string `json:"code"`
	// Reason leads to what the code means.
	Reason string     `json:"-"`
	What   Text       `json:"what"`
	Count  int64      `json:"count"`
	Pods   []string   `json:"pods,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	// For is how long ago that is.
	For Text `json:"-"`
	// Past is set where it happened at Since, and does not last.
	Past bool `json:"-"`
	// Message is what the cluster said, in full.
	Message     string `json:"message,omitempty"`
	Unblocks    Text   `json:"unblocks"`
	NeedsAction bool   `json:"needsAction,omitempty"`
	// Show is a command that shows more.
	Show string `json:"show,omitempty"`
}

// lasts is for how long it has lasted, or how long ago it happened.
func (f Finding) lasts() Text {
	switch {
	case !f.Past:
		return Say(", for ").Join(f.For)
	case f.Count == 1:
		return Say(", ").Join(f.For).Plain(" ago")
	default:
		return Say(", the first ").Join(f.For).Plain(" ago")
	}
}

// Evidence is events as they were read at a moment, zero where nobody has opened the page
// since there is something to read. Nothing was decided on them.
type Evidence struct {
	At       time.Time `json:"at"`
	Error    string    `json:"error,omitempty"`
	Warnings []Warning `json:"warnings"`
	Again    string    `json:"again"` // reads them anew
}

// Warning is a Warning event.
type Warning struct {
	At      time.Time `json:"at"`
	Count   int64     `json:"count"`
	Object  string    `json:"object"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

// when is how long ago it was seen last, and how often.
func (w Warning) when() Text {
	t := Text{}.Since(w.At).Plain(" ago")
	if w.Count > 1 {
		t = t.Plain(", " + prose.Count(w.Count, "time"))
	}
	return t
}
