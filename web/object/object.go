package object

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/controllers/deployment"
	"github.com/loopscope/loopscope/controllers/diagnosis"
	"github.com/loopscope/loopscope/controllers/replicaset"
	"github.com/loopscope/loopscope/controllers/rollingupdate"
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/subject"
	"github.com/loopscope/loopscope/web/words"
)

// objectView is what the pages of both kinds share.
func (s *Pages) objectView(q *page.Query, x *subject.Subject) views.Object {
	coming := s.coming(x, q.Now)
	v := views.Object{Kind: s.KindOf(x.Object.Loop), Namespace: x.Object.Namespace, Name: x.Object.Name,
		Head: s.head(q, x, coming), Held: s.Held(x.Told()), Sync: s.Of(x.Cursor), Step: s.stepper(x)}
	next := looksNow(x, q.Now)
	if !coming.None() {
		next = slices.DeleteFunc(next, func(l views.Look) bool { return !l.At.After(q.Now) })
	}
	switch {
	case !x.Moment.IsZero():
		views.StillHeld(v.Held, x.Moment)
	case x.Unseen():
		s.unseen(&v, x.Newest)
	default:
		v.Head.Last, v.Head.Numbers = s.LastLine(x.Newest, next, coming), nextLook(v.Head.Numbers, next)
		found := s.Diagnosis(x.Newest, q.Now).Findings
		v.FindingsHeading, v.Findings, v.Evidence = diagnosis.Heading(found), findingViews(found), s.evidenceOf(q, x.Newest, found)
		s.Outage().FreezeFindings(v.Held, v.Findings, x.Newest)
	}
	switch {
	case x.Unseen() || x.Earlier():
		v.Sync.Next, v.Sync.NextNote = nil, words.TimersEnded
	case x.Cursor == x.Newest:
		if v.Sync.Next = next; !coming.None() {
			v.Sync.NextNote = words.TimersComing
		}
	}
	v.CauseChain = s.CausesOf(x.Cursor)
	s.syncRows(&v, q, x)
	return v
}

// unseen has what was known at the end of the last sync, and nothing that moves on.
func (s *Pages) unseen(v *views.Object, t *telemetry.Trace) {
	v.Head.Last, v.Head.Numbers = s.LastKnownLine(t), nextLook(v.Head.Numbers, nil)
	v.FindingsHeading, v.Findings = diagnosis.Heading(t.Diagnosis.Findings), findingViews(t.Diagnosis.Findings)
	views.StillNumbers(v.Head.Numbers, t.Ended)
	views.StillHeld(v.Held, t.Ended)
	views.StillFindings(v.Findings, t.Ended)
}

// nextLook sets the number of that name to the soonest timer that runs and may find something.
func nextLook(numbers []views.Number, next []views.Look) []views.Number {
	const label = "next sync"
	numbers = slices.DeleteFunc(numbers, func(n views.Number) bool { return n.Label == label })
	if due := slices.IndexFunc(next, func(l views.Look) bool { return !l.Leftover }); due >= 0 {
		numbers = append(numbers, views.Number{Label: label, Value: views.Text{}.Until(next[due].At)})
	}
	return numbers
}

// stepper is where the cursor stands among the kept syncs.
func (s *Pages) stepper(x *subject.Subject) views.Stepper {
	t := x.Cursor
	v := views.Stepper{Seq: t.Seq, At: t.Started, Pinned: x.Pinned, Result: words.SyncMark(t), Took: views.Took(t.Took()), Permalink: address.Sync(t), Earlier: x.Earlier()}
	older, newer := around(x)
	if n := len(older); n > 0 {
		v.Prev, v.First = x.StepTo(older[n-1]), x.StepTo(older[0])
	}
	if folded := s.Journal.Folded(x.Object); folded > 0 {
		v.Gap = prose.Count(folded, "uneventful sync") + prose.Plural(folded, " is", " are") + " only counted"
	}
	if v.Newer = len(newer); v.Newer > 0 {
		v.Next = x.StepTo(newer[0])
		v.Last = &views.Link{Text: "newest", Href: x.Href(x.Window, false)}
		if v.Newer == 1 {
			v.Next.Href = v.Last.Href
		}
		v.Said = t.Sentence.At(t.Ended)
	}
	return v
}

// around are the known syncs before the one under the cursor, and those after it.
func around(x *subject.Subject) (older, newer []*telemetry.Trace) {
	known := x.Known()
	switch at := slices.IndexFunc(known, func(t *telemetry.Trace) bool { return t.Seq >= x.Cursor.Seq }); {
	case x.Earlier():
		return nil, known
	case at < 0:
		return known, nil
	case known[at].Seq > x.Cursor.Seq: // The one under the cursor is from the history.
		return known[:at], known[at:]
	default:
		return known[:at], known[at+1:]
	}
}

// whyShort is the first cause of a sync in a few words, and how many more.
func whyShort(t *telemetry.Trace) string {
	c, ok := facts.WokeBy(t)
	if !ok {
		return "not recorded"
	}
	text := words.CauseFor(c)
	if c.Object != "" {
		kind, name, _ := strings.Cut(c.Object, " ")
		if name != t.Name {
			kind += " " + words.Own(kind, name)
		}
		text = words.Cause(c.Kind) + " " + kind
	}
	if len(c.Fields) > 0 {
		text += ", " + words.Change(c.Fields[0])
	}
	if more := len(t.Causes) + t.Folded - 1; more > 0 {
		text += " and " + words.Digits(more) + " more"
	}
	return prose.Clip(text, 160)
}

// conditionLines are the conditions of a status.
func conditionLines(list []decision.Condition) []views.Line {
	lines := make([]views.Line, 0, len(list))
	for _, c := range list {
		text := views.Say(c.Status)
		if c.Reason != "" {
			text = text.Plain(", ").Code(c.Reason)
		}
		if !c.Updated.IsZero() {
			text = text.Plain(", ").Clock(c.Updated)
		} else if !c.Transition.IsZero() {
			text = text.Plain(", ").Clock(c.Transition)
		}
		if c.Message != "" {
			text = text.Plain(" ").Faint(prose.Clip(c.Message, 240))
		}
		lines = append(lines, views.Line{Label: c.Type, Text: text})
	}
	return lines
}

// Page is the page of an object: that of its loop's own snapshots, where there is
// one, and otherwise what all have.
func (s *Pages) Page(q *page.Query) (*page.Page, error) {
	p, err := s.pageOf(q)
	if e, ok := subject.FirstSync(err); ok && !q.Twin {
		return s.firstSync(q, e), nil
	}
	return p, err
}

func (s *Pages) pageOf(q *page.Query) (*page.Page, error) {
	var empty decision.Snapshot
	if l := s.Loops.Of(q.Object.Loop); l.New != nil {
		empty = l.New()
	}
	switch empty.(type) {
	case *deployment.Snapshot:
		return s.deployment(q)
	case *replicaset.Snapshot:
		return s.replicaSet(q)
	case *rollingupdate.Snapshot:
		return s.update(q)
	default:
		return s.plain(q)
	}
}
