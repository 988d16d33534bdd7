package web

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/facts"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// objectView is what the pages of both kinds share.
func (s *Server) objectView(q *page.Query, x *subject) views.Object {
	v := views.Object{Kind: s.src.KindOf(x.object.Loop), Namespace: x.object.Namespace, Name: x.object.Name,
		Head: s.head(q, x), Held: s.heldViews(x.told()), Sync: s.syncOf(x.cursor), Step: s.stepper(x)}
	next := looksNow(x, q.Now)
	if x.moment.IsZero() {
		v.Head.Last = s.lastLine(x.newest, next)
		v.Findings, v.Evidence = findingsOf(x.newest), s.evidenceOf(q, x.newest)
		s.src.Outage().FreezeFindings(v.Held, v.Findings)
	}
	if x.cursor == x.newest {
		v.Sync.Next = next
	}
	v.Head.Numbers = nextLook(v.Head.Numbers, next)
	v.CauseChain = s.causeChainOf(x.cursor)
	s.syncRows(&v, q, x)
	return v
}

// nextLook sets the number of that name to the soonest timer that runs.
func nextLook(numbers []views.Number, next []views.Look) []views.Number {
	const label = "next sync"
	numbers = slices.DeleteFunc(numbers, func(n views.Number) bool { return n.Label == label })
	if len(next) > 0 {
		numbers = append(numbers, views.Number{Label: label, Value: views.Text{}.Until(next[0].At)})
	}
	return numbers
}

// stepper is where the cursor stands among the kept syncs.
func (s *Server) stepper(x *subject) views.Stepper {
	t := x.cursor
	v := views.Stepper{Seq: t.Seq, At: t.Started, Pinned: x.pinned, Result: words.SyncMark(t), Took: views.Took(t.Took()), Permalink: address.Sync(t)}
	at := slices.IndexFunc(x.kept, func(k *telemetry.Trace) bool { return k.Seq >= t.Seq })
	if at < 0 {
		at = len(x.kept)
	}
	if at > 0 {
		v.Prev, v.First = x.stepTo(x.kept[at-1]), x.stepTo(x.kept[0])
	}
	if folded := s.src.Journal.Folded(x.object); folded > 0 {
		v.Gap = prose.Count(folded, "uneventful sync") + prose.Plural(folded, " is", " are") + " only counted"
	}
	if at+1 < len(x.kept) {
		v.Next, v.Newer = x.stepTo(x.kept[at+1]), len(x.kept)-at-1
		v.Last = &views.Link{Text: "newest", Href: x.href(x.window, false)}
		if v.Newer == 1 {
			v.Next.Href = v.Last.Href
		}
		v.Said = t.Sentence.At(t.Ended)
	}
	return v
}

func (x *subject) stepTo(t *telemetry.Trace) *views.Link {
	return &views.Link{Text: words.Digits(t.Seq), Href: x.hrefAt(x.window, t)}
}

// href is the page with another window, at the sync under the cursor where that
// is pinned and at the newest otherwise.
func (x *subject) href(window string, pinned bool) string {
	if pinned {
		return x.hrefAt(window, x.cursor)
	}
	if windowOf(window) == 0 {
		return address.Of(x.object)
	}
	return address.Of(x.object) + "?window=" + window
}

func (x *subject) hrefAt(window string, t *telemetry.Trace) string {
	href := address.Of(x.object) + "?epoch=" + t.Epoch + "&sync=" + words.Digits(t.Seq)
	if windowOf(window) != 0 {
		href += "&window=" + window
	}
	return href
}

// whyShort is the first cause of a sync in a few words, and how many more.
func whyShort(t *telemetry.Trace) string {
	c, ok := facts.WokeBy(t)
	if !ok {
		return "not recorded"
	}
	text := words.Cause(c.Kind)
	if c.Object != "" {
		kind, name, _ := strings.Cut(c.Object, " ")
		if name != t.Name {
			_, own := words.Split(name)
			kind += " " + own
		}
		text += " " + kind
	} else if c.Code != "" {
		text += ": " + words.Timer(c.Code)
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
