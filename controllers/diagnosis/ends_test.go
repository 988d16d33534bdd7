package diagnosis

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// What ends several findings is each said once, and never the same twice.
func TestEnds(t *testing.T) {
	ends := func(clauses ...string) (list []decision.Finding) {
		for _, c := range clauses {
			list = append(list, decision.Finding{Unblocks: words(c)})
		}
		return list
	}
	byHand := ends("when the quota is raised")
	byHand[0].NeedsAction = true
	for _, c := range []struct {
		of   []decision.Finding
		want string
	}{
		{ends("when it is ready"), "Unblocks when it is ready"},
		{ends("when it is ready", "when it is replaced"), "Unblocks when it is ready and when it is replaced"},
		{ends("when it is replaced", "when it is replaced"), "Unblocks only when all of them are resolved"},
		{ends("a", "b", "c"), "Unblocks only when all of them are resolved"},
		{byHand, "Needs action: unblocks when the quota is raised"},
	} {
		if got := Ends(c.of).At(time.Time{}); got != c.want {
			t.Errorf("%d findings: %q, want %q", len(c.of), got, c.want)
		}
	}
}
