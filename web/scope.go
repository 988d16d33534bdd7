package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
)

// The box of the scope's size channel.
const (
	scopeWidth  = 1200
	scopeHeight = 168
	scopeTop    = 12 // room above the ceiling for the lid of a held span
)

// scopeSpans are the fixed lengths of the time base. The shortest that holds
// the rollout is taken, so that the axis does not slide with every second.
var scopeSpans = []time.Duration{2 * time.Minute, 5 * time.Minute, 23 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// scopePoint is the sizes that one sync saw, as its own facts say.
type scopePoint struct {
	at                                    time.Time
	seq                                   uint64
	fresh, old, available, ceiling, floor int64
	held                                  bool
	wrote                                 bool // a size
	status                                bool
}

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

func coord(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// scope draws the sizes over the newest rollout from what is kept of it. Fewer
// than two moments make no picture.
func (s *Server) scope(q *query, x *subject) *views.Scope {
	points := rolloutPoints(x.kept)
	if len(points) < 2 || !x.onList {
		return nil
	}
	last := points[len(points)-1]
	deadline := deadlineOf(x.newest)
	box, now := scopeBase(points, q.now)
	v := &views.Scope{Width: scopeWidth, Height: scopeHeight, Now: box.x(now), NowAt: box.percent(now),
		Span: box.from.UTC().Format("15:04") + " to " + box.to.UTC().Format("15:04")}
	v.Label = fmt.Sprintf("Pods over time. New is %d, old is %d, available is %d; the floor is %d and the ceiling %d.", last.fresh, last.old, last.available, last.floor, last.ceiling)
	v.Ticks, v.Grid = box.ticks(now)
	drawn := box.calm(points)
	v.New = box.area(drawn, now, func(p scopePoint) int64 { return p.fresh }, func(scopePoint) int64 { return 0 })
	v.Old = box.area(drawn, now, func(p scopePoint) int64 { return p.fresh + p.old }, func(p scopePoint) int64 { return p.fresh })
	v.Available = box.steps(drawn, now, func(p scopePoint) int64 { return p.available })
	v.Limits = fmt.Sprintf("M0 %sH%d", box.y(last.ceiling), scopeWidth)
	v.Bounds = []views.ScopeBound{{Y: labelY(box.y(last.ceiling)), Text: fmt.Sprintf("ceiling %d", last.ceiling)}, {Y: "168", Text: "0"}}
	if last.floor > 0 && last.floor != last.ceiling {
		v.Limits += fmt.Sprintf("M0 %sH%d", box.y(last.floor), scopeWidth)
		v.Bounds = append(v.Bounds, views.ScopeBound{Y: labelY(box.y(last.floor)), Text: fmt.Sprintf("floor %d", last.floor)})
	}
	box.marks(v, x, points, now, deadline)
	v.Legend = legend(last, numbersOf(x.newest))
	v.Lanes = []views.ScopeLane{box.lane("Deployment syncs", points), box.lane("ReplicaSet syncs", s.childPoints(x, points[0].at))}
	for _, p := range points {
		v.Points = append(v.Points, views.ScopePoint{At: p.at.UnixMilli(), Seq: p.seq, New: p.fresh, Old: p.old, Available: p.available})
	}
	return v
}

func labelY(y string) string {
	f, _ := strconv.ParseFloat(y, 64) // made by coord
	return coord(f + 4)
}

// rolloutPoints are the syncs since the newest rollout began: since the last
// time that there was no old pod, or the first that is kept.
func rolloutPoints(kept []*telemetry.Trace) []scopePoint {
	var points []scopePoint
	for _, t := range kept {
		n := numbersOf(t)
		ceiling, ok := n.count("ceiling")
		if !ok || ceiling <= 0 {
			continue
		}
		p := scopePoint{at: t.Ended, seq: t.Seq, fresh: n.or("new"), old: n.or("old"), available: n.or("available"), ceiling: ceiling, floor: n.or("floor"),
			held: len(held(t)) > 0, wrote: t.WroteSize(), status: t.Wrote()}
		if last := len(points) - 1; last >= 0 && points[last].old == 0 && p.old > 0 {
			points = points[last:] // A template changed: its rollout begins with the state before.
		}
		points = append(points, p)
	}
	return points
}

func deadlineOf(t *telemetry.Trace) time.Time {
	for _, x := range t.Timers {
		if x.Code == "deadline" {
			return x.At
		}
	}
	return time.Time{}
}

// scopeBase chooses the time base. It ends with the rollout, or some time after
// now, and grows in steps.
func scopeBase(points []scopePoint, now time.Time) (scopeBox, time.Time) {
	first, last := points[0], points[len(points)-1]
	begin := first.at
	if len(points) > 1 && points[1].at.Sub(first.at) > time.Minute {
		begin = points[1].at.Add(-30 * time.Second)
	}
	end := now
	if done := last.old == 0 && !last.held && last.fresh == last.available; done && now.Sub(last.at) > 2*time.Minute {
		end = last.at.Add(time.Minute)
	}
	span := scopeSpans[len(scopeSpans)-1]
	for _, x := range scopeSpans {
		if end.Sub(begin) <= x*9/10 { // Some of the future is always drawn.
			span = x
			break
		}
	}
	if end.Sub(begin) > span {
		begin = end.Add(-span)
	}
	b := scopeBox{from: begin.Truncate(time.Second), to: begin.Truncate(time.Second).Add(span)}
	for _, p := range points {
		b.most = max(b.most, p.ceiling, p.fresh+p.old, p.available)
	}
	if end.Before(now) {
		now = end
	}
	return b, b.still(now)
}

// still moves a moment on in three hundred steps over the box, so that a page
// which only waits is not drawn anew every second.
func (b scopeBox) still(at time.Time) time.Time {
	step := b.to.Sub(b.from) / 300
	return b.from.Add(at.Sub(b.from) / step * step)
}

// calm leaves of each burst of syncs what it ended with: the sizes between are
// held for milliseconds and would stand as spikes.
func (b scopeBox) calm(points []scopePoint) []scopePoint {
	step := b.to.Sub(b.from) / 600
	var list []scopePoint
	for i, p := range points {
		if i+1 < len(points) && points[i+1].at.Sub(p.at) < step && i > 0 {
			continue
		}
		list = append(list, p)
	}
	return list
}

// childPoints are the syncs of its ReplicaSets since then.
func (s *Server) childPoints(x *subject, since time.Time) []scopePoint {
	var points []scopePoint
	for _, child := range s.journal.Board().Children(telemetry.LoopReplicaSet, x.object.Namespace, x.object.Name) {
		for _, t := range s.journal.Of(child.Object, historyRows) {
			if !t.Ended.Before(since) {
				points = append(points, scopePoint{at: t.Ended, wrote: t.WroteSize(), status: t.Wrote()})
			}
		}
	}
	return points
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

// steps is a line that keeps each value until the next one.
func (b scopeBox) steps(points []scopePoint, now time.Time, value func(scopePoint) int64) string {
	var d strings.Builder
	for i, p := range points {
		if i == 0 {
			fmt.Fprintf(&d, "M%s %s", b.x(p.at), b.y(value(p)))
			continue
		}
		if value(p) != value(points[i-1]) {
			fmt.Fprintf(&d, "H%sV%s", b.x(p.at), b.y(value(p)))
		}
	}
	fmt.Fprintf(&d, "H%s", b.x(now))
	return d.String()
}

// area is what lies between two such lines.
func (b scopeBox) area(points []scopePoint, now time.Time, upper, lower func(scopePoint) int64) string {
	var d strings.Builder
	d.WriteString(b.steps(points, now, upper))
	last := len(points) - 1
	fmt.Fprintf(&d, "V%s", b.y(lower(points[last])))
	for i := last; i > 0; i-- {
		if lower(points[i]) != lower(points[i-1]) {
			fmt.Fprintf(&d, "H%sV%s", b.x(points[i].at), b.y(lower(points[i-1])))
		}
	}
	fmt.Fprintf(&d, "H%sZ", b.x(points[0].at))
	return d.String()
}

// marks are the cursor, the span since which a write is held, and the deadline.
func (b scopeBox) marks(v *views.Scope, x *subject, points []scopePoint, now, deadline time.Time) {
	if !deadline.IsZero() && deadline.After(b.from) && !deadline.After(b.to) {
		v.Deadline = b.x(deadline)
	}
	if at := x.cursor.Ended; !at.Before(b.from) && !at.After(b.to) {
		v.Cursor, v.CursorAt, v.CursorText = b.x(at), b.percent(at), "#"+digits(x.cursor.Seq)
		if now.Sub(at) < b.to.Sub(b.from)/12 && x.cursor == x.newest {
			v.CursorText = "" // It would lie under the word now.
		}
	}
	since := time.Time{}
	for i := len(points) - 1; i >= 0 && points[i].held; i-- {
		if since = points[i].at; points[i].wrote {
			break
		}
	}
	if !since.IsZero() {
		v.HeldFrom, v.HeldTo = b.x(since), b.x(now)
		from, _ := strconv.ParseFloat(v.HeldFrom, 64) // made by coord
		to, _ := strconv.ParseFloat(v.HeldTo, 64)
		v.HeldWidth = coord(max(0, to-from))
	}
}

func legend(last scopePoint, n numbers) []views.ScopeLegend {
	return []views.ScopeLegend{
		{Class: "p-lim", Name: "total", Value: digits(last.fresh + last.old), Note: "≤ " + digits(last.ceiling)},
		{Class: "p-av", Name: "available", Value: digits(last.available), Note: "≥ " + digits(last.floor)},
		{Class: "p-new", Name: "new", Value: digits(last.fresh), Note: availableNote(last.fresh, n.or("newAvailable"))},
		{Class: "p-old", Name: "old", Value: digits(last.old), Note: availableNote(last.old, n.or("oldAvailable"))},
	}
}

func availableNote(size, available int64) string {
	if size == 0 {
		return ""
	}
	return digits(available) + " available"
}

// lane is the syncs as ticks: the taller, the more was written.
func (b scopeBox) lane(name string, points []scopePoint) views.ScopeLane {
	var nothing, status, size strings.Builder
	sizes := 0
	for _, p := range points {
		switch {
		case p.at.Before(b.from):
		case p.wrote:
			sizes++
			fmt.Fprintf(&size, "M%s 4V24", b.x(p.at))
		case p.status:
			fmt.Fprintf(&status, "M%s 11V24", b.x(p.at))
		default:
			fmt.Fprintf(&nothing, "M%s 18V24", b.x(p.at))
		}
	}
	return views.ScopeLane{Name: name, Nothing: nothing.String(), Status: status.String(), Size: size.String(),
		Note: fmt.Sprintf("%d, of which %d changed a size", len(points), sizes)}
}
