package decision

import (
	"fmt"
	"strings"
)

// Markdown renders catalogues as DECISIONS.md: every question of every loop in
// the order in which it is asked, with its answers and what they may write. It
// is the same text for the same catalogues, so that a test can prove it fresh.
func Markdown(catalogues ...Catalogue) string {
	var b strings.Builder
	b.WriteString("# Decisions\n\n" +
		"Every question the loops ask, in their order, with what follows from each answer. The rules behind them are in [RULES.md](RULES.md).\n" +
		"Generated from the catalogues by `go generate ./controllers/...`; do not edit.\n")
	for _, c := range catalogues {
		b.WriteString("\n" + c.Graph().Markdown())
	}
	return b.String()
}

// Markdown renders one loop: its questions, and where each answer leads.
func (g Graph) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n| id | rule | question | branch |\n| --- | --- | --- | --- |\n", g.Loop)
	for _, p := range g.Nodes {
		if q := p.Question; q.ID != "" {
			fmt.Fprintf(&b, "| [`%s`](#%s) | [%s](RULES.md#%s) | %s | %s |\n", q.ID, anchor(g.Loop, q.ID), q.Tag, RuleAnchor(q.Tag), cell(q.Text), q.Branch)
		}
	}
	for _, p := range g.Nodes {
		if p.Question.ID != "" {
			g.question(&b, p.Question)
		}
	}
	return b.String()
}

func (g Graph) question(b *strings.Builder, q Question) {
	fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n\n### %s %s\n\n%s\n\n", anchor(g.Loop, q.ID), q.ID, q.Text, q.Doc)
	if q.Upstream != "" {
		fmt.Fprintf(b, "Upstream: `%s`.", q.Upstream)
	} else {
		b.WriteString("Upstream does not ask this.")
	}
	b.WriteString("\n\n| answer | then | leads to | may write |\n| --- | --- | --- | --- |\n")
	for _, a := range q.Answers {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", a.word(), cell(a.Then), g.targets(q.ID, a.Is), kinds(a.Writes))
	}
}

// targets are the places that an answer may lead to, the usual one first.
func (g Graph) targets(id, is string) string {
	var list []string
	for _, w := range g.From(id) {
		switch {
		case w.Answer.Is != is:
		case w.To == ToReport || w.To == ToEnd:
			list = append(list, Node{ID: w.To}.label())
		default:
			list = append(list, fmt.Sprintf("[`%s`](#%s)", w.To, anchor(g.Loop, w.To)))
		}
	}
	return strings.Join(list, ", ")
}

// anchor is stable: a link to a question survives a change of its words.
func anchor(loop, id string) string {
	return strings.ToLower(loop + "-" + strings.NewReplacer(".", "-", " ", "-").Replace(id))
}

func (a Answer) word() string {
	if a.Is == Any {
		return "(any other)"
	}
	return a.Is
}

func kinds(list []ActionKind) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = "`" + string(k) + "`"
	}
	return strings.Join(words, ", ")
}

// cell keeps a text from ending its table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
