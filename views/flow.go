package views

import "fmt"

// Flow is a loop as a drawing: questions in columns, and the ways between them.
// Everything has its place already, in CSS pixels.
type Flow struct {
	// Name tells the drawings of a page apart, Title and Desc say in words what is drawn.
	Name, Title, Desc string
	// Style is set where the drawing stands alone. A page has its rules already, and
	// its policy forbids others.
	Style         string
	Width, Height int
	Margin        int // on every side
	Heads         []FlowHead
	Boxes         []FlowBox
	Rows          []FlowRow
	// Traced is set where one sync's way is marked, and Way is that way.
	Traced bool
	Way    string
}

// FlowHead is the name of a branch, where it begins.
type FlowHead struct {
	X, Y int
	Text string
}

// FlowBox is a question, or the place where the report begins.
type FlowBox struct {
	X, Y, W, H int
	ID, Note   string
	Text       []string
	Href       string
	Round      bool // no question
	State      FlowState
}

// FlowRow is an answer and the ways it leads.
type FlowRow struct {
	X, Y, Right int
	Answer      string
	Then        []string
	Writes      string
	Note        string
	Href        string
	Ways        string
	State       FlowState
}

// FlowState is how a part of the drawing stands out; it is its class.
type FlowState string

// The states of a part.
const (
	FlowPlain FlowState = ""
	FlowNever FlowState = "no" // never asked or given, or not by this sync
	FlowTaken FlowState = "on" // by this sync
	FlowHeld  FlowState = "on stop"
)

// frame is what the drawing shows of its ground, its margin included.
func (f Flow) frame() string {
	return fmt.Sprint(-f.Margin, -f.Margin, f.Width+2*f.Margin, f.Height+2*f.Margin)
}

// class is that of the part with what it is.
func (s FlowState) class(part string) string {
	if s == FlowPlain {
		return part
	}
	return part + " " + string(s)
}
