package telemetry

import (
	"testing"
	"time"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestBeatsOfEvents tells what others did, and of a pod's changes the one that matters most.
func TestBeatsOfEvents(t *testing.T) {
	field := func(name, from, to string) []decision.Change {
		return []decision.Change{{Field: name, From: from, To: to}}
	}
	several := func(n int) (list []decision.Change) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"}[:n] {
			list = append(list, decision.Change{Field: name})
		}
		return list
	}
	for _, c := range []struct {
		cause Cause
		want  string
	}{
		{Cause{Kind: CauseDeleted, Object: "ReplicaSet web-1", Manager: "kubectl"}, "ReplicaSet web-1 was deleted"},
		{Cause{Kind: CauseTombstone, Object: "ReplicaSet web-1"}, "ReplicaSet web-1 was deleted while the watch was down"},
		{Cause{Kind: CauseStart, Object: "Deployment web"}, "Deployment web start"},
		{Cause{Kind: CauseAdded, Object: "Node"}, "Node was created"},
		{Cause{Kind: CauseAdded, Object: "Deployment web", Fields: field("metadata.deletionTimestamp", "", "")}, "Deployment web was created: metadata.deletionTimestamp"},
		{Cause{Kind: CauseModified, Object: "Deployment web", Manager: "m", Fields: several(4)}, "Deployment web was changed by m: a, b, c, d"},
		{Cause{Kind: CauseModified, Object: "Deployment web", Manager: "m", Fields: append(field("spec.template.image", "1", "2"), field("spec.template", "", "")...)}, "Deployment web was changed by m: spec.template.image 1 → 2"},
		{Cause{Kind: CauseModified, Object: "Deployment web", Manager: "m", Fields: field("spec.template", "", "")}, "Deployment web was changed by m: spec.template"},
		{Cause{Kind: CauseModified, Object: "Deployment web", Manager: "m", Fields: several(6)}, "Deployment web was changed by m: a, b, c, d and 2 more"},
		{Cause{Kind: CauseModified, Object: "Deployment web", Manager: "m", Fields: field("a", "1", "")}, "Deployment web was changed by m: a 1 → none"},
		{Cause{Kind: CauseModified, Object: "Deployment web", Manager: "m", Fields: field("a", "", "1")}, "Deployment web was changed by m: a none → 1"},
		{Cause{Kind: CauseAdded, Object: "Pod x"}, "Pod x was created"},
		{Cause{Kind: CauseDeleted, Object: "Pod x"}, "Pod x is gone"},
		{Cause{Kind: CauseTombstone, Object: "Pod x"}, "Pod x is gone"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("metadata.deletionTimestamp", "", "")}, "Pod x is terminating"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("status.conditions[Ready]", "false", "true")}, "Pod x became ready"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("status.conditions[Ready]", "true", "false")}, "Pod x is no longer ready"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("status.reason", "", "ImagePullBackOff")}, "Pod x waits: ImagePullBackOff"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("status.reason", "ImagePullBackOff", "")}, "Pod x changed: status.reason ImagePullBackOff → none"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("spec.nodeName", "", "node-1")}, "Pod x was scheduled to node node-1"},
		{Cause{Kind: CauseModified, Object: "Pod x", Fields: field("status.phase", "Pending", "Running")}, "Pod x changed: status.phase Pending → Running"},
		{Cause{Kind: CauseModified, Object: "Pod x"}, "Pod x changed"},
	} {
		b := Beat{Kind: BeatChange, Cause: &c.cause}
		if c.cause.Object[:3] == "Pod" {
			b.Kind = BeatPod
		}
		if got := b.Tell().At(time.Time{}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestBeatsOfSyncs tells every write with its answer, pods that were written alike as one,
// what was held back, and otherwise why nothing was written.
func TestBeatsOfSyncs(t *testing.T) {
	write := func(kind decision.ActionKind, object string, state decision.State) Write {
		return Write{Kind: kind, Object: object, State: state}
	}
	pod := func(name string, state decision.State) Write { return write(decision.CreatePods, "Pod "+name, state) }
	counted := func(n int64, state decision.State) Write {
		w := write(decision.CreatePods, "Pod", state)
		w.Count = n
		return w
	}
	with := func(w Write, change func(*Write)) Write { change(&w); return w }
	set := decision.Ref{Kind: "ReplicaSet", Name: "web-0"}
	no := &decision.Failure{Message: "Post x: exceeded quota"}
	cut := &decision.Failure{Reason: decision.Unreachable, Message: "Post x: EOF"}
	for _, c := range []struct {
		want string
		beat Beat
	}{
		{": nothing to write", Beat{}},
		{": it broke", Beat{Sync: &Hit{Error: "it broke"}}},
		{": held back ReplicaSet web-0 3 → 1 (readiness), creating ReplicaSet web-0 (echo), deleting ReplicaSet web-0 (old)", Beat{Sync: &Hit{Error: "beside it"}, Held: []decision.Held{
			{Kind: decision.UpdateReplicaSet, Target: set, Size: &decision.Size{From: 3, To: 1}, Code: "readiness"},
			{Kind: decision.CreateReplicaSet, Target: set, Code: "echo"}, {Kind: decision.DeleteReplicaSet, Target: set, Code: "old"}}}},
		{": deleted ReplicaSet web-1; held back: ReplicaSet web-0 (readiness)", Beat{Writes: []Write{write(decision.DeleteReplicaSet, "ReplicaSet web-1", decision.Written)},
			Held: []decision.Held{{Kind: decision.UpdateReplicaSet, Target: set, Code: "readiness"}}}},
		{": created Pod a, b; deleted Pod c", Beat{Writes: []Write{pod("a", decision.Written), pod("b", decision.Written), write(decision.DeletePods, "Pod c", decision.Written)}}},
		{": created Pod a; could not create Pod b: refused; created Pod c", Beat{Writes: []Write{pod("a", decision.Written), pod("b", decision.Refused), pod("c", decision.Written)}}},
		{": adopted Pod a", Beat{Sync: &Hit{Error: "beside it"}, Writes: []Write{write(decision.Adopt, "Pod a", decision.Written)}}},
		{": created Pod a (rv 5)", Beat{Writes: []Write{with(pod("a", decision.Written), func(w *Write) { w.RV = "5" })}}},
		{": created Pod a, b", Beat{Writes: []Write{with(pod("a", decision.Written), func(w *Write) { w.RV = "5" }), pod("b", decision.Written)}}},
		{": created 1 Pod; created 2 Pods", Beat{Writes: []Write{counted(1, decision.Written), counted(2, decision.Written)}}},
		{": wrote ReplicaSet a; wrote ReplicaSet b", Beat{Writes: []Write{write(decision.UpdateReplicaSet, "ReplicaSet a", decision.Written), write(decision.UpdateReplicaSet, "ReplicaSet b", decision.Written)}}},
		{": could not publish its status: Post x: exceeded quota", Beat{Writes: []Write{with(write(WriteStatus, "Deployment web", decision.Refused), func(w *Write) { w.Failure = no })}}},
		{": scaled ReplicationController a: spec.replicas 1 → 2", Beat{Writes: []Write{with(write(decision.Scale, "ReplicationController a", decision.Written), func(w *Write) {
			w.Changes = []decision.Change{{Field: "metadata.annotations[x]", To: "note"}, {Field: "spec.replicas", From: "1", To: "2"}}
		})}}},
		{": published the status of ReplicaSet a", Beat{Writes: []Write{with(write(WriteStatus, "ReplicaSet a", decision.Written), func(w *Write) { w.Question = "RS-9" })}}},
		{": wrote ReplicaSet a: metadata.annotations[x] none → note, spec.replicas 1 → 2", Beat{Writes: []Write{with(write(decision.UpdateReplicaSet, "ReplicaSet a", decision.Written), func(w *Write) {
			w.Changes = []decision.Change{{Field: "metadata.annotations[x]", To: "note"}, {Field: "spec.replicas", From: "1", To: "2"}}
		})}}},
		{": could not adopt ReplicaSet a: it is already gone", Beat{Writes: []Write{write(decision.Adopt, "ReplicaSet a", decision.Tolerated)}}},
		{": could not create 2 Pods: unanswered (exceeded quota)", Beat{Writes: []Write{with(counted(2, decision.Unanswered), func(w *Write) { w.Failure = no })}}},
		{": may have created 2 Pods: Post x: EOF", Beat{Writes: []Write{with(counted(2, decision.Unknown), func(w *Write) { w.Failure = cut })}}},
		{": may have written ReplicaSet a: Post x: EOF", Beat{Writes: []Write{with(write(decision.UpdateReplicaSet, "ReplicaSet a", decision.Unknown), func(w *Write) { w.Failure = cut })}}},
		{": could not create 2 Pods: unanswered", Beat{Writes: []Write{counted(2, decision.Unanswered)}}},
		{": could not write ReplicaSet a: helm wrote it first (rv 9)", Beat{Writes: []Write{with(write(decision.UpdateReplicaSet, "ReplicaSet a", decision.Conflicted), func(w *Write) {
			w.Other, w.Failure = &decision.Writer{Manager: "helm", RV: "9"}, no
		})}}},
		{": could not write ReplicaSet a: conflict", Beat{Writes: []Write{with(write(decision.UpdateReplicaSet, "ReplicaSet a", decision.Conflicted), func(w *Write) { w.Other = &decision.Writer{} })}}},
	} {
		b := c.beat
		b.Kind, b.Object = BeatSync, "Deployment web"
		if b.Sync == nil {
			b.Sync = &Hit{}
		}
		if got, want := b.Tell().At(time.Time{}), "Deployment web"+c.want; got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
