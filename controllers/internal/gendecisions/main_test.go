package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestDecisionsFresh fails where the catalogues and the committed texts differ.
func TestDecisionsFresh(t *testing.T) {
	for name, want := range files() {
		committed, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(committed)); diff != "" {
			t.Errorf("%s is stale: run go generate ./controllers/internal/gendecisions (-want +committed):\n%s", name, diff)
		}
	}
}

// TestEveryReasonIsWhole: each code stands once, each of its texts is a
// sentence, and each question that leads to it exists.
func TestEveryReasonIsWhole(t *testing.T) {
	loops := map[string]decision.Catalogue{"deployment": deployment.Catalogue, "replicaset": replicaset.Catalogue, "rollingupdate": rollingupdate.Catalogue}
	text, sections := files()["REASONS.md"], 0
	for _, r := range reasons() {
		seen := map[string]bool{}
		for _, x := range r.List {
			name := r.Scope + " " + r.Kind + " " + x.Code
			if x.Code == "" || seen[x.Code] {
				t.Errorf("%s stands twice, or for nothing", name)
			}
			seen[x.Code] = true
			sections++
			for _, s := range []string{x.Means, x.Meanwhile, x.Unblocks, x.Do} {
				if !strings.HasSuffix(s, ".") || strings.TrimSpace(s) != s {
					t.Errorf("%s: %q is no sentence", name, s)
				}
			}
			c, loop := loops[r.Scope]
			// The worker drops a key, and an estimate asks nothing.
			if loop && len(x.Questions) == 0 && x.Code != "dropped" && r.Kind != "estimate" {
				t.Errorf("%s: no question leads to it", name)
			}
			for _, id := range x.Questions {
				if _, ok := c.Find(id); !ok {
					t.Errorf("%s: there is no question %s", name, id)
				}
			}
		}
	}
	if n := strings.Count(text, "\n### "); n != sections {
		t.Errorf("REASONS.md has %d sections for %d codes", n, sections)
	}
}
