package controllers

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// What is recorded of a sync keeps none of the rest alive: neither the turn nor
// the objects of the caches that it looked at, of which thousands would gather.
func TestTheRecordKeepsNoTurnAlive(t *testing.T) {
	caches := newCaches(t)
	caches.add(t, lab.Deployment("web", "d", "RollingUpdate"), controllerNamed("web", "r", "8", 3))
	deployment, traceOfOne := recordedTurn(t, func() (*deploymentSync, error) {
		target, err := caches.deployments.Observe(t.Context(), "shop/web")
		return target.(*deploymentSync), err
	})
	controller, traceOfOther := recordedTurn(t, func() (*replicaSetSync, error) { return turnOf(t, caches), nil })
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
	engine.Sync
}](t *testing.T, observe func() (P, error)) (weak.Pointer[T], *telemetry.Trace) {
	t.Helper()
	target, err := observe()
	if err != nil {
		t.Fatal(err)
	}
	s := decision.Sync{Core: target.Core()}
	s.Run(func(v decision.Verdict) ([]decision.Outcome, decision.Learnt) {
		return slices.Repeat([]decision.Outcome{{State: decision.NotTried}}, len(v.Actions)), decision.Learnt{}
	})
	told := s.Tell(decision.Try{}, target.Now())
	trace := &telemetry.Trace{Rounds: s.Rounds, Report: s.Report, Numbers: told.Numbers, Sentence: told.Sentence}
	if trace.Snapshot, err = target.Snapshot(); err != nil {
		t.Fatal(err)
	}
	return weak.Make((*T)(target)), trace
}
