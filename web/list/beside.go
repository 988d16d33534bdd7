package list

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// shownBeside is how many objects are named of each loop.
const shownBeside = 3

// beside are the objects of one of a loop's owned loops that nothing owns, which the filter of
// the owner's list lets through.
type beside struct {
	loop    *decision.Loop
	which   string
	terms   []filter.Term
	entries []*entry
}

// beside are those of a list: nobody would look for them elsewhere. There may be none yet.
func (s *Pages) beside(l *decision.Loop, terms []filter.Term) (list []beside) {
	for _, name := range s.Loops.Owned(l.Name) {
		if of := s.Loops.Of(name); of.ListsUnowned() {
			list = append(list, beside{of, s.which(name), terms, matchingOf(s.rows(name).entries, terms)})
		}
	}
	return list
}

// follow has a page change with what stands beside its list.
func (s *Pages) follow(q *page.Query, p *page.Page, list []beside) {
	own := p.Touches
	p.Touches = func(t *telemetry.Trace) bool {
		return own(t) || t.Owner == "" && slices.ContainsFunc(list, func(b beside) bool { return b.loop.Name == t.Loop })
	}
	for _, b := range list {
		p.ChangesAt = page.Sooner(q.Now, p.ChangesAt, nextChange(q.Now, b.entries))
	}
}

// besideViews are those of which there are any.
func besideViews(list []beside) (all []views.Beside) {
	for _, b := range list {
		if len(b.entries) > 0 {
			all = append(all, b.view())
		}
	}
	return all
}

// view says how they are, and names those that need somebody.
func (b *beside) view() views.Beside {
	kind := b.loop.One()
	if len(b.terms) > 0 {
		kind = "matching " + kind
	}
	said, rest := standing(kind, b.which, b.entries)
	counts := count(b.entries)
	v := views.Beside{Loop: b.loop.Name, Failed: counts[0], Waiting: counts[1], Tone: words.Outcomes[b.entries[0].place].View,
		Text: views.Text{}.Link(said, filter.Href(b.loop.Name, b.terms))}
	need := b.entries[:v.Failed+v.Waiting]
	for i, e := range need[:min(len(need), shownBeside)] {
		v.Text = v.Text.Plain([]string{": ", ", "}[min(i, 1)]).Link(e.key, address.Of(e.Trace.Object))
	}
	if more := len(need) - shownBeside; more > 0 {
		v.Text = v.Text.Plain(" and " + words.Digits(more) + " more")
	}
	v.Text = v.Text.Plain("." + others(rest))
	return v
}
