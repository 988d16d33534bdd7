package filter

import (
	"net/url"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/deployment"
)

func TestParseFilter(t *testing.T) {
	cases := []struct {
		text    string
		matches bool // namespace shop, name web, waiting, at RR-3.may-go, ImagePullBackOff
		unknown int
	}{
		{"", true, 0},
		{"we", true, 0},
		{"shop/w", true, 0},
		{"-we", false, 0},
		{"ns:shop", true, 0},
		{"NS:Shop", true, 0},
		{"ns:sho", false, 0},
		{"-ns:shop", false, 0},
		{"-ns:other", true, 0},
		{"is:waiting", true, 0},
		{"is:waiting is:failed", false, 0},
		{"is:timer", true, 0},
		{"at:RR-3", true, 0},
		{"at:rr-3.may-go", true, 0},
		{"at:RR", false, 0},
		{"reason:pull", true, 0},
		{"reason:quota", false, 0},
		{"image:WEB:3", true, 0},
		{"-image:web:4", true, 0},
		{"image:9", false, 0},
		{"by:kubectl", true, 0},
		{"by:helm", false, 0},
		{"-by:kubectl", false, 0},
		{"colour:3", true, 1},
		{"ns:", true, 1},
		{"is:blue", true, 1},
		{"-", false, 0},
		{strings.Repeat("web ", 40), true, 1},
	}
	row := Values{Namespace: "shop", Name: "web", Is: []string{"waiting", "timer"}, At: "RR-3.may-go",
		Reasons: func() []string { return []string{"ImagePullBackOff"} },
		Images:  func() []string { return []string{"shop/web:3.4"} }, Managers: func() []string { return []string{"kubectl-client-side-apply"} }}
	for _, c := range cases {
		terms := Parse(c.text)
		unknown := 0
		for _, x := range terms {
			if x.Unknown {
				unknown++
			}
		}
		if got := Holds(terms, row); got != c.matches || unknown != c.unknown {
			t.Errorf("%q: matches %v with %d unknown, want %v with %d", c.text, got, unknown, c.matches, c.unknown)
		}
	}
}

// What is offered is known, and goes on with what was typed.
func TestComplete(t *testing.T) {
	for typed, want := range map[string]string{
		"": "at: by: image: is: ns: reason:", "-": "-at: -by: -image: -is: -ns: -reason:", "na": "at: by: image: is: ns: reason:",
		"is:":   "is:back-off is:failed is:hold is:idle is:moving is:processing is:ready is:settled is:timer is:waiting",
		"-is:f": "-is:back-off -is:failed -is:hold -is:idle -is:moving -is:processing -is:ready -is:settled -is:timer -is:waiting",
		"ns:":   "", "colour:": "",
	} {
		offers := Complete(typed)
		if got := strings.Join(offers, " "); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
		for _, offer := range offers {
			if strings.HasSuffix(offer, ":") {
				offer += "x"
			}
			if known := !Parse(offer)[0].Unknown; known == strings.HasSuffix(offer, "is:x") {
				t.Errorf("%q is known: %v", offer, known)
			}
		}
	}
}

// TestTermsThatFilterNothing: one that a filter has enough without is not said to be unknown.
func TestTermsThatFilterNothing(t *testing.T) {
	const beyond = "A filter has at most 16 terms: last and any after it were left out."
	many := strings.Repeat("web ", MaxTerms-1)
	for query, want := range map[string]string{
		many + "web":                "",
		many + "web last more":      beyond,
		many + "colour:3":           knownTerms,
		many + "colour:3 last more": knownTerms + " " + beyond,
		"colour:3 size:4":           knownTerms,
	} {
		if got := View(&deployment.Loop, Parse(query)).Known; got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// FuzzFilter proves that no filter can break the page, and that its own address
// reads as the same filter.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"", "web", "ns:shop is:waiting -at:RR-3 reason:x", "-", "::", "-:a", "is:", "\x00\xff", "a:b:c", "<b>", "\u202e", strings.Repeat("-", 300)} {
		f.Add(s)
	}
	row := Values{Namespace: "shop", Name: "web", Is: []string{"waiting"}, At: "RR-3", Reasons: func() []string { return []string{"x"} }}
	f.Fuzz(func(t *testing.T, s string) {
		terms := Parse(s)
		Holds(terms, row)
		if len(terms) > MaxTerms+1 {
			t.Fatalf("%d terms", len(terms))
		}
		view := View(&deployment.Loop, terms)
		if len(view.Chips) != len(terms) {
			t.Fatalf("%d chips for %d terms", len(view.Chips), len(terms))
		}
		u, err := url.Parse(Href("deployment", terms))
		if err != nil {
			t.Fatal(err)
		}
		again := Parse(u.Query().Get("q"))
		if len(again) != len(terms) {
			t.Fatalf("%q reads as %d terms, then as %d", s, len(terms), len(again))
		}
		for i := range terms {
			if terms[i] != again[i] {
				t.Fatalf("%+v becomes %+v", terms[i], again[i])
			}
		}
	})
}
