// Package flow draws the graph of a loop: questions in columns from top to bottom,
// branches to the right of where they leave, and lines between them in channels of
// their own, so that none runs through a word. The layout knows no browser: widths of
// words are estimates, on the large side.
package flow

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

// Note is what a drawing says of a question or an answer beside its own words.
type Note struct {
	// Word stands for the answer where one was given that the catalogue leaves open.
	Word string
	// Text is a count, or whatever else is short.
	Text string
	// Href leads to the syncs that it is about; empty for nowhere.
	Href string
	// Never draws it as what did not happen.
	Never bool
}

// Notes are what a drawing is about.
type Notes struct {
	Name, Title, Desc string
	// Style is for a drawing that stands alone.
	Style    string
	Question func(decision.Question) Note
	Answer   func(decision.Question, decision.Answer) Note
	// Hops are the steps of the sync whose way is marked; nil for none.
	Hops []decision.Hop
}

// Alone draws the graph as a file of its own, which says in words what it shows.
func Alone(g decision.Graph, title, style string) views.Flow {
	v := Draw(g, Notes{Name: "loop", Title: title, Desc: InWords(g), Style: style,
		Question: func(decision.Question) Note { return Note{} },
		Answer:   func(decision.Question, decision.Answer) Note { return Note{} },
	})
	v.Margin = 16
	return v
}

// Draw lays out the graph. Equal graphs and notes give equal drawings.
func Draw(g decision.Graph, n Notes) views.Flow {
	d := &drawing{graph: g, notes: n, boxes: map[string]*box{}, taken: taken(g, n.Hops)}
	d.columns(sections(g))
	d.route()
	return d.view()
}

// drawing is a layout under way.
type drawing struct {
	graph decision.Graph
	notes Notes
	taken track
	order []*box
	boxes map[string]*box
	heads []head
	high  int // of the tallest column, without the channel above
	lanes []*lane
	// gutters are the widths between the columns, x where each column begins.
	gutters, x []int
	channels   []string // places that are led to over the top
}

// track is what a sync took: questions, answers and ways.
type track struct {
	questions map[string]decision.Hop
	answers   map[[2]string]string // what was said
	ways      map[[3]string]bool
}

func taken(g decision.Graph, hops []decision.Hop) track {
	t := track{map[string]decision.Hop{}, map[[2]string]string{}, map[[3]string]bool{}}
	for _, h := range hops {
		h.Holds = h.Holds || t.questions[h.From].Holds
		t.questions[h.From] = h
		i := slices.IndexFunc(g.Nodes, func(p decision.Node) bool { return p.ID == h.From })
		if i < 0 {
			continue // Recorded by another version, which asked this.
		}
		a, _ := g.Nodes[i].Question.Answer(h.Said)
		t.answers[[2]string{h.From, a.Is}] = h.Said
		t.ways[[3]string{h.From, a.Is, h.To}] = true
	}
	return t
}

func (t track) way(w decision.Edge) bool { return t.ways[[3]string{w.From, w.Answer.Is, w.To}] }
