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
		"Every question the loops ask, in their order, with what follows from each answer.\n" +
		"Generated from the catalogues by `go generate ./controllers/...`; do not edit.\n")
	for _, c := range catalogues {
		c.markdown(&b)
	}
	return b.String()
}

func (c Catalogue) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n| id | tag | question | branch |\n| --- | --- | --- | --- |\n", c.Loop)
	for _, q := range c.Questions {
		fmt.Fprintf(b, "| [`%s`](#%s) | %s | %s | %s |\n", q.ID, c.anchor(q), q.Tag, cell(q.Text), q.Branch)
	}
	for _, q := range c.Questions {
		c.question(b, q)
	}
}

func (c Catalogue) question(b *strings.Builder, q Question) {
	fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n\n### %s %s\n\n%s\n\n", c.anchor(q), q.ID, q.Text, q.Doc)
	if q.Upstream != "" {
		fmt.Fprintf(b, "Upstream: `%s`.", q.Upstream)
	} else {
		b.WriteString("Upstream does not ask this.")
	}
	b.WriteString("\n\n| answer | then | may write |\n| --- | --- | --- |\n")
	for _, a := range q.Answers {
		fmt.Fprintf(b, "| %s | %s | %s |\n", a.word(), cell(a.Then), kinds(a.Writes))
	}
}

// anchor is stable: a link to a question survives a change of its words.
func (c Catalogue) anchor(q Question) string {
	return strings.ToLower(c.Loop + "-" + strings.NewReplacer(".", "-", " ", "-").Replace(q.ID))
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
