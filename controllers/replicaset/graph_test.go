package replicaset_test

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

var graph = replicaset.Catalogue.Graph()

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

// hops are the steps of a sync.
func hops(rounds []decision.Round, report *replicaset.Report) []decision.Hop {
	if report == nil {
		return decision.Hops(rounds, nil)
	}
	return decision.Hops(rounds, &report.Report)
}

// TestGoldensWalkAlongTheGraph holds the drawing to what is recorded. A way that no
// golden takes must not make the drawing larger than the loop is: it is listed.
func TestGoldensWalkAlongTheGraph(t *testing.T) {
	walked := map[[3]string]bool{}
	for _, file := range goldenFiles(t) {
		p := play(t, readGolden(t, file))
		for _, h := range hops(p.rounds, p.report) {
			w, ok := graph.Edge(h)
			if !ok && h.To != "" {
				t.Errorf("%s: no way leads from %s (%s) to %s", filepath.Base(file), h.From, h.Said, h.To)
			}
			walked[[3]string{w.From, w.Answer.Is, w.To}] = true
		}
	}
	for _, w := range graph.Edges {
		if key := [3]string{w.From, w.Answer.Is, w.To}; walked[key] == rare[key] {
			t.Errorf("%v: a golden walks there = %v, excused = %v", key, walked[key], rare[key])
		}
	}
}

// rare are the ways that are declared so that a page can draw the way not taken.
var rare = map[[3]string]bool{{"RS-6.parent", "yes", "RS-6.release"}: true, {"RS-8.namespace", "yes", "RS-8.create"}: true}

// TestSnapshotsWalkAlongTheGraph does the same with random snapshots.
func TestSnapshotsWalkAlongTheGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := acted(genSnapshot(t), decision.Try{}, func(v decision.Verdict) []decision.Outcome { return genOutcomes(t, v) })
		for _, h := range hops(p.rounds, p.report) {
			if _, ok := graph.Edge(h); !ok {
				t.Fatalf("no way leads from %s (%s) to %s", h.From, h.Said, h.To)
			}
		}
	})
}
