package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
)

// maxDifferences is how many differences a summary names.
const maxDifferences = 20

// Summary counts the findings of a recording. The zero value is ready.
type Summary struct {
	Loops map[string]*Count
	// Reasons counts what was not replayable by its reason, Details gives the
	// first error of each.
	Reasons map[string]int
	Details map[string]string
	// Differences are the first ones, and where.
	Differences []Located
	// Told is the first of those that differ in words only; nil for none.
	Told *Located
	// From and To are when the first sync started and the last one ended.
	From, To time.Time
}

// Count is what became of the traces of one loop.
type Count struct{ Equal, WordsOnly, Different, NotReplayable int }

// All is the number of traces.
func (c Count) All() int { return c.Equal + c.WordsOnly + c.Different + c.NotReplayable }

// Located is a difference and the sync it was found in.
type Located struct {
	Loop, Key, Epoch string
	Seq              uint64
	Difference
}

// String is the sync and the difference in one line.
func (l Located) String() string {
	return fmt.Sprintf("%s %s, sync %s/%d: %s", l.Loop, l.Key, l.Epoch, l.Seq, l.Difference)
}

// Add counts what became of a trace.
func (s *Summary) Add(t *telemetry.Trace, f Finding) {
	if s.Loops == nil {
		s.Loops, s.Reasons, s.Details = map[string]*Count{}, map[string]int{}, map[string]string{}
	}
	if s.From.IsZero() || t.Started.Before(s.From) {
		s.From = t.Started
	}
	if t.Ended.After(s.To) {
		s.To = t.Ended
	}
	c := s.Loops[t.Loop]
	if c == nil {
		c = &Count{}
		s.Loops[t.Loop] = c
	}
	switch f.Kind {
	case Equal:
		c.Equal++
	case WordsOnly:
		c.WordsOnly++
		if s.Told == nil {
			s.Told = &Located{t.Loop, t.Key(), t.Epoch, t.Seq, f.Difference}
		}
	case Different:
		c.Different++
		if len(s.Differences) < maxDifferences {
			s.Differences = append(s.Differences, Located{t.Loop, t.Key(), t.Epoch, t.Seq, f.Difference})
		}
	default:
		c.NotReplayable++
		s.Reasons[f.Reason]++
		if f.Detail != nil && s.Details[f.Reason] == "" {
			s.Details[f.Reason] = fmt.Sprintf("%s, sync %s/%d: %v", t.Key(), t.Epoch, t.Seq, f.Detail)
		}
	}
}

// Total adds the loops up.
func (s *Summary) Total() Count {
	var all Count
	for _, c := range s.Loops {
		all.Equal += c.Equal
		all.WordsOnly += c.WordsOnly
		all.Different += c.Different
		all.NotReplayable += c.NotReplayable
	}
	return all
}

// Names are the loops that occur, sorted.
func (s *Summary) Names() []string { return slices.Sorted(maps.Keys(s.Loops)) }
