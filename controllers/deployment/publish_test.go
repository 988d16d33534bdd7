package deployment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// rolling is in the middle of a rollout, with a status that shows everything.
func rolling() *deployment.Snapshot {
	now, deadline, none := time.Date(2026, time.March, 14, 9, 30, 0, 0, time.UTC), int64(600), int64(0)
	set := func(name string, created, size, available int64) deployment.ReplicaSet {
		return deployment.ReplicaSet{Name: name, UID: name, RV: "7", Created: now.Add(time.Duration(created) * time.Minute), Mine: true, Matches: true,
			SameTemplate: name == "new", Replicas: size, Generation: 1, ObservedGeneration: 1, StatusReplicas: size, Ready: available, Available: available,
			Terminating: &none, Revision: map[string]string{"new": "2", "old": "1"}[name], Desired: "10", Max: "13"}
	}
	quarter := &deployment.IntOrPercent{Percent: "25%"}
	s := &deployment.Snapshot{Version: deployment.SnapshotVersion, Now: now, Found: true, Namespace: "shop", Name: "web", UID: "d", RV: "9", Generation: 4,
		Want: 10, Strategy: "RollingUpdate", MaxSurge: quarter, MaxUnavailable: quarter, Deadline: &deadline, Revision: "2", CountTerminating: true,
		ReplicaSets: []deployment.ReplicaSet{set("old", -9, 8, 8), set("new", -1, 5, 0)}}
	s.Status.Conditions = []decision.Condition{{Type: "Progressing", Status: "True", Reason: "ReplicaSetUpdated",
		Message: `ReplicaSet "new" is progressing.`, Updated: now.Add(-time.Second), Transition: now.Add(-time.Minute)}}
	s.Status = settled(s).Status
	return s
}

func progressing(s *deployment.Snapshot) *decision.Condition {
	i := slices.IndexFunc(s.Status.Conditions, func(c decision.Condition) bool { return c.Type == "Progressing" })
	return &s.Status.Conditions[i]
}

func settled(s *deployment.Snapshot) deployment.Report {
	return *run(s, decision.Try{}, nil, decision.Nobody).report
}

// TestWhoRequeues: in the middle of a rollout, the deadline rings after every sync that comes to a status, but
// not where nothing is rolled out. A restore leaves it to the sync that its echo brings.
func TestWhoRequeues(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*deployment.Snapshot)
		rings  bool
	}{
		"a rollout":         {func(*deployment.Snapshot) {}, true},
		"a scaling":         {func(s *deployment.Snapshot) { s.Want = 12 }, true},
		"annotations":       {func(s *deployment.Snapshot) { s.ReplicaSets[1].Revision = "" }, true},
		"paused":            {func(s *deployment.Snapshot) { s.Paused = true }, false},
		"being deleted":     {func(s *deployment.Snapshot) { s.Deleting = true }, false},
		"an empty selector": {func(s *deployment.Snapshot) { s.SelectsAll = true }, false},
		"a restore":         {func(s *deployment.Snapshot) { s.RollbackTo = "1" }, false},
		"a scaling that nobody writes, after the deadline": {func(s *deployment.Snapshot) {
			s.Want, progressing(s).Updated = 12, s.Now.Add(-time.Hour)
		}, false},
	} {
		s := rolling()
		c.change(s)
		timers := settled(s).Timers
		if rings := slices.ContainsFunc(timers, func(x decision.Timer) bool { return x.Code == "deadline" }); rings != c.rings {
			t.Errorf("%s: the deadline rings %t, of %v", name, rings, timers)
		}
	}
}

// TestDeploymentStatusWaits: [RR-5] while a rollout moves, a status that only
// grows waits for more, at most a second from the first change; anything that
// somebody may wait for does not.
func TestDeploymentStatusWaits(t *testing.T) {
	up := func(s *deployment.Snapshot, n int64) { s.ReplicaSets[1].Ready, s.ReplicaSets[1].Available = n, n }
	done := func(s *deployment.Snapshot) {
		s.ReplicaSets[0].Replicas, s.ReplicaSets[0].StatusReplicas, s.ReplicaSets[0].Ready, s.ReplicaSets[0].Available = 0, 0, 0, 0
		s.ReplicaSets[1].Replicas, s.ReplicaSets[1].StatusReplicas = 10, 10
		up(s, 10)
	}
	cases := []struct {
		name   string
		change func(*deployment.Snapshot)
		hold   bool
	}{
		{"some came up", func(s *deployment.Snapshot) { up(s, 2) }, true},
		{"held for half a second", func(s *deployment.Snapshot) { up(s, 2); s.Held = s.Now.Add(-decision.StatusWindow / 2) }, true},
		{"held for a second", func(s *deployment.Snapshot) { up(s, 2); s.Held = s.Now.Add(-decision.StatusWindow) }, false},
		{"fewer are available", func(s *deployment.Snapshot) { s.ReplicaSets[0].Ready, s.ReplicaSets[0].Available = 7, 7 }, false},
		{"fewer pods", func(s *deployment.Snapshot) { s.ReplicaSets[0].StatusReplicas = 7 }, false},
		{"a generation", func(s *deployment.Snapshot) { s.Generation++ }, false},
		{"a revision", func(s *deployment.Snapshot) { s.Revision = "" }, false},
		{"complete", done, false},
		{"the deadline", func(s *deployment.Snapshot) { progressing(s).Updated = s.Now.Add(-time.Hour) }, false},
		{"the first progress", func(s *deployment.Snapshot) { progressing(s).Reason = "NewReplicaSetCreated"; up(s, 2) }, true},
		{"progress after the deadline", func(s *deployment.Snapshot) {
			progressing(s).Reason, progressing(s).Status = "ProgressDeadlineExceeded", "False"
			up(s, 2)
		}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := rolling()
			c.change(s)
			r := settled(s)
			if r.Hold != c.hold || r.Publish == c.hold {
				t.Fatalf("hold %v and publish %v, want hold %v; changes %v", r.Hold, r.Publish, c.hold, r.Changes)
			}
			if rings := len(r.Timers) > 0 && r.Timers[0].Code == "status"; rings != c.hold {
				t.Fatalf("timers %v", r.Timers)
			}
		})
	}
}

// TestDeploymentAtRestIsWrittenAtOnce: growth of a Deployment in which nothing
// else is to come waits for nothing.
func TestDeploymentAtRestIsWrittenAtOnce(t *testing.T) {
	s := rolling()
	s.ReplicaSets = s.ReplicaSets[1:]
	s.ReplicaSets[0].Replicas, s.ReplicaSets[0].StatusReplicas = 10, 10
	s.ReplicaSets[0].Ready, s.ReplicaSets[0].Available = 9, 9
	progressing(s).Reason = "NewReplicaSetAvailable"
	s.Status = settled(s).Status
	s.ReplicaSets[0].Ready, s.ReplicaSets[0].Available = 10, 10
	if r := settled(s); !r.Publish {
		t.Fatalf("not published: %+v", r)
	}
}

// TestShrunkAndGrownCountsTheLeast: [RR-3] an undo makes a ReplicaSet larger again
// before its status tells what the smaller size took. Its pods of before do not
// count, or old ones would go below the floor.
func TestShrunkAndGrownCountsTheLeast(t *testing.T) {
	s := rolling()
	s.ReplicaSets[0].Replicas, s.ReplicaSets[0].Available = 8, 8
	s.ReplicaSets[1].Replicas, s.ReplicaSets[1].StatusReplicas, s.ReplicaSets[1].Ready, s.ReplicaSets[1].Available = 5, 5, 5, 5
	shrinks := func() bool {
		return slices.ContainsFunc(deployment.Decide(s).Actions, func(a decision.Action) bool { return a.Target.Name == "old" })
	}
	if !shrinks() {
		t.Fatal("13 available, 8 are the floor, and no old pod goes")
	}
	least := int64(0)
	s.ReplicaSets[1].Least = &least
	if shrinks() {
		t.Fatal("old pods go although the new ones may be gone")
	}
	s.ReplicaSets[0].Least, s.ReplicaSets[1].Least = &least, nil
	if v := deployment.Decide(s); shrinks() || v.Leaf() != "RR-4" {
		t.Fatalf("old pods go although others of them may be gone; it ends at %s", v.Leaf())
	}
}
