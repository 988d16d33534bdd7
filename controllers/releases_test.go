package controllers_test

import (
	"slices"
	"testing"

	"github.com/loopscope/loopscope/controllers"
	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// [C-3]: what earlier releases do is told of rules that there are, the latest first, and of the
// releases that the loops were tried beside.
func TestReleaseRules(t *testing.T) {
	known, features := map[string]bool{"": true}, engine.RuleGates()
	for _, g := range controllers.Rules() {
		for _, r := range g.Rules {
			known[r.Tag] = true
		}
	}
	for _, r := range controllers.ReleaseRules {
		if r.Tag == "" || !known[r.Tag] {
			t.Errorf("%q is no rule", r.Tag)
		}
		if r.Since <= decision.FirstRelease || r.Since > decision.LastRelease {
			t.Errorf("%s is said to be new in %s", r.Tag, decision.ReleaseName(r.Since))
		}
		if is := func(g engine.Gate) bool { return g.Name == r.Feature && g.Since == r.Since }; r.Feature != "" && !slices.ContainsFunc(features, is) {
			t.Errorf("%s goes with %s, which is no feature since then", r.Tag, r.Feature)
		}
	}
	if !slices.IsSortedFunc(controllers.ReleaseRules, func(a, b decision.ReleaseRule) int { return b.Since - a.Since }) {
		t.Error("they are not sorted by release")
	}
}
