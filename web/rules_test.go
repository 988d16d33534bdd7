package web

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
)

// writtenRules are those of the document, as the program has them.
func writtenRules(t testing.TB) []decision.RuleGroup {
	t.Helper()
	text, err := os.ReadFile("../controllers/RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := decision.ParseRules(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestRulesAreThoseOfTheDocument: the page has every rule under its anchor, in
// its words, and whatever it leads to is there.
func TestRulesAreThoseOfTheDocument(t *testing.T) {
	longUnderRace(t)
	_, h := planWorld(t).serve(nil)
	res, body := get(t, h.URL, "/rules")
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	d := parse(t, body)
	d.sound()
	rules := 0
	for _, g := range writtenRules(t) {
		for _, r := range g.Rules {
			rules++
			on := d.one("#" + decision.RuleAnchor(r.Tag))
			if !strings.Contains(on, r.Tag) || !strings.Contains(on, r.Title) || !strings.Contains(on, strings.ReplaceAll(r.Text, "`", "")) {
				t.Errorf("%s is not on the page in its own words: %s", r.Tag, on)
			}
		}
	}
	if rules < 50 {
		t.Errorf("only %d rules were read", rules)
	}
	if n := followed(t, h.URL, "/rules", "/decisions/"); n < 60 {
		t.Errorf("only %d questions stand beside their rules", n)
	}
	if n := followed(t, h.URL, "/rules", "#"); n < 50 {
		t.Errorf("only %d links lead to another rule of the page", n)
	}
	if _, twin := get(t, h.URL, "/rules.json"); !strings.Contains(twin, `"tag": "RR-3a"`) {
		t.Errorf("the twin has no RR-3a: %.200s", twin)
	}
}

// TestEveryTagLeadsToItsRule follows every link to a rule of every kind of page
// that shows questions.
func TestEveryTagLeadsToItsRule(t *testing.T) {
	longUnderRace(t)
	w, base := told(t)
	board := w.journal.Board()
	set, controller := board.Rows("replicaset")[0].Trace, board.Rows("replicationcontroller")[0].Trace
	for path, least := range map[string]int{"/decisions/deployment": 48, "/decisions/replicaset": 19, "/decisions/replicationcontroller": 19, "/reasons": 100,
		"/reasons/floor": 1, "/deployments/shop/web": 10, address.Of(set.Object): 8, address.Of(controller.Object): 8, "/about": 1} {
		if n := followed(t, base, path, "/rules"); n < least {
			t.Errorf("%s has %d links to rules, at least %d are due", path, n, least)
		}
	}
}

// followed counts the links of a page that begin so, each of which must lead to
// an element that is there.
func followed(t *testing.T, base, path, begin string) int {
	t.Helper()
	anchors := map[string]map[string]bool{}
	_, body := get(t, base, path)
	links := 0
	for _, a := range parse(t, body).all("a") {
		href := attr(a, "href")
		if !strings.HasPrefix(href, begin) || href == "#main" {
			continue
		}
		page, id, _ := strings.Cut(href, "#")
		if page == "" {
			page = path
		}
		if anchors[page] == nil {
			res, target := get(t, base, page)
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s leads to %s: %s", path, href, res.Status)
			}
			anchors[page] = map[string]bool{"": true}
			for _, n := range parse(t, target).all("li") {
				anchors[page][attr(n, "id")] = true
			}
		}
		links++
		if !anchors[page][id] {
			t.Errorf("%s leads to %s, which is not there", path, href)
		}
	}
	return links
}
