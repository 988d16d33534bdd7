package replicaset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// A snapshot is put back to before a change of a pod or of the ReplicaSet; it itself stays as it is.
func TestRewound(t *testing.T) {
	now := &replicaset.Snapshot{Kind: "ReplicaSet", Name: "web-1", RV: "9", Generation: 2, Want: 3, Pods: []replicaset.Pod{{Name: "b", RV: "5", Phase: "Running", Ready: true, Terminating: true}}, Siblings: map[string]int64{"n": 2}}
	before := &replicaset.Snapshot{Kind: "ReplicaSet", Name: "web-1", RV: "4", Want: 2, Pods: []replicaset.Pod{{Name: "a", RV: "3"}, {Name: "b", RV: "4", Phase: "Pending"}}, Siblings: map[string]int64{"n": 1}}
	rewound := func(s decision.Snapshot) *replicaset.Snapshot { x, _ := s.(*replicaset.Snapshot); return x }

	if s := rewound(now.Rewound("Pod", "b", before, nil)); s.Pods[0].Phase != "Pending" || s.Pods[0].RV != "4" {
		t.Errorf("a pod as it was: %+v", s.Pods)
	}
	if s := rewound(now.Rewound("Pod", "b", nil, []decision.Change{{Field: "status.phase", From: "Pending"}, {Field: "status.conditions[Ready]", From: "false"}, {Field: "metadata.deletionTimestamp"}, {Field: "spec.nodeName"}})); s.Pods[0].Phase != "Pending" || s.Pods[0].Ready || s.Pods[0].Terminating {
		t.Errorf("its fields: %+v", s.Pods)
	}
	for _, owner := range []struct {
		from, to string
		mine     bool
	}{{"", "web-1", false}, {"web-1", "", true}, {"web-2", "web-1", false}, {"", "", true}} {
		mine := *now
		mine.Pods = []replicaset.Pod{{Name: "b", RV: "5", Mine: owner.to != "" || owner.from == owner.to}}
		if s := rewound(mine.Rewound("Pod", "b", nil, []decision.Change{{Field: "metadata.ownerReferences", From: owner.from, To: owner.to}})); s.Pods[0].Mine != owner.mine {
			t.Errorf("owner %q before %q: %+v", owner.from, owner.to, s.Pods)
		}
	}
	if s := rewound(now.Rewound("Pod", "a", before, nil)); len(s.Pods) != 2 || s.Pods[0].Name != "a" || s.Pods[0].Terminating {
		t.Errorf("a deletion: %+v", s.Pods)
	}
	if s := rewound(now.Rewound("Pod", "a", before, []decision.Change{{Field: "metadata.deletionTimestamp", From: "set"}})); len(s.Pods) != 2 || !s.Pods[0].Terminating {
		t.Errorf("a deletion that was asked for: %+v", s.Pods)
	}
	if s := rewound(now.Without("Pod", "b")); len(s.Pods) != 0 {
		t.Errorf("a creation: %+v", s.Pods)
	}
	if s := rewound(now.Rewound("ReplicaSet", "web-1", before, nil)); s.Want != 2 || len(s.Pods) != 1 {
		t.Errorf("the ReplicaSet: %+v", s)
	}
	if s := rewound(now.Rewound("ReplicaSet", "web-1", nil, []decision.Change{{Field: "spec.replicas", From: "1"}, {Field: "status.readyReplicas", From: "7"}, {Field: "status.terminatingReplicas", From: "1"}, {Field: "status.conditions[ReplicaFailure]", From: "True FailedCreate"}})); s.Want != 1 || s.Generation != 1 || s.Status.Ready != 7 || *s.Status.Terminating != 1 || s.Status.Conditions[0].Reason != "FailedCreate" {
		t.Errorf("its fields: %+v", s)
	}
	at := time.Unix(7, 0)
	if s := rewound(now.AsOf(at, before)); !s.Now.Equal(at) || s.Siblings["n"] != 1 {
		t.Errorf("as of another moment: %+v", s)
	}
	if now.Rewound("Pod", "c", before, nil) != nil || now.Without("Pod", "c") != nil || now.Rewound("Deployment", "web", nil, nil) != nil {
		t.Error("what is not there was put back")
	}
	if v := now.VersionOf("ReplicaSet", "web-1") + now.VersionOf("Pod", "b") + now.VersionOf("Pod", "c"); v != "95" {
		t.Errorf("versions: %s", v)
	}
	if !now.Pods[0].Ready || now.Want != 3 || now.Status.Ready != 0 {
		t.Errorf("it was changed: %+v", now)
	}
}

// alikePods are pods that are ready, by name and UID, with how long they have been ready and how old they are.
func alikePods(at time.Time, minReady, want int64, list ...[2]any) *replicaset.Snapshot {
	s := &replicaset.Snapshot{Kind: "ReplicaSet", Now: at, Want: want, MinReady: minReady}
	for _, x := range list {
		ready, name := x[1].(time.Duration), x[0].(string)
		s.Pods = append(s.Pods, replicaset.Pod{Name: name[:1], UID: name[1:], RV: "1", Mine: true, Matches: true, Phase: "Running", Node: "n", Ready: true, ReadySince: at.Add(-ready), Created: at.Add(-time.Hour)})
	}
	return s
}

// Pods that became ready in one second and were created in one go in any order, and so do those
// between them; UIDs order the others.
func TestAlike(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	minute, more := time.Minute, time.Minute+time.Second
	for name, c := range map[string]struct {
		on   *replicaset.Snapshot
		of   string
		want string
	}{
		"a tie":           {alikePods(at, 0, 1, [2]any{"a1", minute}, [2]any{"b2", minute}), "b", "a b"},
		"an order by UID": {alikePods(at, 0, 1, [2]any{"a1", minute}, [2]any{"b2", more}), "b", "b"},
		"in between":      {alikePods(at, 0, 1, [2]any{"a1", minute}, [2]any{"b2", more}, [2]any{"c3", minute}), "b", "a b c"},
		"before a tie":    {alikePods(at, 0, 1, [2]any{"a0", more}, [2]any{"b2", minute}, [2]any{"c3", minute}), "a", "a"},
		"younger":         {alikePods(at, 0, 1, [2]any{"a9", time.Second}, [2]any{"b2", minute}), "a", "a"},
		"one not there":   {alikePods(at, 0, 1, [2]any{"a1", minute}), "x", ""},
	} {
		if got := strings.Join(c.on.Alike("Pod", c.of), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestDepartures: Kubernetes ranks pods that are not available yet as all others [P-5].
func TestDepartures(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	deletion := decision.Predictable{Aspect: decision.AspectDeletion, Of: "Pod"}
	settling := func(minReady int64) *replicaset.Snapshot {
		s := alikePods(at, minReady, 1, [2]any{"a1", time.Second}, [2]any{"b2", time.Minute})
		s.Pods[0].Cost = 5
		return s
	}
	// All are available, and became so in one second.
	tied := alikePods(at, 30, 2, [2]any{"a1", time.Minute}, [2]any{"b2", time.Minute}, [2]any{"c3", time.Minute})
	for name, c := range map[string]struct {
		on   *replicaset.Snapshot
		of   decision.Prediction
		want int
	}{
		"one of a tie":         {tied, decision.Prediction{Predictable: deletion, Name: "b"}, 0},
		"the cheaper one":      {settling(30), decision.Prediction{Predictable: deletion, Name: "b"}, 31},
		"the dearer one":       {settling(30), decision.Prediction{Predictable: deletion, Name: "a"}, 0},
		"all available":        {settling(0), decision.Prediction{Predictable: deletion, Name: "b"}, 0},
		"one not there":        {settling(30), decision.Prediction{Predictable: deletion, Name: "c"}, 0},
		"something else of it": {settling(30), decision.Prediction{Name: "b"}, 0},
	} {
		if c.on.DeletionCost = true; c.on.Departure(&c.of) != c.want {
			t.Errorf("%s: %d, want %d", name, c.on.Departure(&c.of), c.want)
		}
	}
}

// TestBeside: active pods count on their nodes, its own ones and those of siblings, each once.
func TestBeside(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	s, other := alikePods(at, 0, 1, [2]any{"a1", time.Minute}, [2]any{"b2", time.Minute}), alikePods(at, 0, 1, [2]any{"b2", time.Minute}, [2]any{"c3", time.Minute}, [2]any{"d4", time.Minute})
	other.Pods[2].Terminating = true
	if got := s.Beside([]decision.Snapshot{other}).(*replicaset.Snapshot).Siblings; len(got) != 1 || got["n"] != 3 || s.Siblings != nil {
		t.Errorf("%v", got)
	}
}
