package decision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a loop with a fork, a guard and a report.
var small = Catalogue{Loop: "demo", Report: []string{"Q-3", ToEnd}, Questions: []Question{
	{ID: "Q-1", Text: `Is it "there"?`, Answers: []Answer{{Is: Yes, Passes: true}, {Is: No, Next: []string{ToEnd}}}},
	{ID: "Q-2.a", Text: "How many?", Branch: "some", Answers: []Answer{{Is: "0", Next: []string{ToReport}},
		{Is: Any, Writes: []ActionKind{CreatePods}, Next: []string{"Q-3", ToReport}}}},
	{ID: "Q-3", Text: "And now?", Answers: []Answer{{Is: Any}}},
}}

func TestGraph(t *testing.T) {
	g := small.Graph()
	var places []string
	for _, p := range g.Nodes {
		places = append(places, p.ID)
	}
	if diff := cmp.Diff([]string{"Q-1", "Q-2.a", ToReport, "Q-3", ToEnd}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	var ways []string
	for _, w := range g.Edges {
		ways = append(ways, w.From+" "+w.Answer.Is+" "+w.To)
	}
	want := []string{"Q-1 yes Q-2.a", "Q-1 no end", "Q-2.a 0 report", "Q-2.a * Q-3", "Q-2.a * report", "report  Q-3", "report  end", "Q-3 * end"}
	if diff := cmp.Diff(want, ways); diff != "" {
		t.Errorf("ways (-want +got):\n%s", diff)
	}
	if n := len(g.Reached()); n != len(places) {
		t.Errorf("%d places can be reached, want %d", n, len(places))
	}
	if n := len(Catalogue{}.Graph().Edges); n != 0 {
		t.Errorf("a catalogue without questions has %d ways", n)
	}
	if reached := (Catalogue{}).Graph().Reached(); len(reached) != 1 || !reached[ToEnd] {
		t.Errorf("a catalogue without questions reaches %v", reached)
	}
	if reached := (Graph{}).Reached(); len(reached) != 0 {
		t.Errorf("no place reaches %v", reached)
	}
}

// A question that leads back to an earlier one is reached once.
func TestReachedEndsInACircle(t *testing.T) {
	g := Catalogue{Questions: []Question{
		{ID: "Q-1", Answers: []Answer{{Is: Any, Next: []string{"Q-2"}}}}, {ID: "Q-2", Answers: []Answer{{Is: Any, Next: []string{"Q-1"}}}},
	}}.Graph()
	if reached := g.Reached(); !reached["Q-1"] || !reached["Q-2"] {
		t.Errorf("reached %v", reached)
	}
}

func TestHops(t *testing.T) {
	g := small.Graph()
	step := func(id, said string) Step { return Step{Question: id, Answer: said} }
	round := func(stop bool, steps ...Step) Round { return Round{Verdict: Verdict{Path: steps, Stop: stop}} }
	for _, c := range []struct {
		name   string
		rounds []Round
		report *Report
		want   string
	}{
		{"nothing was decided", nil, nil, ""},
		{"stopped", []Round{round(true, step("Q-1", No))}, nil, "Q-1 no end"},
		{"reported", []Round{round(false, step("Q-1", Yes), step("Q-2.a", "0"))}, &Report{Path: Path{step("Q-3", "x")}},
			"Q-1 yes Q-2.a, Q-2.a 0 report, report  Q-3, Q-3 x end"},
		{"a write failed", []Round{round(false, step("Q-1", Yes), step("Q-2.a", "7"))}, &Report{}, "Q-1 yes Q-2.a, Q-2.a 7 report, report  end"},
		{"nothing was settled", []Round{round(false, step("Q-1", Yes), step("Q-2.a", "0"))}, nil, "Q-1 yes Q-2.a, Q-2.a 0 report, report  end"},
		{"learnt", []Round{round(false, step("Q-1", Yes)), round(true, step("Q-1", No))}, nil, "Q-1 yes , Q-1 no end"},
	} {
		var got []string
		for _, h := range Hops(c.rounds, c.report) {
			got = append(got, h.From+" "+h.Said+" "+h.To)
			if _, ok := g.Edge(h); !ok && h.To != "" {
				t.Errorf("%s: there is no way for %+v", c.name, h)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
	for _, h := range []Hop{{From: "Q-1", Said: "no", To: "Q-2.a"}, {From: "Q-9", Said: "no", To: ToEnd}, {From: "Q-1", Said: "maybe", To: ToEnd}} {
		if w, ok := g.Edge(h); ok {
			t.Errorf("%+v leads along %+v", h, w)
		}
	}
}

const smallDOT = `digraph "demo" {
	rankdir=TB;
	node [shape=box, style=rounded, fontname="sans-serif"];
	edge [fontname="sans-serif", fontsize=10];
	"Q-1" [label="Q-1\nIs it \"there\"?"];
	subgraph cluster_1 {
		label="some";
		"Q-2.a" [label="Q-2.a\nHow many?"];
	}
	"report" [label="the report", shape=oval];
	"Q-3" [label="Q-3\nAnd now?"];
	"end" [label="the sync ends", shape=oval];
	"Q-1" -> "Q-2.a" [label="yes"];
	"Q-1" -> "end" [label="no"];
	"Q-2.a" -> "report" [label="0"];
	"Q-2.a" -> "Q-3" [label="(any other)\ncreate-pods"];
	"Q-2.a" -> "report" [label="(any other)\ncreate-pods", style=dashed];
	"report" -> "Q-3";
	"report" -> "end" [style=dashed];
	"Q-3" -> "end" [label="(any other)"];
}
`

const smallMermaid = `flowchart TD
  q_Q_1["Q-1<br>Is it #quot;there#quot;?"]
  subgraph q_branch_some_Q_2_a["some"]
    q_Q_2_a["Q-2.a<br>How many?"]
  end
  q_report(["the report"])
  q_Q_3["Q-3<br>And now?"]
  q_end(["the sync ends"])
  q_Q_1 -->|"yes"| q_Q_2_a
  q_Q_1 -->|"no"| q_end
  q_Q_2_a -->|"0"| q_report
  q_Q_2_a -->|"(any other)<br>create-pods"| q_Q_3
  q_Q_2_a -.->|"(any other)<br>create-pods"| q_report
  q_report --> q_Q_3
  q_report -.-> q_end
  q_Q_3 -->|"(any other)"| q_end
`

func TestGraphAsText(t *testing.T) {
	if diff := cmp.Diff(smallDOT, small.Graph().DOT()); diff != "" {
		t.Errorf("DOT (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(smallMermaid, small.Graph().Mermaid()); diff != "" {
		t.Errorf("Mermaid (-want +got):\n%s", diff)
	}
}

// FuzzGraphAsText proves that no word of a catalogue ends a quotation.
func FuzzGraphAsText(f *testing.F) {
	f.Add("Q-1", `a "b" \ c`, "no#1")
	f.Fuzz(func(t *testing.T, id, text, is string) {
		g := Catalogue{Loop: "demo", Questions: []Question{{ID: "Q" + id, Text: text, Answers: []Answer{{Is: is}}}}}.Graph()
		if n := strings.Count(strings.ReplaceAll(strings.ReplaceAll(g.DOT(), `\\`, ""), `\"`, ""), `"`); n%2 != 0 {
			t.Errorf("%d quotation marks in %s", n, g.DOT())
		}
		if n := strings.Count(g.Mermaid(), `"`); n%2 != 0 {
			t.Errorf("%d quotation marks in %s", n, g.Mermaid())
		}
	})
}
