package parity

import (
	"fmt"
	"sync"
	"testing"

	"github.com/loopscope/loopscope/controllers/agreement"
	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// mostProblems bounds what a run prints.
const mostProblems = 20

// accounts holds what our loops say of every sync of this run against itself.
type accounts struct {
	mu       sync.Mutex
	checked  map[string]int // syncs by loop
	without  int            // syncs that failed before there was a snapshot
	missed   uint64
	problems []string
}

func (a *accounts) add(trace *telemetry.Trace) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if trace.Snapshot.IsZero() {
		a.without++
		return
	}
	account, err := accountOf(trace)
	if err != nil {
		a.problems = append(a.problems, fmt.Sprintf("%s %s: %v", trace.Loop, trace.Key(), err))
		return
	}
	if a.checked == nil {
		a.checked = map[string]int{}
	}
	a.checked[trace.Loop]++
	for _, problem := range account.Contradictions() {
		a.problems = append(a.problems, fmt.Sprintf("%s %s, sync %d: %s\n\tit says: %s", trace.Loop, trace.Key(), trace.Seq, problem, trace.Sentence.At(trace.Ended)))
	}
}

func (a *accounts) miss(n uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.missed += n
}

// accountOf is what a sync says, with everything that its snapshot tells.
func accountOf(trace *telemetry.Trace) (*agreement.Account, error) {
	text := trace.Snapshot.JSON()
	a := &agreement.Account{Rounds: trace.Rounds, Sentence: trace.Sentence, Estimate: trace.Estimate}
	if trace.Loop == "deployment" {
		s, err := deployment.Decode(text)
		if err != nil {
			return nil, err
		}
		var learnt decision.Learnt
		if n := len(trace.Rounds); n > 0 {
			learnt = trace.Rounds[n-1].Learnt
		}
		a.Diagnosis, a.Now = deployment.Diagnose(s, learnt), s.Now
		return a, nil
	}
	s, err := replicaset.Decode(text)
	if err != nil {
		return nil, err
	}
	a.Diagnosis, a.Now = replicaset.Found(s, trace.Rounds), s.Now
	return a, nil
}

// report fails the test for what contradicts itself, and says how much was looked at.
func (a *accounts) report(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, problem := range a.problems[:min(len(a.problems), mostProblems)] {
		t.Error(problem)
	}
	all := 0
	for _, n := range a.checked {
		all += n
	}
	t.Logf("%d syncs were held against themselves (%v), %d problems; %d had no snapshot, %d were missed", all, a.checked, len(a.problems), a.without, a.missed)
	if all == 0 {
		t.Error("no sync was looked at")
	}
}

// TestAccountsFindContradictions: a sentence that names what is not found is seen.
func TestAccountsFindContradictions(t *testing.T) {
	trace := &telemetry.Trace{Object: telemetry.Object{Loop: "replicaset", Namespace: "shop", Name: "web"},
		Sentence: decision.Sentence{Code: "image-pull", Tone: decision.ToneWaiting, Lead: decision.Words{}.Say("1 pod cannot pull its image")}}
	var a accounts
	a.add(trace)
	if a.without != 1 || len(a.problems) != 0 {
		t.Fatalf("without a snapshot: %+v", a.problems)
	}
	trace.Snapshot = telemetry.SnapshotText([]byte(`{"v":1,"now":"2026-11-21T03:13:00Z","kind":"ReplicaSet","found":true,"namespace":"shop","name":"web","want":1,"burst":500}`))
	a.add(trace)
	if a.checked["replicaset"] != 1 || len(a.problems) != 2 {
		t.Fatalf("found %q", a.problems)
	}
}
