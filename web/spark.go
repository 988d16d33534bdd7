package web

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
)

const (
	// sparkSpan is how much of the past a row of the list draws. sparkStep is how
	// often the picture moves on: a row is drawn anew no more often than that
	// while nothing happens to it.
	sparkSpan = 20 * time.Minute
	sparkStep = time.Minute
	// sparkSyncs bounds the kept syncs that are looked at for one row.
	sparkSyncs = 64
)

// sparkEnd is where the time base of all rows ends.
func sparkEnd(now time.Time) time.Time { return now.Truncate(sparkStep) }

// sparkOf is the sizes of a Deployment over the last minutes, from the syncs
// that the journal keeps of it; nil where they do not say.
func (s *Server) sparkOf(t *telemetry.Trace, now time.Time) *views.Spark {
	kept := s.journal.Of(t.Object, sparkSyncs)
	if len(kept) == 0 || kept[len(kept)-1].Seq < t.Seq {
		kept = append(slices.Clone(kept), t) // The newest of an idle object is on the board alone.
	}
	to := sparkEnd(now)
	from := to.Add(-sparkSpan)
	var points []views.SparkPoint
	most := int64(1)
	for _, x := range kept {
		n := numbersOf(x)
		fresh, ok := n.count("new")
		if !ok || x.UID != t.UID {
			points = nil // Another object of the same name, or one that is not known.
			continue
		}
		p := views.SparkPoint{At: clamp(x.Ended, from, to), New: fresh, Old: n.or("old")}
		most = max(most, p.New+p.Old, n.or("ceiling"))
		points = stepTo(points, p)
	}
	if len(points) == 0 || !points[0].At.Before(to) {
		return nil // Of less than a step nothing could be seen.
	}
	return views.DrawSpark(points, from, to, most)
}

// stepTo adds a point: in place of one at the same moment, and not at all where
// nothing changed.
func stepTo(points []views.SparkPoint, p views.SparkPoint) []views.SparkPoint {
	if n := len(points); n > 0 {
		last := &points[n-1]
		switch {
		case last.New == p.New && last.Old == p.Old:
			return points
		case last.At.Equal(p.At):
			last.New, last.Old = p.New, p.Old
			return points
		}
	}
	return append(points, p)
}

func clamp(at, from, to time.Time) time.Time {
	switch {
	case at.Before(from):
		return from
	case at.After(to):
		return to
	}
	return at
}

// imagesOf are the images of the template that a sync saw.
func imagesOf(t *telemetry.Trace) []string {
	if s, err := deploymentSnapshot(t); err == nil {
		return s.Images
	}
	return nil // No snapshot, no image: no term finds it.
}

// managersOf are the programs that changed an object or its children, as the
// kept syncs name them: whoever wrote what woke one, and was not this program.
func (s *Server) managersOf(o telemetry.Object) []string {
	var list []string
	for _, t := range s.journal.Of(o, historyRows) {
		for i := range t.Causes {
			if c := &t.Causes[i]; c.Manager != "" && c.Sync == 0 && !slices.Contains(list, c.Manager) {
				list = append(list, c.Manager)
			}
		}
	}
	return list
}
