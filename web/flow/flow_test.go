package flow

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

var graphs = map[string]decision.Graph{"deployment": deployment.Catalogue.Graph(), "replicaset": replicaset.Catalogue.Graph()}

// TestDrawingIsWhole: every question has its box and every answer its line, no
// two boxes share a place, and everything is inside of the drawing.
func TestDrawingIsWhole(t *testing.T) {
	for name, g := range graphs {
		v := Alone(g, name, "")
		boxes, rows := 0, 0
		for _, p := range g.Nodes {
			if p.ID != decision.ToEnd {
				boxes++
			}
			rows += len(p.Question.Answers)
		}
		if len(v.Boxes) != boxes || len(v.Rows) != rows+1 { // What leaves the report is one.
			t.Errorf("%s: %d boxes and %d answers, want %d and %d", name, len(v.Boxes), len(v.Rows), boxes, rows+1)
		}
		for i, b := range v.Boxes {
			if b.X < 0 || b.Y < 0 || b.X+b.W > v.Width || b.Y+b.H > v.Height {
				t.Errorf("%s: %s is outside of the drawing: %+v", name, b.ID, b)
			}
			for _, o := range v.Boxes[:i] {
				if b.X < o.X+o.W && o.X < b.X+b.W && b.Y < o.Y+o.H && o.Y < b.Y+b.H {
					t.Errorf("%s: %s and %s share a place", name, b.ID, o.ID)
				}
			}
		}
		for _, r := range v.Rows {
			if r.Ways == "" || len(r.Then) == 0 || r.Answer == "" && r.Then[0] != "by how the round went" {
				t.Errorf("%s: an answer says nothing or leads nowhere: %+v", name, r)
			}
		}
		if diff := cmp.Diff(v, Alone(g, name, "")); diff != "" {
			t.Errorf("%s: two drawings differ:\n%s", name, diff)
		}
	}
}

var numbersIn = regexp.MustCompile(`-?\d+`)

// TestNoLineRunsThroughAWord: lines between columns stay clear of boxes, but for
// the one where they end.
func TestNoLineRunsThroughAWord(t *testing.T) {
	for name, g := range graphs {
		v := Alone(g, name, "")
		for _, r := range v.Rows {
			for _, at := range corners(t, r.Ways) {
				for _, b := range v.Boxes {
					if at.x > b.X && at.x < b.X+b.W && at.y > b.Y && at.y < b.Y+b.H {
						t.Errorf("%s: a line of %s %s turns within %s", name, r.Answer, r.Then, b.ID)
					}
				}
				if at.x < 0 || at.y < 0 || at.x > v.Width || at.y > v.Height {
					t.Errorf("%s: a line of %s %s leaves the drawing at %+v", name, r.Answer, r.Then, at)
				}
			}
		}
	}
}

func corners(t *testing.T, path string) (list []point) {
	t.Helper()
	numbers := numbersIn.FindAllString(path, -1)
	if len(numbers)%2 != 0 {
		t.Fatalf("%q has half a point", path)
	}
	for i := 0; i < len(numbers); i += 2 {
		x, errX := strconv.Atoi(numbers[i])
		y, errY := strconv.Atoi(numbers[i+1])
		if err := errors.Join(errX, errY); err != nil {
			t.Fatal(err)
		}
		list = append(list, point{x, y})
	}
	return list
}

// TestLanesKeepApart: no two places share a line.
func TestLanesKeepApart(t *testing.T) {
	for name, g := range graphs {
		d := &drawing{graph: g, boxes: map[string]*box{}}
		d.columns(sections(g))
		d.route()
		for i, l := range d.lanes {
			for _, o := range d.lanes[:i] {
				if l.gutter == o.gutter && l.meets(o) {
					t.Errorf("%s: lines to %s and to %s meet beside column %d", name, l.to.ID, o.to.ID, l.gutter)
				}
			}
		}
	}
}

// TestWayIsMarked: what a sync took stands out, and nothing else does.
func TestWayIsMarked(t *testing.T) {
	hops := []decision.Hop{{From: "RS-1", Said: "yes", To: "RS-2"}, {From: "RS-2", Said: "no", To: decision.ToEnd, Holds: true}, {From: "RS-0", Said: "old", To: "RS-1"}}
	none := func(decision.Question) Note { return Note{} }
	v := Draw(graphs["replicaset"], Notes{Hops: hops, Question: none, Answer: func(decision.Question, decision.Answer) Note { return Note{} }})
	states := map[string]views.FlowState{}
	for _, b := range v.Boxes {
		states[b.ID] = b.State
	}
	if states["RS-1"] != views.FlowTaken || states["RS-2"] != views.FlowHeld || states["RS-3"] != views.FlowNever {
		t.Errorf("states are %v", states)
	}
	taken := 0
	for _, r := range v.Rows {
		if r.State == views.FlowTaken {
			taken++
		}
	}
	if taken != 2 || !v.Traced || v.Way == "" {
		t.Errorf("%d answers were given, way %q", taken, v.Way)
	}
}

// TestFileIsSound: the drawing alone is XML, and its style stands at one place.
func TestFileIsSound(t *testing.T) {
	for name, g := range graphs {
		var b bytes.Buffer
		if err := views.FlowDrawing(Alone(g, name, "svg{color:#000}")).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		styles, titles := 0, 0
		for d := xml.NewDecoder(&b); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			switch start.Name.Local {
			case "style":
				styles++
			case "title", "desc":
				titles++
			}
			for _, a := range start.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s: <%s %s> is an inline style or script", name, start.Name.Local, a.Name.Local)
				}
			}
		}
		if styles != 1 || titles != 2 {
			t.Errorf("%s: %d styles, %d titles and descriptions", name, styles, titles)
		}
	}
}

// TestAnyGraphIsDrawn draws graphs that no loop has: ways back, to oneself, to
// nowhere, and branches in any order.
func TestAnyGraphIsDrawn(t *testing.T) {
	ids := []string{"A", "B", "C", "D", "E", "F"}
	next := rapid.SliceOfN(rapid.SampledFrom(append([]string{decision.ToReport, decision.ToEnd}, ids...)), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		c := decision.Catalogue{Report: next.Draw(t, "report")}
		for _, id := range ids[:rapid.IntRange(0, len(ids)).Draw(t, "questions")] {
			q := decision.Question{ID: id, Text: rapid.String().Draw(t, "text"), Branch: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "branch")}
			for _, is := range []string{decision.Yes, decision.No} {
				q.Answers = append(q.Answers, decision.Answer{Is: is, Then: rapid.String().Draw(t, "then"), Next: next.Draw(t, "next")})
			}
			c.Questions = append(c.Questions, q)
		}
		v := Alone(c.Graph(), "any", "")
		if len(v.Boxes) < len(c.Questions) || v.Width <= 0 || v.Height < 0 {
			t.Fatalf("drawn as %+v", v)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		first int
		want  string
	}{{"", 100, ""}, {"one", 1, "one"}, {"one two three", 1000, "one two three"}, {"one two three", 30, "one|two three"}, {"incomprehensibilities are", 20, "incomprehensibilities|are"}} {
		if got := strings.Join(wrap(c.text, c.first, 100, 12), "|"); got != c.want {
			t.Errorf("%q in %d: %s, want %s", c.text, c.first, got, c.want)
		}
	}
}
