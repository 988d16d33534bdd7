package object

import (
	"strings"
	"testing"

	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
)

// TestFindingsAreHeaded: pods that are there and have to go are not gone; those that a ReplicaSet which is
// being deleted creates no more are not available.
func TestFindingsAreHeaded(t *testing.T) {
	for _, c := range []struct {
		old  bool
		want string
	}{{true, "Why pods are not gone"}, {false, "Why pods are not available"}} {
		f := decision.Finding{Code: diagnosis.Terminating, Old: c.old, Count: 3}
		var html strings.Builder
		err := views.FindingsPart(views.Object{Findings: findingViews([]decision.Finding{f})}).Render(t.Context(), &html)
		if err != nil || !strings.Contains(html.String(), c.want) {
			t.Errorf("old %t: %v, %s", c.old, err, html.String())
		}
	}
}
