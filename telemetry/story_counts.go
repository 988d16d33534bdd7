package telemetry

import "github.com/loopscope/loopscope/telemetry/decision"

// count sums up what is told.
func (s *Story) count(e *Excerpt) {
	for i := range s.Beats {
		b := &s.Beats[i]
		switch b.Kind {
		case BeatChange:
			s.Counts.Changes++
		case BeatPod:
			s.Counts.Pods++
		case BeatOutage:
			s.Counts.Outages++
		case BeatLeader:
			s.Counts.Leaders++
		case BeatMissed:
			s.Counts.Missed++
		case BeatRestart:
			s.Counts.Restarts++
		default:
			s.Counts.Syncs++
			s.Counts.Folded += e.byID[syncID{b.Sync.Epoch, b.Sync.Seq}].Folded
		}
		for j := range b.Writes {
			s.Counts.write(&b.Writes[j])
		}
	}
}

// write counts a write by its answer. One that was already so is none.
func (c *StoryCounts) write(w *Write) {
	switch {
	case w.Taken():
		c.Writes += max(1, int(w.Count))
	case unanswered(w.State, w.Failure):
		c.Unanswered++
	case w.State == decision.Conflicted:
		c.Conflicts++
	case w.State == decision.Refused || w.State == decision.Partly:
		c.Refused++
	}
}
