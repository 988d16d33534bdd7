package flow

import (
	"cmp"
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

const (
	pitch = 7  // between two lines that run beside each other
	edge  = 14 // between a column and the lines beside it
	tip   = 12 // for the arrow into the next column
	apart = 10 // between two lines that share a track
)

// lane is what runs to one place beside one column: all lines to that place share it.
type lane struct {
	gutter   int
	to       *box
	from, up int  // how far up and down it reaches
	over     bool // it comes from, or goes, over the top
	track    int
}

// route gives every lane a track. Places that are not in this column or the next
// are led to over the top.
func (d *drawing) route() {
	for _, b := range d.order {
		for _, r := range b.rows {
			for _, w := range r.ways {
				if to := d.aim(r, w); to != nil {
					d.join(r, to)
				}
			}
		}
	}
	for g := range d.gutters {
		d.gutters[g] = edge + pitch*d.tracks(g) + tip
	}
	d.x[0] = 2 // Half the border of a box stands outside it.
	for c := 1; c < len(d.x); c++ {
		d.x[c] = d.x[c-1] + wide + d.gutters[c-1]
	}
}

// aim is the place that a line through the gutters leads to; nil for the end, and
// for what is straight below.
func (d *drawing) aim(r *row, w decision.Edge) *box {
	if r.below != nil && w.To == r.below.ID {
		return nil
	}
	return d.boxes[w.To]
}

// join adds the line of an answer to the lanes that it runs in.
func (d *drawing) join(r *row, to *box) {
	last := d.arrival(r.box, to)
	d.lane(r.column, to).reach(r.y - 4)
	d.lane(last, to).reach(to.y + entry)
	if last != r.column {
		d.lane(r.column, to).over, d.lane(last, to).over = true, true
		if !slices.Contains(d.channels, to.ID) {
			d.channels = append(d.channels, to.ID)
		}
	}
}

// arrival is the gutter from which a place is entered: the one to its left if the
// line comes from there, or else the one to its right.
func (d *drawing) arrival(from, to *box) int {
	if to.column > from.column {
		return to.column - 1
	}
	return to.column
}

func (d *drawing) lane(gutter int, to *box) *lane {
	for _, l := range d.lanes {
		if l.gutter == gutter && l.to == to {
			return l
		}
	}
	l := &lane{gutter: gutter, to: to, from: 1 << 30, up: -1}
	d.lanes = append(d.lanes, l)
	return l
}

func (l *lane) reach(y int) { l.from, l.up = min(l.from, y), max(l.up, y) }

// tracks gives the lanes of a gutter their tracks and returns how many there are.
// The short ones that come back to their own column run next to it.
func (d *drawing) tracks(gutter int) (n int) {
	var mine []*lane
	for _, l := range d.lanes {
		if l.gutter == gutter {
			if l.over {
				l.from = 0
			}
			mine = append(mine, l)
		}
	}
	slices.SortStableFunc(mine, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.up-a.from, b.up-b.from))
	})
	for i, l := range mine {
		for slices.ContainsFunc(mine[:i], l.meets) {
			l.track++
		}
		n = max(n, l.track+1)
	}
	return n
}

func (l *lane) rank() int {
	switch {
	case l.over:
		return 2
	case l.to.column > l.gutter:
		return 1
	default:
		return 0
	}
}

func (l *lane) meets(o *lane) bool {
	return l.track == o.track && l.from < o.up+apart && o.from < l.up+apart
}
