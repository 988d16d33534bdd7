package diagnosis

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
)

// What ends several findings is each said once, and never the same twice.
func TestEnds(t *testing.T) {
	ends := func(clauses ...string) (list []decision.Finding) {
		for _, c := range clauses {
			list = append(list, decision.Finding{Unblocks: words(c)})
		}
		return list
	}
	theirs := func(counts ...int) (list []decision.Finding) {
		for _, n := range counts {
			list = append(list, decision.Finding{Unblocks: words("when ").Say(prose.Plural(n, "it becomes", "they become")).Say(" ready")})
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
		{theirs(1, 2), "Unblocks when they become ready"},
		{theirs(1, 1), "Unblocks when they become ready"},
		{theirs(2, 1, 3), "Unblocks when they become ready"},
		{append(theirs(2, 1), ends("when it is ready")...), "Unblocks only when all of them are resolved"},
		{append(theirs(1), ends("when that image exists")...), "Unblocks when it becomes ready and when that image exists"},
		{ends("a", "b", "c"), "Unblocks only when all of them are resolved"},
		{byHand, "Needs action: unblocks when the quota is raised"},
	} {
		if got := Ends(c.of, 150).At(time.Time{}); got != c.want {
			t.Errorf("%d findings: %q, want %q", len(c.of), got, c.want)
		}
	}
}

// A single pod is named where its name is known.
func TestSubject(t *testing.T) {
	for want, f := range map[string]decision.Finding{
		"web-a": {Count: 1, Pods: []string{"web-a"}},
		"1":     {Count: 1},
		"2":     {Count: 2, Pods: []string{"web-a", "web-b"}},
		"3":     {Count: 3, Pods: []string{"web-a"}},
	} {
		if got := Subject(&f).At(time.Time{}); got != want {
			t.Errorf("%d pods, of which %v are known: %q, want %q", f.Count, f.Pods, got, want)
		}
	}
	if got := Subject(&decision.Finding{Count: 1, Pods: []string{"web-a", "web-b"}}).At(time.Time{}); got != "1" {
		t.Errorf("more names than pods: %q", got)
	}
}
