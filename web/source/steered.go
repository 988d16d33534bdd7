package source

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
)

// Steered are the objects of other loops that a sync worked on.
func (s *Source) Steered(t *telemetry.Trace) []telemetry.Object {
	if !s.Loops.Of(t.Loop).Steers() {
		return nil
	}
	if known, ok := s.steered.Get(t); ok {
		return known
	}
	list := t.Steered(s.Loops)
	s.steered.Put(t, list)
	return list
}

// SteeredBy is the newest sync of what works on an object: of several the one that is not at
// rest, or else the one that was synced last. Nil where nothing does.
func (s *Source) SteeredBy(o telemetry.Object) *telemetry.Trace {
	var best *telemetry.Trace
	for i := range s.Loops {
		if !s.Loops[i].Steers() {
			continue
		}
		for _, t := range s.Journal.Board().List(s.Loops[i].Name) {
			if t.Namespace == o.Namespace && slices.Contains(s.Steered(t), o) && (best == nil || moreOf(t, best)) {
				best = t
			}
		}
	}
	return best
}

// moreOf reports whether t says more of what becomes of an object than best does.
func moreOf(t, best *telemetry.Trace) bool {
	if rests, rested := t.Sentence.Tone == decision.ToneOK, best.Sentence.Tone == decision.ToneOK; rests != rested {
		return rested
	}
	return t.Ended.After(best.Ended)
}

// Concerns reports whether the page of an object shows a sync: one of its own, of what it
// controls, of what its newest sync worked on, or of what works on it.
func (s *Source) Concerns(o telemetry.Object, newest, t *telemetry.Trace) bool {
	return t.Object == o || telemetry.HeadOf(s.Loops, t.Object, t.Owner) == o ||
		slices.Contains(s.Steered(newest), t.Object) || slices.Contains(s.Steered(t), o)
}
