package list

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/filter"
)

// empty says why the list is empty, and what would fill it.
func (s *Pages) empty(l *decision.Loop, all []*entry, terms []filter.Term) *views.Problem {
	if len(all) == 0 {
		return s.none(l)
	}
	p := &views.Problem{Code: "no-match", Heading: "Nothing matches " + filter.Join(terms) + "."}
	for i, t := range terms {
		n := 0
		rest := filter.Without(terms, i)
		for _, e := range all {
			if e.matches(rest) {
				n++
			}
		}
		if n > 0 {
			p.Links = append(p.Links, views.Link{Text: "drop " + filter.Chip(t) + ", " + prose.Thousands(n) + " left", Href: filter.Href(l.Name, rest)})
		}
	}
	p.Lines = []views.Text{views.Say(prose.Count(len(all), l.One()) + s.Seen(l.Name) + prose.Plural(len(all), " is", " are") + " here without a filter.")}
	if why := s.QueuesUnknown(); why != "" && slices.ContainsFunc(terms, filter.Term.OfQueue) {
		p.Lines = append(p.Lines, views.Say(why))
	}
	p.Links = append(p.Links, views.Link{Text: "show all", Href: decision.PathOf(l.Name)})
	return p
}

// noMore says that the rows of a page have gone to earlier places, and where the others are.
func noMore(l *decision.Loop, terms []filter.Term) *views.Problem {
	return &views.Problem{Code: "no-more", Heading: "No " + l.One() + " comes after this place in the list any more.",
		Links: []views.Link{{Text: "the first page", Href: filter.Href(l.Name, terms)}}}
}

// none says why there is nothing to list, whatever the filter.
func (s *Pages) none(l *decision.Loop) *views.Problem {
	if idle := s.Idle(l.Name); idle != nil {
		return idle
	}
	if s.Hides(l.Name) {
		return &views.Problem{Code: "none-seen", Heading: "There is no " + l.One() + " that you may see.", Lines: []views.Text{s.Rights(l.Name)}}
	}
	return &views.Problem{Code: "first-run", Heading: "Change something, and watch the loop decide.",
		Lines: []views.Text{views.Say("No " + l.One() + " has been synced since ").Clock(s.Window().Since).Plain(" UTC. The first one appears here within a second.")},
		Try:   l.FirstSteps}
}
