package scope

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/timeline"
)

// scopeBox turns moments and pods into positions.
type scopeBox struct {
	from, to time.Time
	most     int64
}

func (b scopeBox) x(at time.Time) string {
	share := float64(at.Sub(b.from)) / float64(b.to.Sub(b.from))
	return coord(scopeWidth * min(1, max(0, share)))
}

func (b scopeBox) percent(at time.Time) string {
	share := float64(at.Sub(b.from)) / float64(b.to.Sub(b.from))
	return coord(100*min(1, max(0, share))) + "%"
}

func (b scopeBox) y(pods int64) string {
	return coord(scopeHeight - (scopeHeight-scopeTop)*float64(pods)/float64(max(1, b.most)))
}

// labelY is where the text of a line at that height stands.
func labelY(y string) string {
	f, _ := strconv.ParseFloat(y, 64) // made by coord
	return coord(f + 4)
}

func coord(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// still moves a moment on in three hundred steps over the box, so that a page
// which only waits is not drawn anew every second.
func (b scopeBox) still(at time.Time) time.Time {
	step := b.to.Sub(b.from) / 300
	return b.from.Add(at.Sub(b.from) / step * step)
}

// calm leaves of each burst of syncs what it ended with: the sizes between are
// held for milliseconds and would stand as spikes.
func (b scopeBox) calm(points []timeline.Point) []timeline.Point {
	step := b.to.Sub(b.from) / 600
	var list []timeline.Point
	for i, p := range points {
		if i+1 < len(points) && points[i+1].At.Sub(p.At) < step && i > 0 {
			continue
		}
		list = append(list, p)
	}
	return list
}

// ticks are round times on the axis.
func (b scopeBox) ticks(now time.Time) ([]views.ScopeTick, string) {
	every := b.to.Sub(b.from) / 5
	for _, x := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour} {
		if x >= every {
			every = x
			break
		}
	}
	layout := "15:04"
	if every < time.Minute {
		layout = "15:04:05"
	}
	var ticks []views.ScopeTick
	var grid strings.Builder
	for at := b.from.Truncate(every).Add(every); at.Before(b.to); at = at.Add(every) {
		// A label needs room to its right, before the word "now" and before the end.
		room := b.to.Sub(b.from) / 14
		if clear := at.Sub(now) > room/2 || now.Sub(at) > room; clear && b.to.Sub(at) > room {
			ticks = append(ticks, views.ScopeTick{At: b.percent(at), Text: at.UTC().Format(layout)})
		}
		fmt.Fprintf(&grid, "M%s 0V%d", b.x(at), scopeHeight)
	}
	return ticks, grid.String()
}

// clear leaves out the times that the number of the sync under the cursor would
// lie on: a time begins at its place, the number stands around its own, or behind
// it at the beginning of the axis.
func (b scopeBox) clear(ticks []views.ScopeTick, cursor time.Time) []views.ScopeTick {
	share := 100 * float64(cursor.Sub(b.from)) / float64(b.to.Sub(b.from))
	behind := 3.0
	if share < 8 {
		behind = 8
	}
	return slices.DeleteFunc(ticks, func(t views.ScopeTick) bool {
		at, _ := strconv.ParseFloat(strings.TrimSuffix(t.At, "%"), 64) // made by percent
		before := 8.0
		if len(t.Text) > len("15:04") { // It has seconds.
			before = 11
		}
		return at > share-before && at < share+behind
	})
}

// steps is a line that keeps each value until the next one.
func (b scopeBox) steps(points []timeline.Point, now time.Time, value func(timeline.Point) int64) string {
	var d strings.Builder
	for i, p := range points {
		if i == 0 {
			fmt.Fprintf(&d, "M%s %s", b.x(p.At), b.y(value(p)))
			continue
		}
		if value(p) != value(points[i-1]) {
			fmt.Fprintf(&d, "H%sV%s", b.x(p.At), b.y(value(p)))
		}
	}
	fmt.Fprintf(&d, "H%s", b.x(now))
	return d.String()
}

// area is what lies between two such lines.
func (b scopeBox) area(points []timeline.Point, now time.Time, upper, lower func(timeline.Point) int64) string {
	var d strings.Builder
	d.WriteString(b.steps(points, now, upper))
	last := len(points) - 1
	fmt.Fprintf(&d, "V%s", b.y(lower(points[last])))
	for i := last; i > 0; i-- {
		if lower(points[i]) != lower(points[i-1]) {
			fmt.Fprintf(&d, "H%sV%s", b.x(points[i].At), b.y(lower(points[i-1])))
		}
	}
	fmt.Fprintf(&d, "H%sZ", b.x(points[0].At))
	return d.String()
}

// lane is the syncs as ticks. A process that only watches has none that are tall.
func (s *Drawer) lane(b scopeBox, name string, points []timeline.Point) views.ScopeLane {
	l := b.lane(name, points)
	if s.Watches() {
		l.Note = fmt.Sprintf("%d, which only watch", len(points))
	}
	return l
}

// lane is the syncs as ticks: the taller, the more was written.
func (b scopeBox) lane(name string, points []timeline.Point) views.ScopeLane {
	var nothing, status, size strings.Builder
	sizes := 0
	for _, p := range points {
		switch {
		case p.At.Before(b.from):
		case p.Wrote:
			sizes++
			fmt.Fprintf(&size, "M%s 4V24", b.x(p.At))
		case p.Status:
			fmt.Fprintf(&status, "M%s 11V24", b.x(p.At))
		default:
			fmt.Fprintf(&nothing, "M%s 18V24", b.x(p.At))
		}
	}
	return views.ScopeLane{Name: name, Nothing: nothing.String(), Status: status.String(), Size: size.String(),
		Note: fmt.Sprintf("%d, of which %d changed a size", len(points), sizes)}
}
