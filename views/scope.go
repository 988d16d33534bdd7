package views

import (
	"strconv"
	"strings"
	"time"
)

// Scope is the sizes of a Deployment over one time base. All positions are
// computed by the presenter from recorded facts; paths are in the units of Box.
type Scope struct {
	Label string `json:"label"` // the finding, for who cannot see the plot
	Span  string `json:"span"`  // "02:50 to 03:13"
	// Width and Height are the box of the paths.
	Width, Height int           `json:"-"`
	Grid          string        `json:"-"`
	Ticks         []ScopeTick   `json:"-"`
	Old           string        `json:"-"`
	New           string        `json:"-"`
	Available     string        `json:"-"`
	Limits        string        `json:"-"`
	Bounds        []ScopeBound  `json:"-"`
	HeldFrom      string        `json:"-"`
	HeldTo        string        `json:"-"`
	HeldWidth     string        `json:"-"`
	Now           string        `json:"-"`
	Cursor        string        `json:"-"`
	Deadline      string        `json:"-"`
	Legend        []ScopeLegend `json:"legend"`
	Points        []ScopePoint  `json:"points"`
	Lanes         []ScopeLane   `json:"lanes,omitempty"`
	// Windows are the lengths to choose from; the one that is shown has no address.
	Windows []Link `json:"windows,omitempty"`
	// Pods are a lane for each pod that blocks, MorePods those beyond the first
	// few, Rest bundles of the others.
	Pods     []PodLane `json:"pods,omitempty"`
	Rest     []PodLane `json:"rest,omitempty"`
	MorePods []PodLane `json:"morePods,omitempty"`
	MoreNote string    `json:"-"`
	// HeldAt and DeadlineAt are where those words stand, in percent; "" for nowhere.
	HeldAt, DeadlineAt, DeadlineText string `json:"-"`
	NowAt                            string `json:"-"` // in percent of the width
	CursorAt                         string `json:"-"`
	CursorText                       string `json:"-"`
}

// ScopeTick is a time on the axis.
type ScopeTick struct{ At, Text string }

// ScopeBound is the name of a horizontal line.
type ScopeBound struct{ Y, Text string }

// ScopeLegend is a channel's colour, name and newest value.
type ScopeLegend struct {
	Class string `json:"channel"`
	Name  string `json:"-"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// ScopePoint is the sizes from one moment on.
type ScopePoint struct {
	At        int64  `json:"at"` // Unix milliseconds
	Seq       uint64 `json:"seq"`
	New       int64  `json:"new"`
	Old       int64  `json:"old"`
	Available int64  `json:"available"`
}

// ScopeLane is the syncs of one loop as ticks: nothing, status, size.
type ScopeLane struct {
	Name                  string `json:"name"`
	Nothing, Status, Size string `json:"-"`
	Note                  string `json:"note"`
}

// PodLane is the life of one pod, or of many as a bundle: dotted while it does
// not run, thin while it is not ready, thick while it is available, a hairline
// while it ends.
type PodLane struct {
	Owner  string `json:"-"`
	Own    string `json:"-"`
	Name   string `json:"name,omitempty"` // of a bundle: "7 new"
	Height int    `json:"-"`
	Bundle bool   `json:"-"`
	Dense  bool   `json:"-"` // a bundle of lines that lie close together
	Count  int    `json:"count"`
	// Empty is set where nothing is drawn; Note says why.
	Empty                             bool      `json:"empty,omitempty"`
	Pending, Thin, Thick, Terminating string    `json:"-"`
	Tone                              Tone      `json:"tone,omitempty"`
	Note                              Text      `json:"note,omitempty"`
	Steps                             []PodStep `json:"steps,omitempty"`
}

// PodStep is what a pod was from one moment on.
type PodStep struct {
	At time.Time `json:"at"`
	Is string    `json:"is"`
}

// anchorAt is how a text stands at a place in percent of the width: in the
// middle of it, but never over an edge.
func anchorAt(percent string) string {
	at, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
	switch {
	case err != nil:
		return "middle"
	case at < 8:
		return "start"
	case at > 92:
		return "end"
	}
	return "middle"
}
