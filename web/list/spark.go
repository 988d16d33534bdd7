package list

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/sight"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/timeline"
)

const (
	// sparkSpan is how much of the past a row of the list draws. sparkStep is how
	// often the picture moves on: a row is drawn anew no more often than that
	// while nothing happens to it.
	sparkSpan = 20 * time.Minute
	sparkStep = time.Minute
)

// sparkEnd is where the time base of a row ends that is known up to then.
func sparkEnd(known time.Time) time.Time { return known.Truncate(sparkStep) }

// drawnSpark is the sizes of a Deployment as they were drawn up to a full minute: what
// happened since is seen in the next one.
type drawnSpark struct {
	uid   string
	to    time.Time
	spark *views.Spark
}

// sparkOf is an entry's sizes over the last minutes; nil where they are not known.
func (s *Pages) sparkOf(e *entry, to time.Time) *views.Spark {
	known := e.picture.Load()
	if known == nil || known.uid != e.Trace.UID || !known.to.Equal(to) {
		known = &drawnSpark{e.Trace.UID, to, drawSpark(s.Journal, e.Trace, to)}
		e.picture.Store(known)
	}
	return known.spark
}

// drawSpark draws what the syncs say that the journal keeps of a Deployment, up to one
// of them; nil where they do not say.
func drawSpark(j *sight.Journal, t *telemetry.Trace, to time.Time) *views.Spark {
	from := to.Add(-sparkSpan)
	var points []views.SparkPoint
	most := int64(1)
	for _, x := range timeline.SizesUntil(j, t, from, to) {
		p := views.SparkPoint{At: x.At, New: int64(x.New), Old: int64(x.Old)}
		if p.At.Before(from) {
			p.At = from
		}
		most = max(most, p.New+p.Old, int64(x.Ceiling))
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

// managersOf are the programs that changed an object or its children, as the
// kept syncs name them: whoever wrote what woke one, and was not this program.
func (s *Pages) managersOf(o telemetry.Object) []string {
	var list []string
	for _, m := range s.Journal.Marks(o, source.HistoryRows) {
		for _, manager := range m.Managers {
			if !slices.Contains(list, manager) {
				list = append(list, manager)
			}
		}
	}
	return list
}
