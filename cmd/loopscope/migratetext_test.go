package main

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/cmd/internal/migrate"
)

// TestMigrateSaysWhatIsNotKnown before the first write, too.
func TestMigrateSaysWhatIsNotKnown(t *testing.T) {
	for _, write := range []bool{false, true} {
		var out strings.Builder
		o := migrateOptions{s: streams{out: &out}, write: write}
		if err := o.planText(&migrate.Plan{Unread: []string{"HorizontalPodAutoscalers: they are forbidden"}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "NOT KNOWN, as it could not be read\n  HorizontalPodAutoscalers: they are forbidden\n") {
			t.Errorf("--write %t prints\n%s", write, out.String())
		}
	}
}
