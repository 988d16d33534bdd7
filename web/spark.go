package web

import (
	"slices"
	"strings"
	"sync"
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
	// sparkSyncs bounds the kept syncs that are looked at for one row at a time, and
	// the sizes that are drawn.
	sparkSyncs = 64
	// maxCourses bounds the Deployments whose sizes are kept.
	maxCourses = 4096
)

// sparkEnd is where the time base of all rows ends.
func sparkEnd(now time.Time) time.Time { return now.Truncate(sparkStep) }

// courses are the sizes of Deployments over time, as far as rows draw them. They
// grow with each drawing, so that none looks at a sync twice.
type courses struct {
	mu sync.Mutex
	of map[telemetry.Object]*course
}

type course struct {
	uid   string
	seq   uint64 // of the newest sync in it
	sizes []size // oldest first; each differs from the one before
}

// size is what a Deployment had from a moment on.
type size struct {
	at                  time.Time
	fresh, old, ceiling int64
}

// sparkOf is the sizes of a Deployment over the last minutes, from the syncs
// that the journal keeps of it; nil where they do not say.
func (s *Server) sparkOf(t *telemetry.Trace, now time.Time) *views.Spark {
	to := sparkEnd(now)
	from := to.Add(-sparkSpan)
	var points []views.SparkPoint
	most := int64(1)
	for _, x := range s.courses.sizes(s.journal, t, from) {
		p := views.SparkPoint{At: clamp(x.at, from, to), New: x.fresh, Old: x.old}
		most = max(most, p.New+p.Old, x.ceiling)
		points = stepTo(points, p)
	}
	if len(points) == 0 || !points[0].At.Before(to) {
		return nil // Of less than a step nothing could be seen.
	}
	return views.DrawSpark(points, from, to, most)
}

// sizes brings the course of a Deployment up to date and returns what it has of
// the time since from, and of the moment before.
func (x *courses) sizes(j *telemetry.Journal, t *telemetry.Trace, from time.Time) []size {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.of[t.Object]
	if r == nil {
		if x.of == nil || len(x.of) >= maxCourses {
			x.of = map[telemetry.Object]*course{}
		}
		r = &course{}
		x.of[t.Object] = r
	}
	r.grow(j, t, from)
	if r.uid != t.UID {
		return nil
	}
	return slices.Clone(r.sizes)
}

// keepUp is for a row that shows no sizes, but did before: they grow while the syncs
// are new, which is cheap, and not all at once when it shows them again.
func (x *courses) keepUp(j *telemetry.Journal, t *telemetry.Trace, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.of[t.Object]; r != nil {
		r.grow(j, t, sparkEnd(now).Add(-sparkSpan))
	}
}

// grow takes over the syncs up to t, and leaves out what was over before from.
func (r *course) grow(j *telemetry.Journal, t *telemetry.Trace, from time.Time) {
	fresh := j.Since(t.Object, r.seq, sparkSyncs)
	if len(fresh) == sparkSyncs {
		r.sizes = nil // There may be more in between, which nobody has looked at.
	}
	for _, newer := range fresh {
		r.add(newer)
	}
	if t.Seq > r.seq {
		r.add(t) // The newest of an idle object is on the board alone.
	}
	for len(r.sizes) > sparkSyncs || len(r.sizes) > 1 && !r.sizes[1].at.After(from) {
		r.sizes = r.sizes[1:]
	}
}

// add takes over what a newer sync says.
func (r *course) add(t *telemetry.Trace) {
	n := numbersOf(t)
	fresh, ok := n.count("new")
	r.seq = t.Seq
	if !ok || t.UID != r.uid { // Another object of the same name, or one that is not known.
		r.uid, r.sizes = strings.Clone(t.UID), nil // It would keep the texts of a whole block.
	}
	if !ok {
		return
	}
	x := size{at: t.Ended, fresh: fresh, old: n.or("old"), ceiling: n.or("ceiling")}
	if k := len(r.sizes); k > 0 && r.sizes[k-1].fresh == x.fresh && r.sizes[k-1].old == x.old {
		last := &r.sizes[k-1]
		last.ceiling = max(last.ceiling, x.ceiling)
		return
	}
	r.sizes = append(r.sizes, x)
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
	for _, m := range s.journal.Marks(o, historyRows) {
		for _, manager := range m.Managers {
			if !slices.Contains(list, manager) {
				list = append(list, manager)
			}
		}
	}
	return list
}
