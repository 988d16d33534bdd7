package web

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// doc is a parsed page with a few ways to look into it.
type doc struct {
	t    testing.TB
	root *html.Node
}

func parse(t testing.TB, text string) doc {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc{t, root}
}

// all finds elements by a selector of the forms tag, #id, .class and tag.class.
func (d doc) all(selector string) []*html.Node {
	var found []*html.Node
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode && matches(n, selector) {
			found = append(found, n)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(d.root)
	return found
}

func matches(n *html.Node, selector string) bool {
	if id, ok := strings.CutPrefix(selector, "#"); ok {
		return attr(n, "id") == id
	}
	tag, class, _ := strings.Cut(selector, ".")
	if tag != "" && n.Data != tag {
		return false
	}
	return class == "" || slices.Contains(strings.Fields(attr(n, "class")), class)
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is what a reader reads, with single spaces.
func text(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		switch n.Data {
		case "dt", "dd", "li", "p", "tr", "td", "th", "h1", "h2", "small":
			b.WriteString(" ")
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func (d doc) one(selector string) string {
	d.t.Helper()
	found := d.all(selector)
	if len(found) != 1 {
		d.t.Fatalf("found %d of %s, want 1", len(found), selector)
	}
	return text(found[0])
}

// sound checks what every page must have, and that nothing of the markup is
// against the content security policy.
func (d doc) sound() {
	d.t.Helper()
	if n := len(d.all("h1")); n != 1 {
		d.t.Errorf("%d h1, want one", n)
	}
	for _, tag := range []string{"main", "header", "footer", "title"} {
		found := d.all(tag)
		found = slices.DeleteFunc(found, func(n *html.Node) bool { return n.Namespace == "svg" }) // A drawing has a title, too.
		if len(found) != 1 {
			d.t.Errorf("%d of %s, want one", len(found), tag)
		}
	}
	ids := map[string]bool{}
	for _, n := range d.all("") {
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				d.t.Errorf("id %q appears twice", id)
			}
			ids[id] = true
		}
		d.soundElement(n)
	}
}

func (d doc) soundElement(n *html.Node) {
	d.t.Helper()
	for _, a := range n.Attr {
		if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
			d.t.Errorf("<%s %s=%q> is an inline style or script", n.Data, a.Key, a.Val)
		}
		if a.Key == "href" || a.Key == "src" || a.Key == "action" {
			if !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "//") {
				d.t.Errorf("<%s %s=%q> leads out of the console", n.Data, a.Key, a.Val)
			}
		}
	}
	switch {
	case n.Data == "style", n.Data == "script" && n.FirstChild != nil:
		d.t.Errorf("inline <%s>", n.Data)
	case n.Data == "iframe", n.Data == "object", n.Data == "img", n.Data == "base":
		d.t.Errorf("<%s> on a page", n.Data)
	case (n.Data == "a" || n.Data == "button") && text(n) == "" && attr(n, "aria-label") == "":
		d.t.Errorf("<%s %v> has no name", n.Data, n.Attr)
	}
}
