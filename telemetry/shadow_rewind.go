package telemetry

import (
	"github.com/loopscope/loopscope/telemetry/decision"
)

// wouldHave decides once more what came of a sync's causes, with the first of some writes and
// those after it taken back: the first is what the rules say if they say the same of it. The
// other controller may have had the rest of what was written on as it is now, or as the sync
// before saw it, so either will do. The question is whose answer led there.
func (s *Shadow) wouldHave(before, t *Trace, writes []sizeWrite) (question string, same bool) {
	now := s.sizing(t)
	if now == nil {
		return "", false
	}
	earlier := decision.Snapshot(nil)
	if before != nil {
		earlier, _ = before.Decided(s.loops)
	}
	for _, was := range []decision.Snapshot{earlier, nil} {
		if a := actionOn(rewind(now, s.loops.Of(t.Loop).Sizes, was, writes), &writes[0]); a != nil {
			return a.Question, true
		}
	}
	return "", false
}

// sizing is what a sync decided on, nil where that cannot be decided on again.
func (s *Shadow) sizing(t *Trace) decision.Snapshot {
	snapshot, err := t.Decided(s.loops)
	if _, sizes := snapshot.(decision.Sizing); err != nil || !sizes {
		return nil
	}
	return snapshot
}

// rewind takes writes back, the last one first; nil where the snapshot has not what they are of.
func rewind(now decision.Snapshot, kind string, was decision.Snapshot, writes []sizeWrite) decision.Snapshot {
	for i := len(writes) - 1; i >= 0; i-- {
		w := &writes[i]
		if w.size == nil && was == nil {
			return nil // What it was created on is not known.
		}
		sizing, ok := now.(decision.Sizing)
		if !ok {
			return nil
		}
		now = sizing.Rewound(kind, w.target.name, was, w.from())
		if now == nil {
			return nil
		}
	}
	return now
}

// actionOn is the action that would have made a write; nil where the rules say otherwise, or
// nothing at all.
func actionOn(snapshot decision.Snapshot, w *sizeWrite) (found *decision.Action) {
	if snapshot == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // No cluster ever was so: nothing follows from it.
			found = nil
		}
	}()
	sync := decision.Sync{Core: snapshot.Begin()}
	sync.Run(decision.Nobody)
	for _, a := range sync.Rounds[len(sync.Rounds)-1].Verdict.Actions {
		if p := predictionOf(&Trace{}, &a); p != nil && a.Target.Name == w.target.name && p.Predicted == w.observed() {
			return &a
		}
	}
	return nil
}

// departure is the number of the departure that explains what became of a question's answer.
func (s *Shadow) departure(t *Trace, question string) int {
	if t == nil {
		return 0
	}
	snapshot, err := t.Decided(s.loops)
	if d, departs := snapshot.(decision.Departing); err == nil && departs {
		return d.Departure(question)
	}
	return 0
}
