package deployment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A snapshot is put back to before a change of a ReplicaSet or of the Deployment; it itself
// stays as it is.
func TestRewound(t *testing.T) {
	size := []decision.Change{{Field: "spec.replicas", From: "3", To: "5"}}
	now := &deployment.Snapshot{Name: "web", RV: "20", Generation: 4, Want: 6, NextName: "web-2",
		Status:      deployment.Status{Ready: 5, Conditions: []decision.Condition{{Type: "Available", Status: "True", Reason: "MinimumReplicasAvailable"}}},
		ReplicaSets: []deployment.ReplicaSet{{Name: "web-1", RV: "7", Replicas: 5, SameTemplate: true}, {Name: "web-2", RV: "8", Replicas: 1}}}
	before := &deployment.Snapshot{Name: "web", RV: "19", Want: 4, NextName: "web-2", ReplicaSets: []deployment.ReplicaSet{{Name: "web-0", RV: "2"}, {Name: "web-1", RV: "6", Replicas: 4, Available: 2}}}
	rewound := func(s decision.Snapshot) *deployment.Snapshot { x, _ := s.(*deployment.Snapshot); return x }

	if s := rewound(now.Rewound("ReplicaSet", "web-1", nil, size)); s.ReplicaSets[0].Replicas != 3 || s.ReplicaSets[0].RV != "7" {
		t.Errorf("a size: %+v", s.ReplicaSets)
	}
	if s := rewound(now.Rewound("ReplicaSet", "web-1", before, size)); s.ReplicaSets[0].Replicas != 3 || s.ReplicaSets[0].Available != 2 || !s.ReplicaSets[0].SameTemplate {
		t.Errorf("as it was: %+v", s.ReplicaSets)
	}
	if s := rewound(now.Rewound("ReplicaSet", "web-0", before, nil)); len(s.ReplicaSets) != 3 || s.ReplicaSets[0].Name != "web-0" {
		t.Errorf("a deletion: %+v", s.ReplicaSets)
	}
	if s := rewound(now.Without("ReplicaSet", "web-2")); len(s.ReplicaSets) != 1 {
		t.Errorf("a creation: %+v", s.ReplicaSets)
	}
	if s := rewound(now.Rewound("Deployment", "web", before, nil)); s.Want != 4 || s.RV != "19" || len(s.ReplicaSets) != 2 || s.ReplicaSets[0].SameTemplate || !s.ReplicaSets[1].SameTemplate {
		t.Errorf("the Deployment: %+v", s)
	}
	if s := rewound(now.Rewound("Deployment", "web", nil, []decision.Change{{Field: "spec.replicas", From: "2"}, {Field: "status.readyReplicas", From: "1"}, {Field: "status.conditions[Available]", From: "False MinimumReplicasUnavailable"}})); s.Want != 2 || s.Generation != 3 || s.Status.Ready != 1 || s.Status.Conditions[0].Reason != "MinimumReplicasUnavailable" {
		t.Errorf("its fields: %+v", s)
	}
	for name, s := range map[string]decision.Snapshot{"a pod": now.Rewound("Pod", "web-1", nil, size), "what is not there": now.Rewound("ReplicaSet", "web-3", nil, size), "a template": now.Rewound("Deployment", "web", nil, []decision.Change{{Field: "spec.template"}}), "none": now.Without("ReplicaSet", "web-3")} {
		if s != nil {
			t.Errorf("%s was put back: %+v", name, s)
		}
	}
	if v := now.VersionOf("Deployment", "web") + now.VersionOf("ReplicaSet", "web-2") + now.VersionOf("ReplicaSet", "x"); v != "208" {
		t.Errorf("versions: %s", v)
	}
	if now.ReplicaSets[0].Replicas != 5 || len(now.ReplicaSets) != 2 || now.Status.Conditions[0].Status != "True" {
		t.Errorf("it was changed: %+v", now)
	}
}

// TestDepartures: what Kubernetes writes on the same state, by the departure that says so.
func TestDepartures(t *testing.T) {
	least := int64(2)
	set := func(name string, isNew bool, size, available int64) deployment.ReplicaSet {
		rs := deployment.ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, SameTemplate: isNew, Replicas: size, Available: available}
		if isNew {
			rs.Revision = "1"
		}
		return rs
	}
	on := func(strategy string, want int64, sets ...deployment.ReplicaSet) *deployment.Snapshot {
		return &deployment.Snapshot{Found: true, Selector: "app=web", Strategy: strategy, Want: want, MaxSurge: &deployment.IntOrPercent{Int: 2}, MaxUnavailable: &deployment.IntOrPercent{Int: 1}, ReplicaSets: sets}
	}
	gone := set("b", false, 4, 4) // It had only 2 pods lately.
	gone.Least = &least
	paused := on("RollingUpdate", 5, set("a", true, 3, 3), set("b", false, 4, 2))
	paused.Paused = true
	const rolling = "RollingUpdate"
	for name, c := range map[string]struct {
		on       *deployment.Snapshot
		of, what string
		want     int
	}{
		"both in one sync":          {on(rolling, 5, set("a", true, 3, 3), set("b", false, 2, 0), set("c", false, 2, 2)), "c", "2 → 1", 4},
		"of one, the second":        {on(rolling, 5, set("a", true, 3, 3), set("b", false, 4, 2)), "b", "2 → 1", 4},
		"another size":              {on(rolling, 5, set("a", true, 3, 3), set("b", false, 2, 0), set("c", false, 2, 2)), "c", "2 → 0", 0},
		"pods that will not stay":   {on(rolling, 5, set("a", true, 3, 3), gone), "b", "4 → 1", 3},
		"before one that is behind": {on(rolling, 5, set("a", true, 3, 3), set("b", false, 3, 1), set("c", false, 1, 2)), "b", "3 → 1", 5},
		"after one that is behind":  {on(rolling, 5, set("a", true, 3, 3), set("b", false, 1, 2), set("c", false, 3, 1)), "c", "3 → 1", 0},
		"no room":                   {on(rolling, 5, set("a", true, 3, 1), set("b", false, 3, 3)), "b", "3 → 2", 0},
		"before the new one grows":  {on(rolling, 5, set("a", true, 3, 3), set("b", false, 3, 3)), "b", "3 → 1", 0},
		"paused":                    {paused, "b", "2 → 1", 0},
		"of one that has no size":   {on(rolling, 5, set("a", true, 3, 3), set("b", false, 4, 4), set("c", false, 0, 3)), "b", "4 → 0", 0},
		"both under Recreate":       {on("Recreate", 5, set("a", true, 0, 0), set("b", false, 5, 5)), "a", "0 → 5", 0},
		"no such ReplicaSet":        {on(rolling, 5, set("a", true, 3, 3)), "x", "0 → 5", 0},
		"no new ReplicaSet":         {on(rolling, 5, set("b", false, 3, 3)), "b", "3 → 2", 0},
	} {
		seen := decision.Prediction{Predictable: decision.Predictable{Aspect: decision.AspectSize, Of: "ReplicaSet"}, Name: c.of, What: c.what}
		if got := c.on.Departure(&seen); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestConditionsOnTheWay: what Kubernetes writes in the middle of a sync is a departure where the rules here come
// to something else at its end, and nothing else is.
func TestConditionsOnTheWay(t *testing.T) {
	deadline := int64(600)
	at := func(reason string) []decision.Condition {
		if reason == "" {
			return nil
		}
		status := "True"
		if reason == "DeploymentPaused" {
			status = "Unknown"
		}
		return []decision.Condition{{Type: "Progressing", Status: status, Reason: reason}}
	}
	on := func(reason string, sets ...deployment.ReplicaSet) *deployment.Snapshot {
		return &deployment.Snapshot{Found: true, Name: "web", Selector: "app=web", Strategy: "RollingUpdate", MaxSurge: &deployment.IntOrPercent{Int: 2}, MaxUnavailable: &deployment.IntOrPercent{Int: 1},
			Deadline: &deadline, NextName: "web-1", Status: deployment.Status{Conditions: at(reason)}, ReplicaSets: sets}
	}
	set := func(isNew bool) deployment.ReplicaSet {
		return deployment.ReplicaSet{Name: "web-1", UID: "1", Mine: true, Matches: true, SameTemplate: isNew, Revision: "1"}
	}
	const created, found, available, resumed = "True NewReplicaSetCreated", "True FoundNewReplicaSet", "True NewReplicaSetAvailable", "Unknown DeploymentResumed"
	timeless := on("")
	timeless.Deadline = nil
	ending := on("")
	ending.Deleting = true
	everything := on("")
	everything.SelectsAll = true
	for name, c := range map[string]struct {
		on       *deployment.Snapshot
		from, to string
		want     int
	}{
		"created at zero":           {on(""), "", created, 7},
		"created after another":     {on("NewReplicaSetAvailable", set(false)), available, created, 7},
		"created from another":      {on("NewReplicaSetAvailable", set(false)), "", created, 0},
		"created where it is there": {on("NewReplicaSetAvailable", set(true)), available, created, 0},
		"created without deadline":  {timeless, "", created, 0},
		"created while it ends":     {ending, "", created, 0},
		"created of all pods":       {everything, "", created, 0},
		"found":                     {on("", set(true)), "", found, 7},
		"found once more":           {on("NewReplicaSetAvailable", set(true)), available, found, 0},
		"resumed":                   {on("DeploymentPaused", set(true)), "Unknown DeploymentPaused", resumed, 7},
		"resumed while it runs":     {on("NewReplicaSetAvailable", set(true)), available, resumed, 0},
	} {
		seen := decision.ChangesOf("Deployment", "web", []decision.Change{{Field: "status.conditions[Progressing]", From: c.from, To: c.to}})
		if got := c.on.Departure(&seen[0]); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestCollisionsOnTheWay: that a name is taken is counted by itself, where a ReplicaSet is to be created.
func TestCollisionsOnTheWay(t *testing.T) {
	to := &deployment.Snapshot{Found: true, Name: "web", Selector: "app=web", Strategy: "RollingUpdate", NextName: "web-1", CollisionName: "web-2"}
	there := *to
	there.ReplicaSets = []deployment.ReplicaSet{{Name: "web-1", UID: "1", Mine: true, Matches: true, SameTemplate: true}}
	for name, c := range map[string]struct {
		on   *deployment.Snapshot
		to   string
		want int
	}{"one": {to, "1", 7}, "two": {to, "2", 0}, "of what is there": {&there, "1", 0}} {
		seen := decision.ChangesOf("Deployment", "web", []decision.Change{{Field: "status.collisionCount", To: c.to}})
		if got := c.on.Departure(&seen[0]); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestWhatFollowsAnnotations: a comparison knows what Kubernetes writes in the sync in which it writes annotations.
func TestWhatFollowsAnnotations(t *testing.T) {
	set := func(name string, size int64) deployment.ReplicaSet {
		return deployment.ReplicaSet{Name: name, UID: name, Mine: true, Matches: true, Replicas: size, StatusReplicas: size, Ready: size, Available: size, Desired: "3", Revision: "1"}
	}
	s := &deployment.Snapshot{Now: time.Now(), Found: true, Name: "web", Want: 5, Strategy: "RollingUpdate", MinReady: 7, ReplicaSets: []deployment.ReplicaSet{set("web-1", 3)}}
	s.ReplicaSets[0].SameTemplate, s.ReplicaSets[0].CopyStale = true, true
	for name, c := range map[string]struct {
		act   decision.Act
		sizes []int64
	}{"taken": {decision.Everything, []int64{0, 5}}, "refused": {decision.RefuseAll, []int64{0}}} {
		sync := decision.Sync{Core: s.Begin()}
		sync.Run(c.act)
		var sizes []int64
		for _, r := range sync.Rounds {
			for _, a := range r.Verdict.Actions {
				if a.Size == nil {
					a.Size = &decision.Size{}
				}
				sizes = append(sizes, a.Size.To)
			}
		}
		if !slices.Equal(sizes, c.sizes) {
			t.Errorf("%s: %v, want %v", name, sizes, c.sizes)
		}
	}
}
