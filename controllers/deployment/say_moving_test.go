package deployment_test

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestPausedSays: a pause is told with the pods that are left after scaling, also where that is not written, or not yet.
func TestPausedSays(t *testing.T) {
	const pending, paused = "shop/web is paused with a change pending: ", "shop/web is paused: "
	for name, c := range map[string]struct {
		want, old, fresh, minReady int64
		written, nobody            string
	}{
		"nothing": {10, 1, 10, 0, pending + "10 new and 1 old pod stay as they are; 1 new pod is not ready. Scaling still works.", ""},
		"the last old pods go": {10, 2, 10, 0, paused + "12 of 10 available. Scaling still works: old 2 → 0.",
			paused + "12 of 10 available. Scaling still works; not written yet: old 2 → 0."},
		"no pods at all": {0, 1, 0, 0, paused + "1 of 0 available. Scaling still works: old 1 → 0.",
			paused + "1 of 0 available. Scaling still works; not written yet: old 1 → 0."},
		"more": {12, 1, 10, 0, pending + "its old pod is not replaced. Scaling still works: new 10 → 12.",
			pending + "its old pod is not replaced. Scaling still works; not written yet: new 10 → 12."},
		"annotations come first": {12, 1, 10, 7, pending + "its old pod is not replaced. Scaling still works.",
			pending + "its old pod is not replaced. Scaling still works; not written yet."},
	} {
		s := rolling()
		s.Paused, s.Want, s.MinReady = true, c.want, c.minReady
		s.MaxSurge, s.MaxUnavailable = &deployment.IntOrPercent{Int: 1}, &deployment.IntOrPercent{Int: 1}
		for same, size := range map[bool]int64{true: c.fresh, false: c.old} {
			rs := set(s, same)
			rs.Replicas, rs.StatusReplicas, rs.Ready, rs.Available, rs.Unavailable, rs.Blocking = size, size, size, size, 0, nil
			rs.Desired, rs.Max = "10", "11"
		}
		if c.nobody == "" { // The sizes are those of a rollout that goes on.
			set(s, true).Available, c.nobody = c.fresh-1, c.written
		}
		for want, act := range map[string]decision.Act{c.written: answered(nil, nil), c.nobody: decision.Nobody} {
			p := run(s, decision.Try{}, nil, act)
			for _, problem := range p.problems() {
				t.Errorf("%s: %s", name, problem)
			}
			if got := p.sentence.At(s.Now); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// TestMovesAndNeverCompletes: where an estimate says that a rollout cannot complete until something is resolved, the
// sentence says what, also if it is about the next write or one that was just done.
func TestMovesAndNeverCompletes(t *testing.T) {
	s := rolling()
	s.Strategy, s.Want = "Recreate", 3
	s.ReplicaSets = s.ReplicaSets[1:]
	rs := set(s, true)
	rs.Replicas, rs.StatusReplicas, rs.Unavailable, rs.Desired, rs.Max = 1, 1, 1, "3", "3"
	rs.Blocking = []deployment.Pod{{Name: "new-a", Created: s.Now.Add(-time.Hour), Phase: "Pending", Node: "node-1", Reason: "ErrImagePull", Message: "not found", Image: "web:404"}}
	for lead, act := range map[string]decision.Act{
		"the next write scales new 1 → 3; new pod new-a cannot pull web:404 (not found)":                      decision.Nobody,
		"0 of 3 new pods are available; just scaled new 1 → 3; new pod new-a cannot pull web:404 (not found)": answered(nil, nil),
	} {
		p := run(s, decision.Try{}, nil, act)
		for _, problem := range p.problems() {
			t.Error(problem)
		}
		if got := p.sentence.Lead.At(s.Now); got != lead || p.estimate == nil || p.estimate.Code != "image-pull" {
			t.Errorf("%s: %q, want %q, with the estimate %+v", p.sentence.Tone, got, lead, p.estimate)
		}
	}
}
