package effects_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopscope/loopscope/controllers/family"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// TestShadowOfAPodThatEnds: another controller's status that tells of what a pod was on the way to its end agrees, where
// the next sync here comes only after it.
func TestShadowOfAPodThatEnds(t *testing.T) {
	running := func(name string) replicaset.Pod {
		return replicaset.Pod{Name: name, UID: name, RV: "5", Mine: true, Matches: true, FullLabels: true, Phase: "Running", Node: "n", Ready: true}
	}
	starting := running("b")
	starting.Phase, starting.Ready = "Pending", false
	modified := func(was, is string, fields ...decision.Change) telemetry.Cause {
		return telemetry.Cause{Kind: telemetry.CauseModified, Object: "Pod b", OldRV: was, NewRV: is, Fields: fields}
	}
	asked := decision.Change{Field: "metadata.deletionTimestamp"}
	starts := []decision.Change{{Field: "status.phase", From: "Pending", To: "Running"}, {Field: "status.conditions[Ready]", From: "false", To: "true"}}
	for name, c := range map[string]struct {
		seen    replicaset.Pod
		before  []telemetry.Cause // its changes before the status was written
		was, is counted
		after   []telemetry.Cause
		want    telemetry.ShadowVerdict
	}{
		"it terminates":             {running("b"), []telemetry.Cause{modified("5", "11", asked)}, counted{2, 2, 0}, counted{1, 1, 1}, nil, telemetry.ShadowAgrees},
		"it was ready in between":   {starting, []telemetry.Cause{modified("5", "11", starts...)}, counted{2, 1, 0}, counted{2, 2, 0}, []telemetry.Cause{modified("11", "14", asked)}, telemetry.ShadowAgrees},
		"it terminates, once ready": {starting, []telemetry.Cause{modified("5", "11", starts...), modified("11", "12", asked)}, counted{2, 2, 0}, counted{1, 1, 1}, nil, telemetry.ShadowAgrees},
		"one too many":              {running("b"), []telemetry.Cause{modified("5", "11", asked)}, counted{2, 2, 0}, counted{1, 1, 2}, nil, telemetry.ShadowUnexplained},
		"it was never ready":        {starting, []telemetry.Cause{modified("5", "11", asked)}, counted{2, 1, 0}, counted{2, 2, 0}, nil, telemetry.ShadowUnexplained},
	} {
		shadow, at := telemetry.NewShadow(decision.Loops{replicaset.Loop}), time.Date(2026, time.November, 21, 3, 0, 0, 0, time.UTC)
		sync := func(rv string, status counted, causes []telemetry.Cause, pods ...replicaset.Pod) {
			at = at.Add(time.Second)
			shadow.Add([]*telemetry.Trace{watched(t, at, rv, status.decidedOn(), causes, pods...)}, 0)
		}
		sync("9", c.was, nil, running("a"), c.seen)
		causes := append(c.before, telemetry.Cause{Kind: telemetry.CauseModified, Object: "ReplicaSet web", OldRV: "9", NewRV: "13", Manager: telemetry.ControllerManager,
			Fields: family.ReplicaSetFields(c.was.published(), c.is.published())})
		sync("13", c.is, append(append(causes, c.after...), telemetry.Cause{Kind: telemetry.CauseDeleted, Object: "Pod b", OldRV: "15"}), running("a"))

		wantStatus(t, name, shadow.State(at.Add(telemetry.ShadowSettles+1)), c.want)
	}
}

// TestShadowOfAPodBeforeItsReplicaSet: another controller's status that does not tell of a pod agrees, where the pod's event
// came here before that of its ReplicaSet and caused no sync.
func TestShadowOfAPodBeforeItsReplicaSet(t *testing.T) {
	for rv, want := range map[string]telemetry.ShadowVerdict{"666": telemetry.ShadowBehind, "664": telemetry.ShadowUnexplained} {
		shadow, at := telemetry.NewShadow(decision.Loops{replicaset.Loop}), time.Date(2026, time.November, 21, 3, 0, 0, 0, time.UTC)
		pod := replicaset.Pod{Name: "a", UID: "a", RV: rv, Mine: true, Matches: true, FullLabels: true, Phase: "Pending"}
		none := counted{0, 0, 0}
		shadow.Add([]*telemetry.Trace{watched(t, at, "665", replicaset.Status{}, []telemetry.Cause{{Kind: telemetry.CauseAdded, Object: "ReplicaSet web", NewRV: "665"}}, pod)}, 0)
		at = at.Add(time.Second)
		shadow.Add([]*telemetry.Trace{watched(t, at, "669", none.decidedOn(), []telemetry.Cause{{Kind: telemetry.CauseModified, Object: "ReplicaSet web", OldRV: "665", NewRV: "669",
			Manager: telemetry.ControllerManager, Fields: family.ReplicaSetFields(&appsv1.ReplicaSet{}, none.published())}}, pod)}, 0)
		wantStatus(t, "pod "+rv, shadow.State(at.Add(telemetry.ShadowSettles+1)), want)
	}
}

// watched is a sync that decides on a ReplicaSet of these pods, and does nothing.
func watched(t *testing.T, at time.Time, rv string, status replicaset.Status, causes []telemetry.Cause, pods ...replicaset.Pod) *telemetry.Trace {
	t.Helper()
	for i := range causes {
		causes[i].At = at
	}
	on := &replicaset.Snapshot{Version: replicaset.SnapshotVersion, Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "web", RV: rv, Now: at, Found: true, Generation: 1,
		Want: 2, Burst: 500, CountTerminating: true, Pods: pods, Status: status}
	x := &telemetry.Trace{Epoch: "e", Seq: uint64(at.Unix()), Object: telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web"}, Causes: causes, Ended: at}
	var err error
	if x.Snapshot, err = telemetry.SnapshotOf(on); err != nil {
		t.Fatal(err)
	}
	run := decision.Sync{Core: on.Begin()}
	run.Run(decision.Nobody)
	x.Rounds, x.Report = run.Rounds, run.Report
	return x
}

// wantStatus checks that one status was compared with that verdict.
func wantStatus(t *testing.T, name string, state telemetry.ShadowState, want telemetry.ShadowVerdict) {
	t.Helper()
	got := uint64(0)
	for _, q := range state.Questions {
		if q.Aspect == decision.AspectStatus {
			got += q.Counts[want]
		}
	}
	if got != 1 {
		t.Errorf("%s: the status does not come out as %s: %+v", name, want, state)
	}
}

// counted are the pods of a status, those of them that are ready, and those that are terminating.
type counted struct{ pods, ready, terminating int32 }

func (c counted) published() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: c.pods, FullyLabeledReplicas: c.pods, ReadyReplicas: c.ready, AvailableReplicas: c.ready, TerminatingReplicas: &c.terminating}}
}

func (c counted) decidedOn() replicaset.Status {
	pods, ready, terminating := int64(c.pods), int64(c.ready), int64(c.terminating)
	return replicaset.Status{ObservedGeneration: 1, Replicas: pods, FullyLabeled: pods, Ready: ready, Available: ready, Terminating: &terminating}
}
