package replicaset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What the ReplicaSet itself says was refused is nothing that nobody has written: [RS-9].
func TestRefused(t *testing.T) {
	pods := []replicaset.Pod{{Name: "a", Mine: true, Matches: true}, {Name: "b", Mine: true, Matches: true}, {Name: "c", Mine: true, Matches: true, Terminating: true}}
	for what, x := range map[string]struct {
		want           int64
		status, reason string
		refused        map[decision.Aspect]bool
	}{
		"pods are refused":                {3, "True", "FailedCreate", map[decision.Aspect]bool{decision.AspectCreation: true, decision.AspectConditions: true}},
		"all are there":                   {2, "True", "FailedCreate", nil},
		"deletions are refused":           {1, "True", "FailedDelete", map[decision.Aspect]bool{decision.AspectDeletion: true, decision.AspectConditions: true}},
		"deletions were, creation is due": {3, "True", "FailedDelete", nil},
		"it is over":                      {3, "False", "FailedCreate", nil},
	} {
		s := &replicaset.Snapshot{Kind: "ReplicaSet", Want: x.want, Pods: pods, Status: replicaset.Status{Conditions: []decision.Condition{{Type: "Other", Status: "True", Reason: "FailedCreate"}, {Type: "ReplicaFailure", Status: x.status, Reason: x.reason}}}}
		for _, aspect := range []decision.Aspect{decision.AspectCreation, decision.AspectDeletion, decision.AspectConditions, decision.AspectStatus, decision.AspectOwner} {
			p := decision.Prediction{Predictable: decision.Predictable{Aspect: aspect, Of: "Pod"}}
			if got := s.Refused(&p); got != x.refused[aspect] {
				t.Errorf("%s: %s refused: %t", what, aspect, got)
			}
		}
	}
	if (&replicaset.Snapshot{Want: 1}).Refused(&decision.Prediction{Predictable: decision.Predictable{Aspect: decision.AspectCreation}}) {
		t.Error("nothing was tried, and it is refused")
	}
}

// A sync that only plans says who refuses the pods, as the status has it from whoever tried.
func TestRefusedBefore(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	message := `pods "web-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`
	s := &replicaset.Snapshot{Now: at, Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", UID: "u", RV: "1", Found: true, Want: 5,
		Pods:   []replicaset.Pod{{Name: "a", Mine: true, Matches: true, Phase: "Running", Ready: true}},
		Status: replicaset.Status{Conditions: []decision.Condition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: message, Transition: at.Add(-time.Minute)}}}}
	say := func(outcomes ...decision.Outcome) string {
		sync := replicaset.NewSync(s)
		rounds := []decision.Round{{Verdict: sync.Decide(), Outcomes: outcomes}}
		return sync.Tell(rounds, sync.Settle(rounds), decision.Try{}, at).Sentence.At(at)
	}
	if got, want := say(), "quota small refuses 4 of 5 pods (pods: 3 of 3 used)"; !strings.Contains(got, want) {
		t.Errorf("it says %q, not %q", got, want)
	}
	if got := say(decision.Outcome{State: decision.Written, Done: 4}); strings.Contains(got, "refuses") {
		t.Errorf("written, it says %q", got)
	}
}

// TestDeletionRefusedBefore: the same of pods that it only plans to delete.
func TestDeletionRefusedBefore(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	message := `unable to delete pods: ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: not on a Sunday`
	s := &replicaset.Snapshot{Now: at, Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", UID: "u", RV: "1", Found: true, Want: 1, Burst: 500,
		Pods:   []replicaset.Pod{{Name: "a", UID: "a", Mine: true, Matches: true, Phase: "Running", Ready: true}, {Name: "b", UID: "b", Mine: true, Matches: true, Phase: "Running", Ready: true}},
		Status: replicaset.Status{Conditions: []decision.Condition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedDelete", Message: message, Transition: at.Add(-time.Minute)}}}}
	p := run(s, decision.Try{}, nil, func(decision.Verdict) ([]decision.Outcome, decision.Learnt) { return nil, decision.Learnt{} })
	const want = "shop/web-1 has failed: policy keep denies the deletion of 1 of 2 pods (not on a Sunday). Needs action: unblocks when the policy allows it."
	if got := p.sentence.At(at); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	checkNumbers(t, p)
	for _, problem := range p.contradictions() {
		t.Error(problem)
	}
}

// TestRefusedBesideNoNode: a quota that refuses pods hides nothing of those that there are.
func TestRefusedBesideNoNode(t *testing.T) {
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	quota := &decision.Failure{Code: 403, Message: `pods "web-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`}
	nowhere := func(name string) replicaset.Pod {
		return replicaset.Pod{Name: name, UID: name, Mine: true, Matches: true, Phase: "Pending", Created: at.Add(-time.Hour), Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."}
	}
	for _, c := range []struct {
		pods []replicaset.Pod
		want string
	}{
		{[]replicaset.Pod{nowhere("a"), nowhere("b")}, "quota small refuses 3 of 5 pods (pods: 2 of 2 used); 2 pods fit no node (all 3 nodes have too little cpu). Needs action: unblocks when the quota leaves room and when a node has more cpu free, or the template requests less and the pods are deleted."},
		{[]replicaset.Pod{nowhere("a"), {Name: "b", UID: "b", Mine: true, Matches: true, Phase: "Running", Ready: true}}, "quota small refuses 3 of 5 pods (pods: 2 of 2 used); pod a fits no node (all 3 nodes have too little cpu). Needs action: unblocks when the quota leaves room and when a node has more cpu free, or the template requests less and the pod is deleted."},
		{[]replicaset.Pod{{Name: "b", UID: "b", Mine: true, Matches: true, Phase: "Pending", Created: at}}, "quota small refuses 4 of 5 pods (pods: 2 of 2 used). Needs action: unblocks when the quota leaves room."},
	} {
		s := &replicaset.Snapshot{Now: at, Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", UID: "u", RV: "1", Found: true, Want: 5, Pods: c.pods}
		p := answered(s, decision.Try{}, decision.Outcome{State: decision.Refused, Failed: 1, Failure: quota})
		if got := p.sentence.At(at); got != "shop/web-1 has failed: "+c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		checkNumbers(t, p)
		for _, problem := range p.contradictions() {
			t.Error(problem)
		}
	}
}
