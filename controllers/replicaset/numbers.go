package replicaset

import (
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Numbers are the key numbers of the object as facts of this sync.
func Numbers(s *Snapshot) []decision.Fact { return numbers(s, Diagnose(s)) }

// numbers counts with what is known to keep the pods.
func numbers(s *Snapshot, waiting decision.Diagnosis) []decision.Fact {
	t := count(s)
	facts := []decision.Fact{
		decision.Count("wanted", s.Want),
		decision.Count("pods", t.pods),
		decision.Count("ready", t.ready),
		decision.Count("available", t.available),
		decision.Count("terminating", t.terminating),
	}
	if t.ended > 0 {
		facts = append(facts, decision.Count(factEnded, t.ended))
	}
	if s.Deletion != nil {
		facts = append(facts, decision.Count(decision.FactBlocking, s.Deletion.Blocking))
	}
	return append(append(facts, s.Recent.Facts()...), waiting.Facts()...)
}
