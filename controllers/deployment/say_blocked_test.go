package deployment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// leavingOne is a rollout of which an old pod is terminating.
func leavingOne(size int64) *deployment.Snapshot {
	s := rolling()
	s.MaxUnavailable = &deployment.IntOrPercent{Int: 2}
	was := set(s, false)
	was.Replicas, was.StatusReplicas, was.Ready, was.Available = size, size, size, size
	was.TerminatingNow, was.TerminatingPods = 1, []decision.TerminatingPod{{Name: "old-a", Until: s.Now.Add(time.Minute)}}
	return s
}

// TestRefusedUntilOthersAreGone: where a quota leaves enough new pods room when others are gone, one that crashes
// beside them makes nobody act.
func TestRefusedUntilOthersAreGone(t *testing.T) {
	for used, want := range map[string]string{
		"10": "Unblocks when the terminating pod is gone or the quota leaves room; deadline in ",
		"12": "Needs action: unblocks when the quota leaves room",
	} {
		s := leavingOne(7)
		fresh := set(s, true)
		fresh.Replicas, fresh.StatusReplicas, fresh.Ready, fresh.Available, fresh.Unavailable = 6, 2, 1, 1, 1
		fresh.Blocking = []deployment.Pod{{Name: "new-a", Created: s.Now.Add(-time.Hour), Phase: "Running", Reason: "CrashLoopBackOff", ContainerState: decision.ContainerState{Exit: &decision.Exit{Code: 1, Restarts: 5}}}}
		fresh.Failure = &decision.Condition{Reason: "FailedCreate", Message: "exceeded quota: q, requested: pods=1, used: pods=" + used + ", limited: pods=10"}
		p := run(s, decision.Try{}, nil, decision.Nobody)
		for _, problem := range p.problems() {
			t.Errorf("%s used: %s", used, problem)
		}
		if got := p.sentence.Then.At(s.Now); !strings.HasPrefix(got, want) {
			t.Errorf("%s used: %q, want %q", used, got, want)
		}
	}
}

// TestNoEstimateWithoutANode: how long pods take to start says nothing of one that has no node.
func TestNoEstimateWithoutANode(t *testing.T) {
	for reason, want := range map[string]string{"Unschedulable": "unschedulable", "ContainersNotReady": decision.EstimateKnown} {
		s := leavingOne(0)
		s.Want = 4
		fresh := set(s, true)
		fresh.Replicas, fresh.StatusReplicas, fresh.Ready, fresh.Available, fresh.Unavailable = 4, 4, 3, 3, 1
		fresh.Desired, fresh.Max = "4", "5"
		fresh.Startup = &deployment.StartupTimes{Pods: 3, Fastest: 20 * time.Second, Slowest: 40 * time.Second}
		fresh.Blocking = []deployment.Pod{{Name: "new-d", Created: s.Now.Add(-15 * time.Second), Reason: reason, Message: "0/4 nodes are available: 4 node(s) didn't have free ports for the requested pod ports."}}
		p := run(s, decision.Try{}, nil, decision.Nobody)
		if p.estimate == nil || p.estimate.Code != want {
			t.Errorf("%s: %s, and the estimate is %+v, want %s", reason, p.sentence.Then.At(s.Now), p.estimate, want)
		}
	}
}
