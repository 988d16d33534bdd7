package list

import (
	"strconv"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// row is one Deployment of the list, as of that instant where it is not zero.
func (s *Pages) row(e *entry, key *telemetry.KeyState, asOf time.Time) views.Row {
	t := e.Trace
	o := words.Outcomes[e.place]
	n := facts.NumbersOf(t)
	r := views.Row{
		ID: e.id, Group: o.Group, Namespace: t.Namespace, Name: t.Name, Href: address.Of(t.Object),
		State: views.Mark{Tone: o.View, Word: o.Word}, Quiet: e.quiet(),
		Revision: n.Text("revision"), Why: words.Why(t, e.said), Asked: s.askedLine(t), LastAt: t.Ended, LastDid: words.Did(t),
		Queue: words.QueueText(key),
	}
	if !e.SinceTone.IsZero() {
		r.Since = views.Text{}.Since(e.SinceTone)
	}
	if !asOf.IsZero() {
		r.AsOf, r.Since, r.Why = &asOf, r.Since.Still(asOf), r.Why.Still(asOf)
	}
	if want, ok := n.Count("wanted"); ok {
		r.Available = strconv.FormatInt(n.Or("available"), 10) + " of " + strconv.FormatInt(want, 10)
		r.Meter = meterOf(n, o.View)
	}
	r.QueueNote = words.QueueNote(key)
	if !r.Quiet {
		known := asOf
		if known.IsZero() {
			known = s.Opts.Now()
		}
		r.Spark = s.sparkOf(e, sparkEnd(known))
	}
	return r
}

// quiet entries have one line: silence is the signal.
func (e *entry) quiet() bool { return words.Outcomes[e.place].Tone == decision.ToneOK }

// NumbersOf is the key numbers of a sync.

// Find returns the value of that name.

// Count returns the number of that name; false where there is none.

// Or returns the number of that name, 0 where there is none.

// Text returns the value of that name as text, "" where there is none.

// meterOf places the facts of a sync on a bar; without a ceiling there is none.
func meterOf(n facts.Numbers, tone views.Tone) *views.Meter {
	ceiling, ok := n.Count("ceiling")
	if !ok || ceiling <= 0 {
		return nil
	}
	m := &views.Meter{New: n.Or("newAvailable"), Old: n.Or("oldAvailable"), Ceiling: ceiling, Tone: tone}
	m.Not = max(0, n.Or("total")-m.New-m.Old)
	m.Floor = n.Or("floor")
	m.Ticked = m.Floor > 0 // Recreate has none.
	return m
}

// DecidingStep is the answer to that question; nil where a sync was asked none.

// askedLine is the deciding question with its answer, or its arithmetic.
func (s *Pages) askedLine(t *telemetry.Trace) string {
	step := facts.DecidingStep(t)
	if step == nil {
		return ""
	}
	text := step.Question
	if q, ok := s.Catalogue(t.Loop).Find(step.Question); ok {
		text += " " + prose.Lower(q.Text)
	}
	if step.Equation != nil {
		return text + " " + words.EquationShort(step.Equation)
	}
	return text + " " + step.Answer
}
