package deployment_test

import (
	"fmt"
	"slices"
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

// TestResumingEnds: in a pause it is said that resuming helps where it does, and not where the new pods could not be
// created either, or Recreate waits for a node that does not answer.
func TestResumingEnds(t *testing.T) {
	const full, large = "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3", "exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=0, limited: requests.cpu=2"
	const forbidden, ending = `User "u" cannot create resource "pods" in API group "" in the namespace "shop"`, `pods "a" is forbidden: unable to create new content in namespace shop because it is being terminated`
	const all, only = "when all of them are resolved or the rollout is resumed", "only when all of them are resolved"
	for name, c := range map[string]struct {
		strategy, refusal string
		pods              []string
		want              string
	}{
		"quota":                      {"RollingUpdate", full, nil, "unblocks when the quota leaves room"},
		"quota and a crash":          {"RollingUpdate", full, []string{"CrashLoopBackOff"}, "unblocks when the quota leaves room and when it stays up or the rollout is resumed"},
		"too large and a crash":      {"RollingUpdate", large, []string{"CrashLoopBackOff"}, "unblocks " + only},
		"forbidden":                  {"RollingUpdate", forbidden, nil, "unblocks when it is granted that permission"},
		"forbidden and a crash":      {"RollingUpdate", forbidden, []string{"CrashLoopBackOff"}, "unblocks " + only},
		"namespace and a crash":      {"RollingUpdate", ending, []string{"CrashLoopBackOff"}, "unblocks " + only},
		"policy and a crash":         {"RollingUpdate", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", []string{"CrashLoopBackOff"}, "unblocks " + all},
		"gate and a node":            {"RollingUpdate", "", []string{"SchedulingGated", "NodeLost"}, "recovers " + all},
		"gate and a node, Recreate":  {"Recreate", "", []string{"SchedulingGated", "NodeLost"}, "recovers " + only},
		"gate and a crash, Recreate": {"Recreate", "", []string{"SchedulingGated", "CrashLoopBackOff"}, "recovers " + all},
	} {
		s := rolling()
		s.Paused, s.Strategy = true, c.strategy
		s.ReplicaSets = slices.DeleteFunc(s.ReplicaSets, func(rs deployment.ReplicaSet) bool { return rs.SameTemplate })
		was := set(s, false)
		for i, reason := range c.pods {
			was.Blocking = append(was.Blocking, deployment.Pod{Name: fmt.Sprint("old-", i), Created: s.Now.Add(-time.Hour), Phase: "Running", Node: "node-1", Reason: reason})
		}
		was.Unavailable = int64(len(c.pods))
		was.Replicas, was.StatusReplicas = was.Unavailable, was.Unavailable
		if c.refusal != "" {
			was.Replicas += 2
			was.Failure = &decision.Condition{Reason: "FailedCreate", Message: c.refusal}
		}
		was.Ready, was.Available, s.Want, was.Desired = 0, 0, was.Replicas, digits(was.Replicas)
		p := run(s, decision.Try{}, nil, decision.Nobody)
		for _, problem := range p.problems() {
			t.Errorf("%s: %s", name, problem)
		}
		if got := p.sentence.Then.At(s.Now); got != "Needs action: "+c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRefusedWithOthersOfTheTemplate: where no pod of a template has become ready and some cannot pull its image, room
// in a quota for the others ends nothing.
func TestRefusedWithOthersOfTheTemplate(t *testing.T) {
	const image, quota = "when that image exists or the template changes", "when the quota leaves room"
	for name, c := range map[string]struct {
		exist, ready   int64
		then, held     string
		code           string
		maxUnavailable int64
	}{
		"enough pull it":            {2, 0, image, image, "image-pull", 2},
		"too few pull it":           {1, 0, quota + " and " + image, quota + " and " + image, "quota", 1},
		"others of it became ready": {3, 1, quota, quota, "quota", 2},
	} {
		s := leavingOne(7)
		s.MaxUnavailable = &deployment.IntOrPercent{Int: c.maxUnavailable}
		fresh := set(s, true)
		fresh.Replicas, fresh.StatusReplicas, fresh.Ready, fresh.Available, fresh.Unavailable = 6, c.exist, c.ready, c.ready, c.exist-c.ready
		for i := range c.exist - c.ready {
			fresh.Blocking = append(fresh.Blocking, deployment.Pod{Name: fmt.Sprint("new-", i), Created: s.Now.Add(-time.Hour), Phase: "Pending", Node: "node-1", Reason: "ErrImagePull", Message: "not found", Image: "web:404"})
		}
		fresh.Failure = &decision.Condition{Reason: "FailedCreate", Message: "exceeded quota: q, requested: pods=1, used: pods=12, limited: pods=10"}
		p := run(s, decision.Try{}, nil, decision.Nobody)
		for _, problem := range p.problems() {
			t.Errorf("%s: %s", name, problem)
		}
		if got := p.sentence.Then.At(s.Now); !strings.HasPrefix(got, "Needs action: unblocks "+c.then+"; deadline") {
			t.Errorf("%s: %q, want %q", name, got, c.then)
		}
		held := p.rounds[0].Verdict.Held
		h := held[len(held)-1]
		if got := h.Unblocks.At(s.Now); got != c.held || h.Code != c.code {
			t.Errorf("%s: held %s until %q, want %q", name, h.Code, got, c.held)
		}
	}
}

// TestUnreported: where no controller reports on the new ReplicaSet, that is found once pods usually exist, and after a
// minute somebody has to look. A process that has not seen when it was changed does not ask for that.
func TestUnreported(t *testing.T) {
	const named = "no controller has reported on ReplicaSet web-7d4b9c6f5x"
	for _, golden := range []string{"waiting-unreported", "waiting-unreported-size"} {
		s, err := deployment.Decode(readGolden(t, "testdata/golden/"+golden+".txtar").snapshot)
		if err != nil {
			t.Fatal(err)
		}
		find := func(progress time.Time) (said string, needsAction bool) {
			s.LastProgress = progress
			f := deployment.Diagnose(s, decision.Learnt{}).Findings[0]
			return f.After.At(s.Now), f.NeedsAction
		}
		for after, want := range map[time.Duration]struct{ said, needsAction bool }{20 * time.Second: {false, false}, 40 * time.Second: {true, false}, time.Minute: {true, true}} {
			if said, needs := find(s.Now.Add(-after)); strings.Contains(said, named) != want.said || needs != want.needsAction {
				t.Errorf("%s: after %s %q, needs action: %v", golden, after, said, needs)
			}
		}
		if said, needs := find(time.Time{}); needs != (golden == "waiting-unreported") {
			t.Errorf("%s: not seen, %q, needs action: %v", golden, said, needs)
		}
	}
}
