package scope

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/source"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/timeline"
	"github.com/loopscope/loopscope/web/words"
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

// Rollout draws the sizes of a Deployment over its newest rollout from what is kept of it, or
// over the window that was asked for.
func (s *Drawer) Rollout(at time.Time, x *subject.Subject) *views.Scope {
	return s.rollout(at, x, cast{of: s.Children(x.Object), lanes: s.deploymentLanes})
}

// cast is who has the pods of a rollout, and how they are drawn.
type cast struct {
	of    []*telemetry.Trace // the newest sync of each
	lanes func(v *views.Scope, x *subject.Subject, b scopeBox, now time.Time)
}

func (s *Drawer) rollout(at time.Time, x *subject.Subject, who cast) *views.Scope {
	points := timeline.Points(x.Kept)
	if len(points) == 0 || !x.OnList {
		return nil
	}
	span := subject.WindowOf(x.Window)
	if span == 0 {
		points = timeline.SinceRollout(points)
	}
	last := points[len(points)-1]
	bounds, unbounded := lastBounded(points)
	box, now := scopeBase(points, at, span)
	points = box.within(points)
	known := knownTo(s.Outage(), points, now)
	v := box.sizes(points, known, now)
	v.Windows = x.Windows()
	v.Bounds = append(v.Bounds, views.ScopeBound{Y: "168", Text: "0"})
	ends := box.x(box.to)
	if !unbounded.IsZero() {
		ends = box.x(unbounded)
	}
	if bounds.Ceiling > 0 {
		v.Limits = fmt.Sprintf("M0 %sH%s", box.y(bounds.Ceiling), ends)
		v.Bounds = append(v.Bounds, views.ScopeBound{Y: labelY(box.y(bounds.Ceiling)), Text: fmt.Sprintf("ceiling %d", bounds.Ceiling)})
	}
	if bounds.Floor > 0 && bounds.Floor != bounds.Ceiling {
		v.Limits += fmt.Sprintf("M0 %sH%s", box.y(bounds.Floor), ends)
		v.Bounds = append(v.Bounds, views.ScopeBound{Y: labelY(box.y(bounds.Floor)), Text: fmt.Sprintf("floor %d", bounds.Floor)})
	}
	box.marks(v, x, points, known, deadlineOf(x.Newest))
	v.Legend = legend(told(x, timeline.Points, last), facts.NumbersOf(x.Told()))
	v.Lanes = append(v.Lanes, s.lane(box, s.KindOf(x.Object.Loop)+" syncs", points))
	if len(who.of) > 0 {
		v.Lanes = append(v.Lanes, s.lane(box, s.KindOf(who.of[0].Loop)+" syncs", s.pointsOf(who.of, box.from)))
	}
	who.lanes(v, x, box, known)
	s.Outage().FreezeLanes(v, x.Newest)
	v.Label = s.scopeLabel(v, x, last, at)
	return v
}

// knownTo is how far a picture is known that would go on to now.
func knownTo(o source.Outage, points []timeline.Point, now time.Time) time.Time {
	if !o.On {
		return now
	}
	known := o.Began
	if last := points[len(points)-1].At; last.After(known) {
		known = last
	}
	return firstOf(known, now)
}

// sizes is the channel of the sizes, up to when they are known.
func (b scopeBox) sizes(points []timeline.Point, known, now time.Time) *views.Scope {
	v := &views.Scope{Width: scopeWidth, Height: scopeHeight, Now: b.x(now), NowAt: b.percent(now),
		Span: b.from.UTC().Format("15:04") + " to " + b.to.UTC().Format("15:04")}
	v.Ticks, v.Grid = b.ticks(now)
	drawn := b.calm(points)
	v.New = b.area(drawn, known, func(p timeline.Point) int64 { return p.NewSize }, func(timeline.Point) int64 { return 0 })
	v.Old = b.area(drawn, known, func(p timeline.Point) int64 { return p.NewSize + p.Old }, func(p timeline.Point) int64 { return p.NewSize })
	v.Available = b.steps(drawn, known, func(p timeline.Point) int64 { return p.Available })
	for _, p := range points {
		v.Points = append(v.Points, views.ScopePoint{At: p.At.UnixMilli(), Seq: p.Seq, New: p.NewSize, Old: p.Old, Available: p.Available})
	}
	return v
}

// scopeLabel is the finding of the picture, in words.
func (s *Drawer) scopeLabel(v *views.Scope, x *subject.Subject, last timeline.Point, now time.Time) string {
	text := fmt.Sprintf("Pods from %s UTC. %d new, %d old, %d available", v.Span, last.NewSize, last.Old, last.Available)
	if last.Ceiling > 0 {
		text += fmt.Sprintf("; floor %d, ceiling %d", last.Floor, last.Ceiling)
	}
	text += "."
	if said, at := s.SaidThen(x.Newest, now); said.State != "" {
		text = x.Object.Key() + " " + said.Verb + " " + said.State + ": " + words.Text(said.Lead, false).Roughly(at) + ". " + text
	}
	return text + laneFinding(v, now)
}

// laneFinding says which pods block, as their lanes show it.
func laneFinding(v *views.Scope, now time.Time) string {
	text := ""
	for _, l := range v.Pods {
		switch {
		case l.Tone != views.Waiting || l.Empty:
		case l.Bundle:
			text += " " + l.Name + " " + l.Note.Roughly(now) + "."
		default:
			text += " Pod " + l.Owner + l.Own + " " + l.Note.Roughly(now) + "."
		}
	}
	if v.MoreNote != "" {
		text += " Not listed: " + v.MoreNote + "."
	}
	return text
}

func deadlineOf(t *telemetry.Trace) time.Time {
	for _, x := range t.Timers {
		if x.Code == "deadline" {
			return x.At
		}
	}
	return time.Time{}
}

// scopeBase chooses the time base: the window that was asked for, or the
// shortest that holds what is drawn. It ends with the rollout, or some time
// after now, and grows in steps.
func scopeBase(points []timeline.Point, now time.Time, window time.Duration) (scopeBox, time.Time) {
	first, last := points[0], points[len(points)-1]
	end := now
	if ended(last) && window == 0 && now.Sub(last.At) > 2*time.Minute {
		end = last.At.Add(time.Minute)
	}
	b := scopeBox{}
	if window > 0 {
		b.from = windowBegin(first.At, end, window)
		b.to = b.from.Add(window)
	} else {
		b.from, b.to = fitting(points, end)
	}
	for _, p := range points {
		b.most = max(b.most, p.Ceiling, p.NewSize+p.Old, p.Available)
	}
	return b, b.still(end)
}

// ended reports whether a rollout has: no pod is to be replaced or to become available.
func ended(last timeline.Point) bool {
	return (last.Old == 0 || last.Idle()) && !last.Held && last.NewSize+last.Old == last.Available
}

// windowBegin is where a window of that length begins: with what is kept where
// that fits, or so that now moves through its last fifth before it goes on by a tenth.
func windowBegin(first, now time.Time, window time.Duration) time.Time {
	begin := now.Add(-window * 9 / 10)
	if first.After(begin) {
		return first.Truncate(time.Second)
	}
	return begin.Truncate(window / 10).Add(window / 10)
}

// fitting is the shortest of the spans that holds the points and some of the future.
func fitting(points []timeline.Point, end time.Time) (from, to time.Time) {
	begin := points[0].At
	if len(points) > 1 && points[1].At.Sub(begin) > time.Minute {
		begin = points[1].At.Add(-30 * time.Second)
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
	from = begin.Truncate(time.Second)
	return from, from.Add(span)
}

// within are the points of the box, and the one before, which says how it begins.
func (b scopeBox) within(points []timeline.Point) []timeline.Point {
	for i := len(points) - 1; i > 0; i-- {
		if points[i].At.Before(b.from) {
			return points[i:]
		}
	}
	return points
}

// pointsOf are the syncs of those objects since then.
func (s *Drawer) pointsOf(newest []*telemetry.Trace, since time.Time) []timeline.Point {
	var points []timeline.Point
	for _, child := range newest {
		for _, m := range s.Journal.Marks(child.Object, source.HistoryRows) {
			if !m.Ended.Before(since) {
				points = append(points, timeline.Point{At: m.Ended, Wrote: m.WroteSize, Status: m.Wrote})
			}
		}
	}
	return points
}

// marks are the cursor, the span since which a write is held, and the deadline.
func (b scopeBox) marks(v *views.Scope, x *subject.Subject, points []timeline.Point, now, deadline time.Time) {
	if !deadline.IsZero() && deadline.After(b.from) && !deadline.After(b.to) {
		v.Deadline, v.DeadlineAt, v.DeadlineText = b.x(deadline), b.percent(deadline), "deadline "+deadline.UTC().Format("15:04:05")
	}
	if at := x.Cursor.Ended; !at.Before(b.from) && !at.After(b.to) {
		v.Cursor, v.CursorAt, v.CursorText = b.x(at), b.percent(at), "#"+words.Digits(x.Cursor.Seq)
		if now.Sub(at) < b.to.Sub(b.from)/12 && x.Cursor == x.Newest {
			v.CursorText = "" // It would lie under the word now.
		}
		v.Ticks = b.clear(v.Ticks, at)
	}
	since := time.Time{}
	for i := len(points) - 1; i >= 0 && points[i].Held; i-- {
		if since = points[i].At; points[i].Wrote {
			break
		}
	}
	if !since.IsZero() {
		v.HeldFrom, v.HeldTo = b.x(since), b.x(now)
		from, _ := strconv.ParseFloat(v.HeldFrom, 64) // made by coord
		to, _ := strconv.ParseFloat(v.HeldTo, 64)
		v.HeldWidth = coord(max(0, to-from))
		if to-from > scopeWidth/12 {
			v.HeldAt = coord((from+to)/2/scopeWidth*100) + "%"
		}
	}
}

// lastBounded is the last point that has bounds, or the last of all, and since when there are none:
// an update has none once it has ended.
func lastBounded(points []timeline.Point) (last timeline.Point, ended time.Time) {
	for _, p := range slices.Backward(points) {
		if p.Ceiling > 0 {
			return p, ended
		}
		ended = p.At
	}
	return points[len(points)-1], ended
}

// told is the sizes beside the picture: the last, or those of the moment that the address names.
func told(x *subject.Subject, points func([]*telemetry.Trace) []timeline.Point, last timeline.Point) timeline.Point {
	if then := points([]*telemetry.Trace{x.Cursor}); !x.Moment.IsZero() && len(then) > 0 {
		return then[0]
	}
	return last
}

func legend(last timeline.Point, n facts.Numbers) []views.ScopeLegend {
	total := last.NewSize + last.Old
	return []views.ScopeLegend{
		{Class: "p-lim", Name: "total", Value: words.Digits(total), Note: boundNote(last, total, "≤", last.Ceiling)},
		{Class: "p-av", Name: "available", Value: words.Digits(last.Available), Note: boundNote(last, last.Available, "≥", last.Floor)},
		{Class: "p-new", Name: "new", Value: words.Digits(last.NewSize), Note: availableNote(last.NewSize, n.Or("newAvailable"))},
		{Class: "p-old", Name: "old", Value: words.Digits(last.Old), Note: availableNote(last.Old, n.OldAvailable())},
	}
}

// boundNote is the bound of a number, where there are any, kept or broken.
func boundNote(p timeline.Point, n int64, sign string, bound int64) string {
	if p.Ceiling <= 0 {
		return ""
	}
	is := decision.Headline{Sign: sign}
	sign, _ = is.Compare(decision.Count("", n).Value, decision.Count("", bound).Value)
	return sign + " " + words.Digits(bound)
}

func availableNote(size, available int64) string {
	if size == 0 {
		return ""
	}
	return words.Digits(available) + " available"
}
