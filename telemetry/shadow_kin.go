package telemetry

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// state is how an object was from a change on.
type state struct {
	from string // the resourceVersion of the change
	decision.Snapshot
}

// kinBefore is how a sibling was before a change of what it shares; nil where that is not known.
func (s *Shadow) kinBefore(o Object, rv string) decision.Snapshot {
	states, known := s.now.kin[o]
	if !known {
		states = s.statesOf(o)
		s.now.kin[o] = states
	}
	for _, x := range states {
		if !after(x.from, rv) && x.from != rv {
			return x.Snapshot
		}
	}
	return nil
}

// statesOf are the states of an object by the changes of what it has, the latest first.
func (s *Shadow) statesOf(o Object) (list []state) {
	past := s.last.of(o)
	for len(past) > 0 && s.decoded(past[len(past)-1]) == nil {
		past = past[:len(past)-1]
	}
	if len(past) == 0 {
		return nil
	}
	last := past[len(past)-1]
	r := &rewinder{shadow: s, past: past, own: s.loops.Of(o.Loop).Kind}
	now := s.decoded(last).(decision.Versioned)
	for _, st := range s.streams(r, last) {
		if st.kind == r.own {
			continue
		}
		for at, e := range slices.Backward(st.events) {
			list = append(list, state{e.cause.written(), now.(decision.Snapshot)})
			now = r.undo(now, &st, at)
		}
	}
	return append(list, state{"", now.(decision.Snapshot)})
}
