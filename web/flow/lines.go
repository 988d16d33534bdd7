package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

const (
	entry = 13 // from the top of a box to where lines enter it
	bend  = 4  // radius of a corner
	stop  = 9  // from the column to the bar that ends a sync
)

type point struct{ x, y int }

// top is how much room the lines above the columns need.
func (d *drawing) top() int {
	if len(d.channels) == 0 {
		return 0
	}
	return pitch*len(d.channels) + 6
}

// corner is the upper left one of a box.
func (d *drawing) corner(b *box) point { return point{d.x[b.column] + b.left, d.top() + b.y} }

// lines are all that leave a question on an answer, and of these the part that
// the marked sync went.
func (d *drawing) lines(r *row) (all, gone string) {
	for _, w := range r.ways {
		way := d.way(r, w)
		all += way
		if d.taken.way(w) {
			gone += way
		}
	}
	return all, gone
}

// way is one line: down from the box, past its words and to its place.
func (d *drawing) way(r *row, w decision.Edge) string {
	at := d.corner(r.box)
	x, bottom, y := at.x+spine, at.y+r.box.h, d.top()+r.y-4
	if r.below != nil && w.To == r.below.ID {
		to := d.corner(r.below)
		return path(point{x, bottom}, point{x, to.y}) + arrow(point{x, to.y}, 0, 1)
	}
	right := d.x[r.column] + wide
	out := path(point{x, bottom}, point{x, y}, point{x + indent - spine - 5, y})
	if d.boxes[w.To] == nil { // decision.ToEnd
		return out + path(point{right + 1, y}, point{right + stop, y}) + path(point{right + stop, y - 5}, point{right + stop, y + 5})
	}
	return out + d.beside(point{right + 1, y}, r.box, d.boxes[w.To])
}

// beside is the part of a line that runs in the gutters.
func (d *drawing) beside(from point, of, to *box) string {
	first, last := d.lane(of.column, to), d.lane(d.arrival(of, to), to)
	points := []point{from, {d.track(first), from.y}}
	if first != last {
		y := pitch*slices.Index(d.channels, to.ID) + 4
		points = append(points, point{d.track(first), y}, point{d.track(last), y})
	}
	at, side := d.corner(to), 1
	if last.gutter == to.column { // It comes from the right.
		at.x, side = d.x[to.column]+wide, -1
	}
	at.y += entry
	points = append(points, point{d.track(last), at.y}, at)
	return path(points...) + arrow(at, side, 0)
}

func (d *drawing) track(l *lane) int { return d.x[l.gutter] + wide + edge + pitch*l.track }

// path draws straight lines with round corners.
func path(points ...point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", points[0].x, points[0].y)
	for i := 1; i < len(points); i++ {
		p := points[i]
		if i+1 == len(points) {
			line(&b, p)
			continue
		}
		before, after := toward(p, points[i-1]), toward(p, points[i+1])
		line(&b, before)
		fmt.Fprintf(&b, "Q%d %d %d %d", p.x, p.y, after.x, after.y)
	}
	return b.String()
}

func line(b *strings.Builder, to point) { fmt.Fprintf(b, "L%d %d", to.x, to.y) }

// toward is the point on the way from p to another where the corner at p begins.
func toward(p, to point) point {
	step := func(from, to int) int { return from + min(bend, max(-bend, (to-from)/2)) }
	return point{step(p.x, to.x), step(p.y, to.y)}
}

// arrow is the head of a line that runs right (1, 0), left (-1, 0) or down (0, 1).
func arrow(at point, dx, dy int) string {
	const long, half = 5, 3
	back := point{at.x - dx*long, at.y - dy*long}
	return fmt.Sprintf("M%d %dL%d %dL%d %d", back.x+dy*half, back.y+dx*half, at.x, at.y, back.x-dy*half, back.y-dx*half)
}
