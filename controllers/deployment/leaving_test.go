package deployment

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestRoomOfOldPods: an old pod that leaves makes room in a quota of cpu or on a node if it is
// known to request what a new one does.
func TestRoomOfOldPods(t *testing.T) {
	change := func(from string, more int64, fields ...string) *TemplateChange {
		c := &TemplateChange{From: from, To: "2", More: more}
		for _, field := range fields {
			c.Fields = append(c.Fields, decision.Change{Field: field})
		}
		return c
	}
	resize := func(field, from, to string) *TemplateChange {
		return &TemplateChange{From: "1", To: "2", Fields: []decision.Change{{Field: field, From: from, To: to}}}
	}
	const image, cpu = "containers[app].image", "containers[app].resources.requests[cpu]"
	for name, c := range map[string]struct {
		changed *TemplateChange
		paused  bool
		acts    bool
	}{
		"another image":       {change("1", 0, image, "containers[app].env[A]", "metadata.annotations[a]"), false, false},
		"lower requests":      {resize(cpu, "1500m", "1"), false, false},
		"lower limits":        {resize("initContainers[app].resources.limits[memory]", "2Gi", "512Mi"), false, false},
		"higher requests":     {resize(cpu, "1", "1500m"), false, true},
		"new requests":        {resize(cpu, "", "1"), false, true},
		"no requests":         {resize(cpu, "1", ""), false, true},
		"a lower port":        {resize("containers[app].ports[http].hostPort", "8080", "80"), false, true},
		"other requests":      {change("1", 0, image, cpu), false, true},
		"another container":   {change("1", 0, "containers[proxy]"), false, true},
		"more than is known":  {change("1", 1, image), false, true},
		"of another revision": {change("0", 0, image), false, true},
		"unknown":             {nil, false, true},
		"in a pause":          {change("1", 0, image), true, true},
	} {
		refused := &decision.Condition{Reason: "FailedCreate", Message: "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3"}
		waits := Pod{Name: "new-a", Created: at, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu.", Like: 1}
		for what, fresh := range map[string]ReplicaSet{"refused": {Failure: refused}, "fits no node": {StatusReplicas: 2, Unavailable: 2, Blocking: []Pod{waits}}} {
			fresh.Name, fresh.UID, fresh.Mine, fresh.Matches, fresh.SameTemplate, fresh.Revision, fresh.Replicas = "new", "n", true, true, true, "2", 2
			s := &Snapshot{Now: at, Found: true, Want: 4, Paused: c.paused, Strategy: rollingUpdate, MaxUnavailable: &IntOrPercent{Int: 2}, Changed: c.changed, ReplicaSets: []ReplicaSet{
				{Name: "old", UID: "o", Mine: true, Matches: true, Revision: "1", Replicas: 2, StatusReplicas: 2, Available: 2,
					TerminatingPods: []decision.TerminatingPod{{Name: "old-a", Until: at.Add(time.Minute)}}}, fresh}}
			list := Diagnose(s, decision.Learnt{}).Findings
			if len(list) != 1 || list[0].NeedsAction != c.acts {
				t.Errorf("%s, %s: it finds %+v, want needs action %v", name, what, list, c.acts)
			}
		}
	}
}

// TestManyTerminatingPods: a snapshot describes the first terminating pods, and the others leave room as well.
func TestManyTerminatingPods(t *testing.T) {
	disrupted := func(names ...string) (list []decision.DisruptedPod) {
		for _, name := range names {
			list = append(list, decision.DisruptedPod{Name: name, Disruption: decision.Disruption{At: at}})
		}
		return list
	}
	for name, c := range map[string]struct {
		described, terminating int64
		last                   time.Duration // how long the last one described has left
		disrupted              []decision.DisruptedPod
		want                   int64
	}{
		"none":                          {0, 0, 0, nil, 0},
		"all of them described":         {3, 3, time.Minute, nil, 3},
		"counted by nobody":             {3, 0, time.Minute, nil, 3},
		"more of them":                  {10, 15, time.Minute, nil, 15},
		"more, and the last is overdue": {10, 15, -time.Minute, nil, 9},
		"one of them evicted":           {10, 15, time.Minute, disrupted("b"), 14},
		"another one evicted":           {10, 15, time.Minute, disrupted("z"), 14},
		"all of the others evicted":     {10, 12, time.Minute, disrupted("x", "y", "z"), 10},
		"nobody knows how many evicted": {10, 40, time.Minute, disrupted(slices.Repeat([]string{"z"}, MaxDisrupted)...), 10},
	} {
		rs := ReplicaSet{Name: "web", UID: "w", Mine: true, Matches: true, SameTemplate: true, Replicas: 15, TerminatingNow: c.terminating, Disrupted: c.disrupted}
		for i := range c.described {
			rs.TerminatingPods = append(rs.TerminatingPods, decision.TerminatingPod{Name: string(rune('a' + i)), Until: at.Add(time.Minute)})
		}
		if c.described > 0 {
			rs.TerminatingPods[c.described-1].Until = at.Add(c.last)
		}
		v := viewOf(&Snapshot{Now: at, Found: true, Want: 15, Strategy: rollingUpdate, ReplicaSets: []ReplicaSet{rs}})
		if got := v.room(v.newSet, v.children).Now; got != c.want {
			t.Errorf("%s: %d leave room, want %d", name, got, c.want)
		}
	}
}

// TestManyTerminatingPodsOfAQuota: what a quota refuses only until more pods are gone than are described has not failed.
func TestManyTerminatingPodsOfAQuota(t *testing.T) {
	rs := ReplicaSet{Name: "web", UID: "w", Mine: true, Matches: true, SameTemplate: true, Replicas: 15, TerminatingNow: 15,
		Failure: &decision.Condition{Reason: "FailedCreate", Message: "exceeded quota: q, requested: pods=1, used: pods=15, limited: pods=15"}}
	for i := range decision.MaxTerminatingPods {
		rs.TerminatingPods = append(rs.TerminatingPods, decision.TerminatingPod{Name: string(rune('a' + i)), Until: at.Add(time.Minute)})
	}
	list := Diagnose(&Snapshot{Now: at, Found: true, Want: 15, Strategy: rollingUpdate, ReplicaSets: []ReplicaSet{rs}}, decision.Learnt{}).Findings
	if len(list) != 1 || list[0].NeedsAction {
		t.Errorf("it finds %+v, want that nobody has to act", list)
	}
}
