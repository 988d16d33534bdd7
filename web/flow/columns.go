package flow

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// Sizes in CSS pixels.
const (
	wide     = 282 // of a column
	inset    = 26  // of a question beside the usual way
	spine    = 14  // from the left of a box to the line that leaves it
	indent   = 32  // from there to the words of an answer
	headRoom = 26
	firstRow = 18
	nextLine = 14
	betweenQ = 12
	numbers  = 54 // for a count
	plain    = 12 // size of letters
	bold     = 15 // as wide as those that are set in 13, bold
)

// section is a branch, or what every sync is asked.
type section struct {
	name   string
	places []decision.Node
	aside  map[string]bool // asked beside the usual way
}

// sections groups the places. Questions on no branch are asked of every sync: up to the
// last branch, or where there is none up to the report, they are the trunk.
func sections(g decision.Graph) []section {
	branch := branches(g)
	last := -1
	for i := range g.Nodes {
		if branch[i] != "" {
			last = i
		}
	}
	if last < 0 {
		last = slices.IndexFunc(g.Nodes, func(p decision.Node) bool { return p.ID == decision.ToReport }) - 1
	}
	var list []section
	for i, p := range g.Nodes {
		if p.ID == decision.ToEnd {
			continue
		}
		name := branch[i]
		switch {
		case name == "" && (i <= last || last < 0):
			name = "Every sync"
		case name == "":
			name = "At the end"
		}
		at := slices.IndexFunc(list, func(s section) bool { return s.name == name })
		if at < 0 {
			at, list = len(list), append(list, section{name: name, aside: map[string]bool{}})
		}
		if i > 0 && branch[i] == branch[i-1] && !usual(g, p.ID) {
			list[at].aside[p.ID] = true
		}
		list[at].places = append(list[at].places, p)
	}
	return list
}

// branches are those of the places. Questions that interrupt a branch, and to which
// nothing usually leads, belong to what they interrupt.
func branches(g decision.Graph) []string {
	list := make([]string, len(g.Nodes))
	for i := 0; i < len(list); {
		end, unusual := i, true
		for ; end < len(list) && g.Nodes[end].Question.Branch == g.Nodes[i].Question.Branch; end++ {
			unusual = unusual && !usual(g, g.Nodes[end].ID)
		}
		name := g.Nodes[i].Question.Branch
		if unusual && i > 0 && end < len(list) && list[i-1] == g.Nodes[end].Question.Branch {
			name = list[i-1]
		}
		for ; i < end; i++ {
			list[i] = name
		}
	}
	return list
}

// usual reports whether an answer leads to the place more often than elsewhere.
func usual(g decision.Graph, id string) bool {
	return slices.ContainsFunc(g.Edges, func(w decision.Edge) bool { return w.To == id && w.Usual })
}

// head is the name of a section, placed in its column.
type head struct {
	column, y int
	text      string
}

// box is a place with its answers, placed in its column.
type box struct {
	decision.Node
	column, y, h int
	left         int // from the left of the column
	text         []string
	rows         []*row
	below        *box // where the line straight down leads; nil for nowhere
}

// row is an answer.
type row struct {
	*box
	answer decision.Answer
	ways   []decision.Edge
	y, h   int
	then   []string
}

// columns stacks the sections. One that would make a column much longer than
// the first is, begins the next.
func (d *drawing) columns(list []section) {
	column, y, limit := 0, 0, 0
	for i, s := range list {
		boxes, high := d.stack(s)
		if limit == 0 {
			limit = high + high/3
		}
		if y > 0 && (i == 1 || y+high > limit) {
			column, y = column+1, 0
		}
		d.heads = append(d.heads, head{column, y + 13, s.name})
		for _, b := range boxes {
			b.column, b.y = column, b.y+y
			for _, r := range b.rows {
				r.y += y
			}
		}
		d.order = append(d.order, boxes...)
		y += high + headRoom/2
		d.high = max(d.high, y)
	}
	d.gutters, d.x = make([]int, column+1), make([]int, column+1)
}

// stack places the questions of a section below each other.
func (d *drawing) stack(s section) (boxes []*box, high int) {
	y := headRoom
	for _, p := range s.places {
		b := &box{Node: p, y: y}
		if s.aside[p.ID] {
			b.left = inset
		}
		room := wide - b.left - 18
		b.text = wrap(title(p), room, room, bold)
		b.h = 23 + 15*len(b.text)
		boxes, d.boxes[p.ID] = append(boxes, b), b
		y = d.answers(b, y+b.h+4) + betweenQ
	}
	for i, b := range boxes {
		b.lead(boxes[i+1:])
	}
	return boxes, y
}

// answers places those of a question from y on, and returns where they end.
func (d *drawing) answers(b *box, y int) int {
	for _, w := range d.graph.From(b.ID) {
		if n := len(b.rows); n > 0 && b.rows[n-1].answer.Is == w.Answer.Is {
			b.rows[n-1].ways = append(b.rows[n-1].ways, w)
			continue
		}
		b.rows = append(b.rows, &row{box: b, answer: w.Answer, ways: []decision.Edge{w}})
	}
	for _, r := range b.rows {
		room := wide - b.left - indent - numbers
		r.then = wrap(r.words(), room-width(d.word(r), bold)-6, room, plain)
		r.y, r.h = y+14, firstRow+nextLine*(max(1, len(r.then))-1)
		if len(r.answer.Writes) > 0 {
			r.h += nextLine
		}
		y += r.h
	}
	return y
}

// lead finds what is straight below a question: the next one that is not beside
// the usual way, if an answer leads there. That answer stands last, next to the line.
func (b *box) lead(after []*box) {
	if b.left > 0 {
		return
	}
	i := slices.IndexFunc(after, func(x *box) bool { return x.left == 0 })
	if i < 0 || !slices.ContainsFunc(b.rows, func(r *row) bool { return r.leads(after[i].ID) }) {
		return
	}
	b.below = after[i]
	y := b.rows[0].y
	slices.SortStableFunc(b.rows, func(r, o *row) int { return rank(r.leads(b.below.ID)) - rank(o.leads(b.below.ID)) })
	for _, r := range b.rows {
		r.y, y = y, y+r.h
	}
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

func (r *row) leads(to string) bool {
	return slices.ContainsFunc(r.ways, func(w decision.Edge) bool { return w.To == to })
}

// words say what follows from the answer.
func (r *row) words() string {
	if r.ID == decision.ToReport {
		return "by how the round went"
	}
	return r.answer.Then
}

// title is what the box of a place asks.
func title(p decision.Node) string {
	if p.ID == decision.ToReport {
		return "What is there to report?"
	}
	return p.Question.Text
}
