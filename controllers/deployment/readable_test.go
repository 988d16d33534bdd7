package deployment_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestSentencesRead: whatever pods are in the way, new ones and old ones, one or several of each, the sentence is
// English: see agreement.
func TestSentencesRead(t *testing.T) {
	var recorded []golden
	for _, name := range []string{"waiting-mixed", "deadline-over", "short", "settled", "quota", "min-ready", "paused-pending", "waiting-readiness-many", "recreate-ending", "recreate-starting"} {
		recorded = append(recorded, readGolden(t, "testdata/golden/"+name+".txtar"))
	}
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(recorded).Draw(t, "golden")
		s, err := deployment.Decode(g.snapshot)
		if err != nil {
			t.Fatal(err)
		}
		for _, same := range []bool{true, false} {
			rs := set(s, same)
			n := rapid.Int64Range(0, min(4, rs.StatusReplicas)).Draw(t, "pods")
			rs.Unavailable, rs.Blocking, rs.Available = n, nil, rs.StatusReplicas-n
			for i := range n {
				p := rapid.SampledFrom(inTheWay).Draw(t, "pod")
				p.Name, p.Created = fmt.Sprintf("pod-%v-%c", same, 'a'+rune(i)), s.Now.Add(-rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "age"))
				rs.Blocking = append(rs.Blocking, p)
			}
		}
		p := run(s, g.try, g.publish, answered(g.rounds, nil))
		for _, problem := range p.problems() {
			t.Fatal(problem)
		}
	})
}

// inTheWay are pods that are not available, of every kind.
var inTheWay = []deployment.Pod{
	{Phase: "Pending"},
	{Phase: "Pending", Node: "node-1", Reason: "ContainerCreating"},
	{Phase: "Pending", Node: "node-1", Reason: "PodInitializing"},
	{Phase: "Pending", Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."},
	{Phase: "Pending", Reason: "Unschedulable", Message: `0/3 nodes are available: persistentvolumeclaim "data" not found.`},
	{Phase: "Pending", Reason: "SchedulerError", Message: "binding rejected"},
	{Phase: "Pending", Reason: "SchedulingGated"},
	{Phase: "Pending", Node: "node-1", Reason: "ErrImagePull", Image: "web:9", Message: "not found"},
	{Phase: "Pending", Node: "node-1", Reason: "ImagePullBackOff", Image: "web:10", Message: "unauthorized"},
	{Phase: "Pending", Node: "node-1", Reason: "CreateContainerConfigError", Message: `configmap "app" not found`},
	{Phase: "Pending", Node: "node-1", Reason: "CreateContainerError", Message: "failed to reserve container name"},
	{Phase: "Running", Node: "node-1"},
	{Phase: "Running", Node: "node-1", Reason: "ContainersNotReady", Message: "containers with unready status: [app]"},
	{Phase: "Running", Node: "node-1", Reason: "Odd"},
	{Phase: "Running", Node: "node-1", Reason: "NodeLost"},
	{Phase: "Running", Node: "node-1", Reason: "ReadinessGatesNotReady", Message: `the status of pod readiness gate "example.com/lb" is not "True"`},
	{Phase: "Running", Node: "node-1", ContainerState: decision.ContainerState{Container: "app", Probe: "startup"}},
	{Phase: "Running", Node: "node-1", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "app", Exit: &decision.Exit{Code: 1, Restarts: 3}}},
	{Phase: "Running", Node: "node-1", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 137, Restarts: 1}}},
	{Phase: "Running", Node: "node-1", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "app", Exit: &decision.Exit{Restarts: 1}}},
	{Phase: "Running", Node: "node-1", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 137, Reason: "OOMKilled", Restarts: 2}}},
	{Phase: "Running", Node: "node-1", Reason: "RunContainerError", Message: "exec: no such file", ContainerState: decision.ContainerState{Container: "app"}},
	{Phase: "Pending", Node: "node-1", Reason: "PodInitializing", ContainerState: decision.ContainerState{Container: "setup", Role: decision.RoleInit}},
	{Phase: "Pending", Node: "node-1", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "setup", Role: decision.RoleInit, Exit: &decision.Exit{Code: 1, Restarts: 3}}},
	{Phase: "Running", Node: "node-1", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Container: "proxy", Role: decision.RoleSidecar, Exit: &decision.Exit{Code: 1, Restarts: 3}}},
}
