package list

import (
	"strconv"
	"strings"
	"time"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/words"
)

// row is one object of the list, as of that instant where it is not zero.
func (s *Pages) row(e *entry, key *telemetry.KeyState, asOf time.Time) views.Row {
	t := e.Trace
	l, o := s.Loops.Of(t.Loop), words.Outcomes[e.place]
	n := facts.NumbersOf(t)
	r := views.Row{
		ID: e.id, Group: o.Group, Namespace: t.Namespace, Name: t.Name, Href: address.Of(t.Object),
		State: views.Mark{Tone: o.View, Word: o.Word}, Quiet: e.quiet(),
		Revision: n.Text("revision"), Why: e.why(), Asked: s.askedLine(t), LastAt: t.Ended, LastDid: words.Did(t),
		Queue: words.QueueText(key), Pods: l.CountsPods(),
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
	if !r.Pods {
		r.Numbers = headlines(l, n)
	}
	r.QueueNote = words.QueueNote(key)
	if r.Pods && !r.Quiet {
		known := asOf
		if known.IsZero() {
			known = s.Opts.Now()
		}
		r.Spark = s.sparkOf(e, sparkEnd(known))
	}
	return r
}

// why is what the sentence tells; where somebody chose it, with what was chosen: "on hold" stands for
// paused, scaled to zero, being deleted and more.
func (e *entry) why() views.Text {
	said := words.Why(e.Trace, e.said)
	if e.said.Tone != decision.ToneNeutral || e.said.State == "" || len(e.said.Lead) == 0 {
		return said
	}
	return views.Say(prose.Upper(e.said.State) + ": ").Join(words.Stop(words.Text(e.said.Lead, false)))
}

// shownHeadlines is how many headlines a row has room for.
const shownHeadlines = 3

// headlines are the first of a loop's in a few words: "jobs 2 ≤ 3".
func headlines(l *decision.Loop, n facts.Numbers) string {
	var list []string
	for _, h := range l.Headlines {
		value, found := n.Find(h.Fact)
		if !found || len(list) == shownHeadlines {
			continue
		}
		text := h.Label + " " + value.String()
		if bound, found := n.Find(h.Bound); found {
			sign, _ := h.Compare(value, bound)
			text += " " + sign + " " + bound.String()
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// quiet entries have one line: silence is the signal.
func (e *entry) quiet() bool { return words.Outcomes[e.place].Tone == decision.ToneOK }

// meterOf places the facts of a sync on a bar; without pods there is none.
func meterOf(n facts.Numbers, tone views.Tone) *views.Meter {
	available, pods := n.Or("available"), max(n.Or("total"), n.Or("pods"))
	ceiling, ok := n.Count("ceiling")
	if !ok {
		ceiling = max(n.Or("wanted"), pods) // Of what has no ceiling, its own size.
	}
	if ceiling <= 0 {
		return nil
	}
	m := &views.Meter{New: available, Ceiling: ceiling, Tone: tone}
	if fresh, ok := n.Count("newAvailable"); ok {
		m.New, m.Old = fresh, n.OldAvailable()
	} else {
		m.Alike = true
	}
	m.Not = max(0, pods-m.New-m.Old)
	m.Ceiling = max(m.Ceiling, m.New+m.Old+m.Not) // Somebody may have made more than are allowed.
	m.Floor = n.Or("floor")
	m.Ticked = m.Floor > 0 // Recreate has none.
	return m
}

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
