package controllers

import (
	"runtime"
	"testing"
	"weak"

	"github.com/loopscope/loopscope/controllers/decision"
	"github.com/loopscope/loopscope/telemetry"
)

// What is recorded of a sync keeps none of the rest alive: neither the turn nor
// the objects of the caches that it looked at, of which thousands would gather.
func TestTheRecordKeepsNoTurnAlive(t *testing.T) {
	caches := newCaches(t)
	caches.add(t, deploymentNamed("web", "d", "RollingUpdate"), controllerNamed("web", "r", "8", 3))
	deployment, traceOfOne := recordedTurn(t, func() (*deploymentTurn, error) {
		turn, err := caches.deployments.observe(t.Context(), "shop/web")
		return turn.(*deploymentTurn), err
	})
	controller, traceOfOther := recordedTurn(t, func() (*replicaSetTurn, error) { return turnOf(t, caches), nil })
	runtime.GC()
	if deployment.Value() != nil {
		t.Error("the turn of a Deployment is still there")
	}
	if controller.Value() != nil {
		t.Error("the turn of a ReplicationController is still there")
	}
	runtime.KeepAlive(traceOfOne)
	runtime.KeepAlive(traceOfOther)
}

// recordedTurn runs the pure part of a sync.
//
//go:noinline
func recordedTurn[T any, P interface {
	*T
	turn
}](t *testing.T, observe func() (P, error)) (weak.Pointer[T], *telemetry.Trace) {
	t.Helper()
	turn, err := observe()
	if err != nil {
		t.Fatal(err)
	}
	trace := &telemetry.Trace{Rounds: []decision.Round{{Verdict: turn.decide()}}}
	for range trace.Rounds[0].Verdict.Actions {
		trace.Rounds[0].Outcomes = append(trace.Rounds[0].Outcomes, decision.Outcome{State: decision.NotTried})
	}
	trace.Report = turn.settle(trace.Rounds)
	told := turn.tell(trace.Rounds, trace.Report, trace.Try)
	trace.Numbers, trace.Estimate, trace.Sentence = told.Numbers, told.Estimate, told.Sentence
	if trace.Snapshot, err = turn.snapshot(); err != nil {
		t.Fatal(err)
	}
	return weak.Make((*T)(turn)), trace
}
