package timeline

import (
	"slices"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/web/facts"
)

// Point is the sizes that one sync saw, as its own facts say.
type Point struct {
	At                                      time.Time
	Seq                                     uint64
	NewSize, Old, Available, Ceiling, Floor int64
	Held                                    bool
	Wrote                                   bool // a size
	Status                                  bool
}

// Idle reports whether there are no new pods and nobody asks for any: before an update and once it was
// taken back.
func (p Point) Idle() bool { return p.Ceiling <= 0 && p.NewSize == 0 }

// Points are the sizes that each kept sync saw, from the first rollout on.
func Points(kept []*telemetry.Trace) []Point {
	var points []Point
	for _, t := range kept {
		n := facts.NumbersOf(t)
		size, counted := n.Count("new")
		p := Point{At: t.Ended, Seq: t.Seq, NewSize: size, Old: n.Or("old"), Available: n.Or("available"), Ceiling: n.Or("ceiling"), Floor: n.Or("floor"),
			Held: len(facts.Held(t)) > 0, Wrote: t.WroteSize(), Status: t.Wrote()}
		if !counted || p.Idle() && len(points) == 0 {
			continue
		}
		points = append(points, p)
	}
	return points
}

// SinceRollout are those since the newest rollout began: since the last time
// that there was no old pod or that nobody asked for a new one, or the first that is kept.
func SinceRollout(points []Point) []Point {
	for i := len(points) - 1; i > 0; i-- {
		before := points[i-1]
		if points[i].Old > 0 && (before.Old == 0 || before.Idle() && !points[i].Idle()) {
			return points[i-1:] // A template changed: its rollout begins with the state before.
		}
	}
	return points
}

// PodPoints are the pods that each kept sync of a ReplicaSet saw.
func PodPoints(kept []*telemetry.Trace) []Point {
	var points []Point
	for _, t := range kept {
		n := facts.NumbersOf(t)
		if want, ok := n.Count("wanted"); ok {
			points = append(points, Point{At: t.Ended, Seq: t.Seq, NewSize: n.Or("pods"), Available: n.Or("available"), Ceiling: want,
				Held: len(facts.Held(t)) > 0, Wrote: t.WroteSize(), Status: t.Wrote()})
		}
	}
	return points
}

// sparkSizes bounds the sizes that are drawn of one row.
const sparkSizes = 64

// Size is what a Deployment had from a moment on.
type Size struct {
	telemetry.Sizes
	At time.Time
}

// marked is a journal as far as sizes are read from it.
type marked interface {
	Back(o telemetry.Object, visit func(*telemetry.Mark) (goOn bool))
}

// SizesUntil are those of a Deployment until to, and no later than a sync, oldest first.
// The first of them is what it had at from. Each differs from the one before.
func SizesUntil(j marked, t *telemetry.Trace, from, to time.Time) (sizes []Size) {
	uid := t.UID
	if own := t.Sizes(); own.Known && !t.Ended.After(to) { // The newest of an idle object is on the board alone.
		sizes = append(sizes, Size{own, t.Ended})
	}
	j.Back(t.Object, func(m *telemetry.Mark) bool {
		switch {
		case m.Seq >= t.Seq || !m.Sizes.Known || m.Ended.After(to):
			return true
		case uid == "": // The sync saw no object.
			uid = m.UID
		case m.UID != uid:
			return false // Another object of the same name.
		}
		sizes = earlierSize(sizes, Size{m.Sizes, m.Ended})
		return len(sizes) < sparkSizes && m.Ended.After(from)
	})
	slices.Reverse(sizes)
	return sizes
}

// earlierSize adds what there was before, or since when there was what follows.
func earlierSize(sizes []Size, x Size) []Size {
	if n := len(sizes); n > 0 && sizes[n-1].New == x.New && sizes[n-1].Old == x.Old {
		last := &sizes[n-1]
		last.At, last.Ceiling = x.At, max(last.Ceiling, x.Ceiling)
		return sizes
	}
	return append(sizes, x)
}
