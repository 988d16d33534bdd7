package decision

import (
	"fmt"
	"strings"
)

// DOT renders the graph for Graphviz. The questions of a branch stand in a box.
func (g Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n\trankdir=TB;\n\tnode [shape=box, style=rounded, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\", fontsize=10];\n", quoted(g.Loop))
	for i, part := range g.subgraphs() {
		indent := "\t"
		if part.branch != "" {
			fmt.Fprintf(&b, "\tsubgraph cluster_%d {\n\t\tlabel=%s;\n", i, quoted(part.branch))
			indent = "\t\t"
		}
		for _, p := range part.nodes {
			fmt.Fprintf(&b, "%s%s [label=%s%s];\n", indent, quoted(p.ID), quoted(p.label()), p.shape())
		}
		if part.branch != "" {
			b.WriteString("\t}\n")
		}
	}
	for _, w := range g.Edges {
		fmt.Fprintf(&b, "\t%s -> %s%s;\n", quoted(w.From), quoted(w.To), w.attributes())
	}
	b.WriteString("}\n")
	return b.String()
}

// subgraph is places that follow each other on one branch.
type subgraph struct {
	branch string
	nodes  []Node
}

func (g Graph) subgraphs() []subgraph {
	var parts []subgraph
	for _, p := range g.Nodes {
		n := len(parts)
		if n == 0 || parts[n-1].branch != p.Question.Branch {
			parts = append(parts, subgraph{branch: p.Question.Branch})
			n++
		}
		parts[n-1].nodes = append(parts[n-1].nodes, p)
	}
	return parts
}

// label is a place in two lines.
func (p Node) label() string {
	switch p.ID {
	case ToReport:
		return "the report"
	case ToEnd:
		return "the sync ends"
	default:
		return p.ID + "\n" + p.Question.Text
	}
}

func (p Node) shape() string {
	if p.Question.ID == "" {
		return ", shape=oval"
	}
	return ""
}

// label is what leads along the way, and what may be written there.
func (w Edge) label() string {
	text := w.Answer.word()
	for _, kind := range w.Answer.Writes {
		text += "\n" + string(kind)
	}
	return text
}

// attributes draw an answer that has several ways solid along the usual one.
func (w Edge) attributes() string {
	var list []string
	if text := w.label(); text != "" {
		list = append(list, "label="+quoted(text))
	}
	if !w.Usual {
		list = append(list, "style=dashed")
	}
	if len(list) == 0 {
		return ""
	}
	return " [" + strings.Join(list, ", ") + "]"
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// Mermaid renders the graph as a flowchart for Markdown that draws them.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, part := range g.subgraphs() {
		indent := "  "
		if part.branch != "" {
			fmt.Fprintf(&b, "  subgraph %s[%s]\n", mermaidID("branch "+part.branch+" "+part.nodes[0].ID), mermaidText(part.branch))
			indent = "    "
		}
		for _, p := range part.nodes {
			fmt.Fprintf(&b, "%s%s%s\n", indent, mermaidID(p.ID), p.mermaid())
		}
		if part.branch != "" {
			b.WriteString("  end\n")
		}
	}
	for _, w := range g.Edges {
		b.WriteString("  " + w.mermaid() + "\n")
	}
	return b.String()
}

func (p Node) mermaid() string {
	if p.Question.ID == "" {
		return "([" + mermaidText(p.label()) + "])"
	}
	return "[" + mermaidText(p.label()) + "]"
}

func (w Edge) mermaid() string {
	arrow := "-->"
	if !w.Usual {
		arrow = "-.->"
	}
	if text := w.label(); text != "" {
		arrow += "|" + mermaidText(text) + "|"
	}
	return mermaidID(w.From) + " " + arrow + " " + mermaidID(w.To)
}

// mermaidID is an id that no word of Mermaid is ("end" is one).
func mermaidID(id string) string {
	return "q_" + strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(id)
}

func mermaidText(text string) string {
	return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "\n", "<br>").Replace(text) + `"`
}
