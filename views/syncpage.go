package views

import "strings"

// SyncDoc is the permalink of one sync, as a document.
type SyncDoc struct {
	Headline Text   `json:"headline"`
	Sentence string `json:"sentence"`
	Then     Text   `json:"then"`
	// Object is the page that this sync belongs to.
	Object   Link      `json:"object"`
	Prev     *Link     `json:"previous,omitempty"`
	Next     *Link     `json:"next,omitempty"`
	Newest   *Link     `json:"newest,omitempty"`
	Phases   []Phase   `json:"phases"`
	PhasesIn string    `json:"phasesText"`
	Sync     Sync      `json:"sync"`
	Wait     []Line    `json:"wait"`
	WaitNote string    `json:"-"`
	Observed []Line    `json:"observed"`
	Held     []Held    `json:"held"`
	Report   ReportDoc `json:"report"`
	Flow     Flow      `json:"-"`
	Raw      string    `json:"-"`
	RawSize  string    `json:"-"`
	// Replay is the command that decides this sync once more, without a cluster.
	Replay string `json:"replay,omitempty"`
}

// Phase is one part of a sync, to scale.
type Phase struct {
	Name  string  `json:"name"`
	Took  string  `json:"took"`
	Shade string  `json:"-"` // a, b or c
	From  float64 `json:"-"` // in percent
	Width float64 `json:"-"`
}

// ReportDoc is the status and the events that a sync published.
type ReportDoc struct {
	Note    string   `json:"note"`
	Changes []string `json:"changes,omitempty"`
	Events  []Line   `json:"events,omitempty"`
	Nothing Text     `json:"nothing,omitempty"`
}

// Quiet is the head of a path up to the first question that decided something:
// it folds into one line.
func (r Round) Quiet() []Node {
	for i, n := range r.Path {
		if n.State == Taken || n.State == Stopped {
			return r.Path[:i]
		}
	}
	return nil
}

// QuietCount is how many of them were asked.
func (r Round) QuietCount() int {
	n := 0
	for _, x := range r.Quiet() {
		if x.State == Passed {
			n++
		}
	}
	return n
}

// QuietIDs are their ids.
func (r Round) QuietIDs() string {
	var ids []string
	for _, x := range r.Quiet() {
		if x.State == Passed {
			ids = append(ids, x.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// Rest is the path without its Quiet head.
func (r Round) Rest() []Node { return r.Path[len(r.Quiet()):] }
