package decision

import "slices"

// Graph is a catalogue as a drawing shows it: places, and the ways between them.
// It is the same for the same catalogue.
type Graph struct {
	Loop string
	// Nodes are the questions in the order of the catalogue. ToReport stands before
	// the first question that a report asks, and ToEnd last.
	Nodes []Node
	// Edges are sorted by the place they leave, then by answer, the usual way first.
	Edges []Edge
}

// Node is a question, or one of the two where none is asked.
type Node struct {
	// ID is that of the question, ToReport or ToEnd.
	ID string
	// Question is zero where none is asked.
	Question Question
}

// Edge leads from one place to another on an answer.
type Edge struct {
	From, To string
	// Answer is the one that leads here; zero for what leaves ToReport.
	Answer Answer
	// Usual marks the first of the ways that one answer may lead.
	Usual bool
}

// Graph returns the catalogue as places and ways.
func (c Catalogue) Graph() Graph {
	g := Graph{Loop: c.Loop}
	report := slices.IndexFunc(c.Questions, func(q Question) bool { return slices.Contains(c.Report, q.ID) })
	for i, q := range c.Questions {
		if i == report {
			g.Nodes = append(g.Nodes, Node{ID: ToReport})
			g.lead(ToReport, Answer{}, c.Report)
		}
		g.Nodes = append(g.Nodes, Node{q.ID, q})
		for _, a := range q.Answers {
			g.lead(q.ID, a, c.next(i, a))
		}
	}
	g.Nodes = append(g.Nodes, Node{ID: ToEnd})
	return g
}

// next is where an answer to the i-th question may lead.
func (c Catalogue) next(i int, a Answer) []string {
	switch {
	case len(a.Next) > 0:
		return a.Next
	case i+1 < len(c.Questions):
		return []string{c.Questions[i+1].ID}
	default:
		return []string{ToEnd}
	}
}

func (g *Graph) lead(from string, a Answer, next []string) {
	for i, to := range next {
		g.Edges = append(g.Edges, Edge{From: from, To: to, Answer: a, Usual: i == 0})
	}
}

// From returns the ways that leave a place.
func (g Graph) From(id string) []Edge {
	var ways []Edge
	for _, w := range g.Edges {
		if w.From == id {
			ways = append(ways, w)
		}
	}
	return ways
}

// Reached returns the places that can be reached from the first one.
func (g Graph) Reached() map[string]bool {
	reached := map[string]bool{}
	if len(g.Nodes) == 0 {
		return reached
	}
	for todo := []string{g.Nodes[0].ID}; len(todo) > 0; {
		id := todo[0]
		todo = todo[1:]
		if reached[id] {
			continue
		}
		reached[id] = true
		for _, w := range g.From(id) {
			todo = append(todo, w.To)
		}
	}
	return reached
}

// Hop is one step of a sync: from a question, by what was said, to what came next.
type Hop struct {
	From, Said string
	// To is empty where acting learnt something, so that the walk began anew.
	To string
	// Holds is set where the answer held a write back.
	Holds bool
}

// Hops are the steps of a sync, its rounds and then its report. A report is nil
// where the sync ended without one.
func Hops(rounds []Round, report *Report) []Hop {
	var hops []Hop
	for i, r := range rounds {
		switch {
		case i < len(rounds)-1:
			hops = append(hops, r.Verdict.Path.hops("")...)
		case r.Verdict.Stop:
			hops = append(hops, r.Verdict.Path.hops(ToEnd)...)
		default:
			hops = append(append(hops, r.Verdict.Path.hops(ToReport)...), report.hops()...)
		}
	}
	return hops
}

// hops lead through the report. One that asks nothing, as a write had failed,
// goes to the end at once.
func (r *Report) hops() []Hop {
	if r == nil || len(r.Path) == 0 {
		return []Hop{{From: ToReport, To: ToEnd}}
	}
	return append([]Hop{{From: ToReport, To: r.Path[0].Question}}, r.Path.hops(ToEnd)...)
}

// hops lead from question to question, and from the last one to end.
func (p Path) hops(end string) []Hop {
	hops := make([]Hop, len(p))
	for i, s := range p {
		hops[i] = Hop{From: s.Question, Said: s.Answer, To: end, Holds: s.Holds}
		if i+1 < len(p) {
			hops[i].To = p[i+1].Question
		}
	}
	return hops
}

// Edge returns the way that a hop took; false where the catalogue has none.
func (g Graph) Edge(h Hop) (Edge, bool) {
	for _, w := range g.Edges {
		if w.From != h.From || w.To != h.To {
			continue
		}
		if g.says(h.From, h.Said) == w.Answer.Is {
			return w, true
		}
	}
	return Edge{}, false
}

// says is the declared answer that covers what was said.
func (g Graph) says(id, said string) string {
	for _, p := range g.Nodes {
		if p.ID == id {
			a, _ := p.Question.Answer(said)
			return a.Is
		}
	}
	return ""
}
