package deployment

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestRoomOfOldPods: an old pod that leaves makes room in a quota of cpu if it is known to request what a new one does.
func TestRoomOfOldPods(t *testing.T) {
	change := func(from string, more int64, fields ...string) *TemplateChange {
		c := &TemplateChange{From: from, To: "2", More: more}
		for _, field := range fields {
			c.Fields = append(c.Fields, decision.Change{Field: field})
		}
		return c
	}
	const image, cpu = "containers[app].image", "containers[app].resources.requests[cpu]"
	for name, c := range map[string]struct {
		changed *TemplateChange
		paused  bool
		acts    bool
	}{
		"another image":       {change("1", 0, image, "containers[app].env[A]", "metadata.annotations[a]"), false, false},
		"other requests":      {change("1", 0, image, cpu), false, true},
		"another container":   {change("1", 0, "containers[proxy]"), false, true},
		"more than is known":  {change("1", 1, image), false, true},
		"of another revision": {change("0", 0, image), false, true},
		"unknown":             {nil, false, true},
		"in a pause":          {change("1", 0, image), true, true},
	} {
		s := &Snapshot{Now: at, Found: true, Want: 4, Paused: c.paused, Strategy: rollingUpdate, MaxUnavailable: &IntOrPercent{Int: 2}, Changed: c.changed, ReplicaSets: []ReplicaSet{
			{Name: "old", UID: "o", Mine: true, Matches: true, Revision: "1", Replicas: 2, StatusReplicas: 2, Available: 2,
				TerminatingPods: []decision.TerminatingPod{{Name: "old-a", Until: at.Add(time.Minute)}}},
			{Name: "new", UID: "n", Mine: true, Matches: true, SameTemplate: true, Revision: "2", Replicas: 2, Failure: &decision.Condition{Reason: "FailedCreate",
				Message: "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3"}}}}
		list := Diagnose(s, decision.Learnt{}).Findings
		if len(list) != 1 || list[0].NeedsAction != c.acts {
			t.Errorf("%s: it finds %+v, want needs action %v", name, list, c.acts)
		}
	}
}
