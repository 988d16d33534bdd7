package deployment_test

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var graph = deployment.Catalogue.Graph()

// TestGraphIsWhole: every way leads to a place that there is, and every place
// can be reached.
func TestGraphIsWhole(t *testing.T) {
	reached := graph.Reached()
	for _, p := range graph.Nodes {
		if !reached[p.ID] {
			t.Errorf("no way leads to %s", p.ID)
		}
		delete(reached, p.ID)
	}
	for id := range reached {
		t.Errorf("a way leads to %s, which is no question", id)
	}
}

// strays lists the steps of a sync that no way of the graph allows.
func strays(rounds []decision.Round, report *deployment.Report) (list []decision.Hop) {
	var settled *decision.Report
	if report != nil {
		settled = &report.Report
	}
	for _, h := range decision.Hops(rounds, settled) {
		if _, ok := graph.Edge(h); !ok && h.To != "" {
			list = append(list, h)
		}
	}
	return list
}

// TestGoldensWalkAlongTheGraph holds the drawing to what is recorded. A way that no
// golden takes must not make the drawing larger than the loop is: it is listed.
func TestGoldensWalkAlongTheGraph(t *testing.T) {
	walked := map[[3]string]bool{}
	for _, file := range goldenFiles(t) {
		p := play(t, readGolden(t, file))
		for _, h := range strays(p.rounds, p.report) {
			t.Errorf("%s: no way leads from %s (%s) to %s", filepath.Base(file), h.From, h.Said, h.To)
		}
		var settled *decision.Report
		if p.report != nil {
			settled = &p.report.Report
		}
		for _, h := range decision.Hops(p.rounds, settled) {
			if w, ok := graph.Edge(h); ok {
				walked[[3]string{w.From, w.Answer.Is, w.To}] = true
			}
		}
	}
	for _, w := range graph.Edges {
		if key := [3]string{w.From, w.Answer.Is, w.To}; walked[key] == rare[key] {
			t.Errorf("%v: a golden walks there = %v, excused = %v", key, walked[key], rare[key])
		}
	}
}

// rare are the ways that no golden takes: two that are declared so that a page can
// draw the way not taken, and those of a Deployment that is in two rare states at once.
var rare = map[[3]string]bool{
	{"RR-1.namespace", "no", "report"}: true, {"RR-3b", "0", "RR-4"}: true,
	{"D-6", "yes", "report"}: true, {"S-1", "yes", "report"}: true, {"S-1.stale", "no", "report"}: true,
	{"S-3.recreate", "no", "report"}: true, {"RR-5.hold", "yes", "end"}: true,
	{"RB-1", "no", "RR-1.namespace"}: true, {"RB-1", "no", "RR-1.taken"}: true,
	{"RC-4", "no", "RR-1.namespace"}: true, {"RC-4", "no", "RR-1.taken"}: true,
}

// TestHistoriesWalkAlongTheGraph does the same with random histories.
func TestHistoriesWalkAlongTheGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			step(t, w, true)
			p := w.sync(func() bool { return false })
			if list := strays(p.rounds, p.report); len(list) > 0 {
				t.Fatalf("no way leads along %+v", list)
			}
		}
	})
}
