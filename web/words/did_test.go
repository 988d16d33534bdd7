package words

import (
	"testing"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// did is a sync that did this, each action with its outcome.
func did(status bool, actions ...decision.Action) *telemetry.Trace {
	t := &telemetry.Trace{Result: telemetry.ResultUnchanged}
	round := decision.Round{Verdict: decision.Verdict{Actions: actions}}
	for _, a := range actions {
		round.Outcomes = append(round.Outcomes, decision.Outcome{State: decision.Written, Done: a.Count})
		t.Result = telemetry.ResultWrote
	}
	t.Rounds = []decision.Round{round}
	if status {
		t.Report, t.Result = &decision.Report{Outcome: &decision.Outcome{State: decision.Written}}, telemetry.ResultWrote
	}
	return t
}

func act(kind decision.ActionKind, object, name string) decision.Action {
	return decision.Action{Kind: kind, Target: decision.Ref{Kind: object, Name: name}}
}

func sized(kind decision.ActionKind, name string, from, to int64) decision.Action {
	a := act(kind, "ReplicaSet", name)
	a.Size = &decision.Size{From: from, To: to}
	return a
}

func counted(kind decision.ActionKind, n int64) decision.Action {
	return decision.Action{Kind: kind, Count: n, Target: decision.Ref{Kind: "ReplicaSet", Name: "web-1"}}
}

// TestDid: what a sync did is said in the past, things of a kind are counted, and names are whole.
func TestDid(t *testing.T) {
	pod := func(kind decision.ActionKind, name string) decision.Action { return act(kind, "Pod", name) }
	for want, x := range map[string]*telemetry.Trace{
		"nothing to write":   did(false),
		"updated the status": did(true),
		"created 500 pods":   did(false, counted(decision.CreatePods, 500)),
		"created 3 pods, deleted 1 pod and adopted pod orph3":                          did(false, counted(decision.CreatePods, 3), counted(decision.DeletePods, 1), pod(decision.Adopt, "orph3")),
		"released 2 pods and updated the status":                                       did(true, pod(decision.Release, "old-a"), pod(decision.Release, "old-b")),
		"deleted 4 pods and updated the status":                                        did(true, pod(decision.Delete, "a-1"), pod(decision.Delete, "a-2"), pod(decision.Delete, "a-3"), pod(decision.Delete, "a-4")),
		"labelled pod web-z85x7":                                                       did(false, pod(decision.Label, "web-z85x7")),
		"created ReplicaSet web-abc of size 0 and scaled def 4 → 3":                    did(false, sized(decision.CreateReplicaSet, "web-abc", 0, 0), sized(decision.UpdateReplicaSet, "web-def", 4, 3)),
		"updated ReplicaSet web-abc and updated Deployment web":                        did(false, sized(decision.UpdateReplicaSet, "web-abc", 3, 3), act(decision.UpdateDeployment, "Deployment", "web")),
		"updated the status of ReplicationController web":                              did(false, act(decision.UpdateStatus, "ReplicationController", "web")),
		"updated 2 ReplicationControllers":                                             did(false, act(decision.Update, "ReplicationController", "a"), act(decision.Update, "ReplicationController", "b"), act(decision.Update, "ReplicationController", "a")),
		"created ConfigMap a, deleted ConfigMap b, scaled c 1 → 2 and 3 more writes":   did(true, act(decision.Create, "ConfigMap", "a"), act(decision.Delete, "ConfigMap", "b"), sized(decision.Scale, "c", 1, 2), pod(decision.Label, "x"), pod(decision.Label, "y")),
		"created ConfigMap a, deleted ConfigMap b, labelled Secret c and 1 more write": did(true, act(decision.Create, "ConfigMap", "a"), act(decision.Delete, "ConfigMap", "b"), act(decision.Label, "Secret", "c")),
	} {
		if got := Did(x); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWouldHave: a sync that decided where nobody acts says what it would have done, in all the places that say what one did.
func TestWouldHave(t *testing.T) {
	untried := func(status bool, actions ...decision.Action) *telemetry.Trace {
		x := did(false, actions...)
		x.Result, x.Rounds[0].Outcomes = telemetry.ResultUnchanged, nil
		if status {
			x.Report = &decision.Report{Publish: true}
		}
		return x
	}
	for want, x := range map[string]*telemetry.Trace{
		"would have updated the status": untried(true),
		"would have scaled def 4 → 3":   untried(false, sized(decision.UpdateReplicaSet, "web-def", 4, 3)),
		"would have created 5 pods, deleted 2 pods and updated the status": untried(true, counted(decision.CreatePods, 5),
			decision.Action{Kind: decision.DeletePods, Victims: make([]decision.Victim, 2)}),
	} {
		hit := x.Hit(telemetry.ClassQuiet)
		if got := Did(x); got != want || SyncMark(x).Word != "would write" || HitMark(&hit) != SyncMark(x) {
			t.Errorf("%q, want %q; %v, %v", got, want, SyncMark(x), HitMark(&hit))
		}
	}
	if later := untried(false); Did(later) != "nothing to write" || SyncMark(later).Word != "nothing to write" {
		t.Errorf("one that decided nothing: %q", Did(later))
	}
}

// TestDidWrites: the writes of a step in a chain are said alike, each with its first change.
func TestDidWrites(t *testing.T) {
	write := func(kind decision.ActionKind, object string, changes ...decision.Change) telemetry.Write {
		return telemetry.Write{Kind: kind, Object: object, State: decision.Written, Changes: changes}
	}
	status := write(telemetry.WriteStatus, "ReplicaSet web-1", decision.Change{Field: "status.replicas", From: "1", To: "2"})
	pods := telemetry.Write{Kind: decision.CreatePods, Object: "Pod", Count: 2, State: decision.Written}
	refused := telemetry.Write{Kind: decision.CreatePods, Object: "Pod", Count: 2, State: decision.Refused}
	ended := func(s decision.State, w telemetry.Write) telemetry.Write { w.State = s; return w }
	conflict := ended(decision.Conflicted, status)
	of := write(telemetry.WriteStatus, "ReplicationController web")
	of.Question = "RU-9"
	for _, c := range []struct {
		writes []telemetry.Write
		want   string
	}{
		{nil, ""},
		{[]telemetry.Write{write(decision.Delete, "Pod web-z85x7"), write(decision.Delete, "Pod web-mzqw6"), write(decision.Delete, "Pod web-hp9xg"), write(decision.Delete, "Pod web-b"), status}, "deleted 4 pods and updated the status (replicas 1 → 2)"},
		{[]telemetry.Write{write(decision.CreatePods, "Pod web-a"), pods, refused}, "created 3 pods and could not create 2 pods (refused)"},
		{[]telemetry.Write{conflict}, "could not update the status (replicas 1 → 2; conflict)"},
		{[]telemetry.Write{ended(decision.Unknown, status)}, "may have updated the status (replicas 1 → 2; reply lost)"},
		{[]telemetry.Write{pods, ended(decision.Unknown, pods)}, "created 2 pods and may have created 2 pods (reply lost)"},
		{[]telemetry.Write{ended(decision.Tolerated, write(decision.DeleteReplicaSet, "ReplicaSet web-0"))}, "did not need to delete ReplicaSet web-0 (already gone)"},
		{[]telemetry.Write{ended(decision.Tolerated, write(decision.Adopt, "Pod orph3"))}, "could not adopt pod orph3 (already gone)"},
		{[]telemetry.Write{write(decision.Adopt, "Pod orph3")}, "adopted pod orph3"},
		{[]telemetry.Write{write(decision.UpdateReplicaSet, "ReplicaSet web-1", decision.Change{Field: "spec.replicas", From: "3", To: "2"}), of}, "updated ReplicaSet web-1 (replicas 3 → 2) and updated the status of ReplicationController web"},
	} {
		if got := DidWrites(c.writes, 3); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
