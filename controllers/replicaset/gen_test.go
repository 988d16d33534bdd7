package replicaset_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// genPods draws pods with few different values, so that they collide in every criterion.
func genPods(t *rapid.T, least, most int) []replicaset.Pod {
	n := rapid.IntRange(least, most).Draw(t, "pods")
	uids := rapid.Permutation(make([]int, n)).Draw(t, "unused")
	for i := range uids {
		uids[i] = i
	}
	uids = rapid.Permutation(uids).Draw(t, "uids")
	pods := make([]replicaset.Pod, n)
	for i := range pods {
		pods[i] = genPod(t, fmt.Sprintf("p%02d", i), fmt.Sprintf("uid-%02d", uids[i]))
	}
	return pods
}

func genPod(t *rapid.T, name, uid string) replicaset.Pod {
	chance := func(what string, percent int) bool { return rapid.IntRange(1, 100).Draw(t, what) <= percent }
	ages := []time.Time{{}, now, now.Add(-time.Second), now.Add(-time.Hour), now.Add(-time.Hour - time.Second), now.Add(time.Minute)}
	p := replicaset.Pod{
		Name: name, UID: uid, RV: "7",
		Mine: chance("mine", 80), Matches: chance("matches", 80), FullLabels: chance("full", 80),
		Created:         rapid.SampledFrom(ages).Draw(t, "created"),
		Phase:           rapid.SampledFrom([]string{"Pending", "Unknown", "Running", "Running", "Running", "Failed"}).Draw(t, "phase"),
		Terminating:     chance("terminating", 15),
		Node:            rapid.SampledFrom([]string{"", "node-1", "node-1", "node-2"}).Draw(t, "node"),
		Cost:            rapid.Int64Range(-1, 1).Draw(t, "cost"),
		Restarts:        rapid.Int64Range(0, 2).Draw(t, "restarts"),
		SidecarRestarts: rapid.Int64Range(0, 1).Draw(t, "sidecarRestarts"),
		Reason:          rapid.SampledFrom([]string{"", "", "ImagePullBackOff", "Unschedulable", "ContainerCreating", "PodInitializing", "CrashLoopBackOff", "CreateContainerError"}).Draw(t, "reason"),
	}
	if chance("disrupted", 15) {
		p.Disruption = &decision.Disruption{Target: rapid.SampledFrom([]string{"", "PreemptionByScheduler", "EvictionByEvictionAPI"}).Draw(t, "target"),
			Reason: rapid.SampledFrom([]string{"Evicted", "OutOfcpu"}).Draw(t, "disruption"), At: rapid.SampledFrom(ages).Draw(t, "ended")}
	}
	if chance("ready", 60) {
		p.Ready, p.ReadySince = true, rapid.SampledFrom(ages).Draw(t, "readySince")
	}
	return p
}

// genSnapshot draws any snapshot that Decode would let through.
func genSnapshot(t *rapid.T) *replicaset.Snapshot {
	chance := func(what string, percent int) bool { return rapid.IntRange(1, 100).Draw(t, what) <= percent }
	s := sized(rapid.Int64Range(0, 40).Draw(t, "want"), genPods(t, 0, 30)...)
	s.UID, s.RV, s.Generation = "rs-1", "9", 2
	s.Burst = rapid.SampledFrom([]int64{1, 3, 500}).Draw(t, "burst")
	s.MinReady = rapid.SampledFrom([]int64{0, 0, 10, 5000}).Draw(t, "minReady")
	s.CountTerminating, s.DeletionCost = chance("countTerminating", 50), chance("deletionCost", 50)
	s.Deleting = chance("deleting", 10)
	if chance("siblings", 50) {
		s.Siblings = map[string]int64{"node-1": 2, "node-2": 1}
	}
	if chance("expecting", 25) {
		s.Expect = replicaset.Expectations{
			Creates: rapid.Int64Range(-1, 2).Draw(t, "creates"), Deletes: rapid.Int64Range(-1, 2).Draw(t, "deletes"),
			Since: now.Add(-time.Minute), Expires: rapid.SampledFrom([]time.Time{now.Add(-time.Second), now, now.Add(time.Minute)}).Draw(t, "expires"),
		}
	}
	if chance("echo", 10) {
		s.Echo = []replicaset.Echo{{Object: "ReplicaSet web", Written: "9", Cached: "8", Since: now.Add(-time.Second), Check: now.Add(time.Second)}}
	}
	if chance("failure", 20) {
		s.Status.Conditions = []decision.Condition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "old"}}
	}
	s.Status.Replicas = rapid.Int64Range(0, 3).Draw(t, "published")
	return s
}

// genOutcomes draws what acting may answer to a verdict, in the shell's manner:
// claims are all visited, and a failed run ends the round.
func genOutcomes(t *rapid.T, v decision.Verdict) []decision.Outcome {
	out := make([]decision.Outcome, len(v.Actions))
	failed := false
	for i, a := range v.Actions {
		if failed && a.Discipline != decision.VisitAll {
			out[i].State = decision.NotTried
			continue
		}
		out[i] = genOutcome(t, a)
		failed = failed || !out[i].OK()
	}
	return out
}

func genOutcome(t *rapid.T, a decision.Action) decision.Outcome {
	failure := &decision.Failure{Code: 403, Reason: "Forbidden", Message: "no 1 can", Terminal: rapid.Bool().Draw(t, "terminal")}
	switch rapid.IntRange(0, 5).Draw(t, "outcome") {
	case 0:
		return decision.Outcome{State: decision.Refused, Failed: 1, Failure: failure}
	case 1:
		return decision.Outcome{State: decision.Unknown}
	case 2:
		if a.Count > 1 {
			return decision.Outcome{State: decision.Partly, Done: 1, Failed: 1, Names: []string{"x1"}, Failure: failure}
		}
		return decision.Outcome{State: decision.Tolerated}
	default:
		return decision.Outcome{State: decision.Written, RV: "10", Done: a.Count, Names: []string{"x1"}}
	}
}
