package web

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/web/address"
)

// TestLoopIsDrawn: on the page of each loop every question and answer is drawn with
// the number and the link that the list has.
func TestLoopIsDrawn(t *testing.T) {
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	w.pump()
	tally := tallied(t, w)
	s, h := w.serve(func(o *Options) { o.Tally = tally })
	for _, c := range catalogues(s.src.Loops) {
		_, body := get(t, h.URL, "/decisions/"+c.Loop)
		d := parse(t, body)
		d.sound()
		drawn := linksOf(d.all("svg.flow")[0])
		for _, q := range c.Questions {
			if text := drawn[address.Asked(c.Loop, q.ID, decision.Any)]; !strings.Contains(text, q.ID) {
				t.Errorf("%s: %s is drawn as %q", c.Loop, q.ID, text)
			}
			for _, a := range q.Answers {
				href := address.Asked(c.Loop, q.ID, a.Is)
				listed := linksOf(d.all("#" + q.ID)[0])[href]
				if text := drawn[href]; a.Is != decision.Any && (!strings.HasPrefix(text, a.Is+" ") || !strings.HasSuffix(text, " "+listed)) {
					t.Errorf("%s: %s %s is drawn as %q, listed as %q", c.Loop, q.ID, a.Is, text, listed)
				}
			}
		}
		if desc := d.one("desc"); !strings.Contains(desc, "The list below it has the same") {
			t.Errorf("%s: it is described as %q", c.Loop, desc)
		}
	}
}

// linksOf are the words of every link within an element, by its address.
func linksOf(n *html.Node) map[string]string {
	links := map[string]string{}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Data == "a" && n.Type == html.ElementNode {
			href := attr(n, "href")
			links[href] = strings.TrimSpace(links[href] + " " + spaced(n))
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return links
}

// spaced is the words of a drawing, where each text stands apart.
func spaced(n *html.Node) string {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data)
	}
	var words []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if text := spaced(c); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

// TestSyncShowsItsWay: on the page of a sync exactly the questions that it was
// asked stand out, and a sync that decided nothing is not drawn.
func TestSyncShowsItsWay(t *testing.T) {
	longUnderRace(t)
	w := newWorld(t, storyNow.Add(-2*time.Hour))
	w.goldens()
	_, h := w.serve(nil)
	for _, loop := range testLoops.Names() {
		for _, row := range w.journal.Board().Rows(loop) {
			x := row.Trace
			_, body := get(t, h.URL, address.Sync(x))
			d := parse(t, body)
			d.sound()
			hops := decision.Hops(x.Rounds, x.Report)
			if n := len(d.all("svg.flow")); n != min(1, len(hops)) {
				t.Fatalf("%s has %d drawings", address.Sync(x), n)
			}
			if got, want := strongOf(d), askedBy(x); !slices.Equal(got, want) {
				t.Errorf("%s: strong are %v, asked were %v", address.Sync(x), got, want)
			}
		}
	}
}

// strongOf are the questions that stand out in the drawing.
func strongOf(d doc) []string {
	var ids []string
	for _, n := range d.all("a.q") {
		if slices.Contains(strings.Fields(attr(n, "class")), "on") {
			_, id, _ := strings.Cut(attr(n, "href"), "#")
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// askedBy are the questions of a sync.
func askedBy(x *telemetry.Trace) []string {
	var ids []string
	for _, h := range decision.Hops(x.Rounds, x.Report) {
		if h.From != decision.ToReport {
			ids = append(ids, h.From)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// TestDecisionsSayWhereAnswersLead: programs read the ways in the twin.
func TestDecisionsSayWhereAnswersLead(t *testing.T) {
	w := newWorld(t, storyNow)
	s, h := w.serve(nil)
	for _, c := range catalogues(s.src.Loops) {
		var twin decisionsTwin
		_, raw := get(t, h.URL, path.Join("/decisions", c.Loop+".json"))
		if err := json.Unmarshal([]byte(raw), &twin); err != nil {
			t.Fatal(err)
		}
		ways := 0
		for _, b := range twin.Page.Branches {
			for _, q := range b.Questions {
				for _, a := range q.Answers {
					ways += len(a.Next)
				}
			}
		}
		if want := len(c.Graph().Edges) - len(c.Report); ways != want {
			t.Errorf("%s: %d ways in the twin, want %d", c.Loop, ways, want)
		}
	}
}

// TestDecisionsAreLive: counts come to a page that is open.
func TestDecisionsAreLive(t *testing.T) {
	w := newWorld(t, storyNow)
	s := w.server(nil)
	to, err := site{s}.Find("/decisions/replicaset")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, f := range drawOnce(t, to) {
		ids = append(ids, f.ID)
	}
	for _, want := range []string{"f-then", "f-flow", "f-asks-0"} {
		if !slices.Contains(ids, want) {
			t.Errorf("%s is not among the live parts %v", want, ids)
		}
	}
}
