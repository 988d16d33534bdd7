package replicaset_test

import (
	"testing"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/replicaset"
)

// A pod whose node does not answer does not hide that a finalizer blocks the deletion of one that has ended.
func TestBothKindsOfLeavingAreFound(t *testing.T) {
	p := play(t, readGolden(t, "testdata/golden/scaled-to-zero-node-gone.txtar"))
	needs := map[string]bool{}
	found := replicaset.Found(p.snapshot, p.rounds).Findings
	if got := diagnosis.Heading(found); got != "Why pods are not gone" {
		t.Errorf("headed %q", got)
	}
	for _, f := range found {
		if f.Code == diagnosis.Terminating {
			needs[f.Pods[0]] = f.NeedsAction
		}
	}
	if len(needs) != 2 || !needs["web-7d4b9c6f5x-2kqxv"] || needs["web-7d4b9c6f5x-9fwlp"] {
		t.Errorf("found, and whether they need action: %v", needs)
	}
}
