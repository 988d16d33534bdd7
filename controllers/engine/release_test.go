package engine

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry"
)

// [C-3]: the rules follow the release of the API server at every use, and what somebody switched
// stays so.
func TestRulesFollowTheRelease(t *testing.T) {
	for _, c := range []struct {
		release     string
		minor       int
		switched    map[string]bool
		terminating bool
		cost        bool
	}{
		{"", 0, nil, true, true},
		{"v1.30.14", 30, nil, false, true},
		{"v1.34.4", 34, nil, false, true},
		{"v1.35.4", 35, nil, true, true},
		{"v1.37.0", 37, nil, true, true},
		{"v1.34.4", 34, map[string]bool{FeatureTerminating: true}, true, true},
		{"v1.36.3", 36, map[string]bool{FeatureTerminating: false, FeatureDeletionCost: false}, false, false},
	} {
		is := telemetry.Release{}
		o := Options{}.Follow(func() telemetry.Release { return is }, c.switched)
		is = telemetry.Release{Version: c.release, Minor: c.minor} // What was told before was another one.
		if o.TerminatingReplicas() != c.terminating || o.PodDeletionCost() != c.cost || o.Release() != is {
			t.Errorf("%q with %v: terminating %v, cost %v, release %v", c.release, c.switched, o.TerminatingReplicas(), o.PodDeletionCost(), o.Release())
		}
	}
}
