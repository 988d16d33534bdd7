package deployment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// large is a Deployment of 10 ReplicaSets and 500 pods in the middle of a
// rollout; 50 new pods are not available.
func large() *deployment.Snapshot {
	now := time.Date(2026, 11, 21, 3, 13, 0, 0, time.UTC)
	s := &deployment.Snapshot{Version: 1, Now: now, Found: true, Namespace: "shop", Name: "web", UID: "d", RV: "1", Generation: 9,
		Strategy: "RollingUpdate", Want: 500, MaxSurge: &deployment.IntOrPercent{Percent: "10%"}, MaxUnavailable: &deployment.IntOrPercent{Percent: "0%"},
		Deadline: new(int64(600)), HistoryLimit: new(int64(10)), Revision: "10",
		Status: deployment.Status{ObservedGeneration: 9, Replicas: 550, Updated: 250, Ready: 500, Available: 500, Unavailable: 50,
			Conditions: []decision.Condition{{Type: "Available", Status: "True", Reason: "MinimumReplicasAvailable"},
				{Type: "Progressing", Status: "True", Reason: "ReplicaSetUpdated", Updated: now.Add(-time.Minute)}}}}
	for i := range 10 {
		rs := deployment.ReplicaSet{Name: fmt.Sprintf("web-%d", i), UID: fmt.Sprint(i), RV: "1", Created: now.Add(time.Duration(i-20) * time.Hour),
			Mine: true, Matches: true, Revision: fmt.Sprint(i + 1), Desired: "500", Max: "550"}
		if i >= 8 {
			rs.Replicas, rs.StatusReplicas, rs.Available = 300, 300, 300
		}
		s.ReplicaSets = append(s.ReplicaSets, rs)
	}
	fresh := &s.ReplicaSets[9]
	fresh.SameTemplate, fresh.Replicas, fresh.Available, fresh.Unavailable = true, 250, 200, 50
	for i := range 50 {
		fresh.Blocking = append(fresh.Blocking, deployment.Pod{Name: fmt.Sprintf("web-9-%d", i), Reason: "ContainersNotReady", Created: now})
	}
	return s
}

func BenchmarkDecide(b *testing.B) {
	s := large()
	if v := deployment.Decide(s); v.Leaf() != "RR-4" || len(v.Held) != 2 {
		b.Fatalf("ends at %s with %d held writes", v.Leaf(), len(v.Held))
	}
	b.ReportAllocs()
	for b.Loop() {
		deployment.Decide(s)
	}
}

// BenchmarkDecideAndSettle is a sync without what is said of it.
func BenchmarkDecideAndSettle(b *testing.B) {
	s := large()
	b.ReportAllocs()
	for b.Loop() {
		x := decision.Sync{Core: deployment.NewSync(s)}
		x.Run(decision.Nobody)
	}
}

// BenchmarkSync is everything pure of one sync.
func BenchmarkSync(b *testing.B) {
	s := large()
	b.ReportAllocs()
	for b.Loop() {
		x := decision.Sync{Core: deployment.NewSync(s)}
		x.Run(decision.Nobody)
		x.Tell(decision.Try{}, s.Now)
	}
}
