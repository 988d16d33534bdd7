package list

import (
	"slices"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/filter"
	"github.com/loopscope/loopscope/web/words"
)

// empty says why the list is empty, and what would fill it.
func (s *Pages) empty(l *decision.Loop, all []*entry, terms []filter.Term) *views.Problem {
	if len(all) == 0 {
		return s.none(l, terms)
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
	p.Lines = []views.Text{views.Say(prose.Count(len(all), l.One()) + s.which(l.Name) + prose.Plural(len(all), " is", " are") + " here without a filter.")}
	if why := s.QueuesUnknown(); why != "" && slices.ContainsFunc(terms, filter.Term.OfQueue) {
		p.Lines = append(p.Lines, views.Say(why))
	}
	if first := s.firstSyncs(l, terms); len(first) > 0 {
		p.Lines = append(p.Lines, first)
	}
	p.Links = append(p.Links, views.Link{Text: "show all", Href: decision.PathOf(l.Name)})
	return p
}

// noMore says that the rows of a page have gone to earlier places, and where the others are.
func (s *Pages) noMore(l *decision.Loop, terms []filter.Term) *views.Problem {
	return &views.Problem{Code: "no-more", Heading: "No " + l.One() + s.Loops.Unowned(l.Name) + " comes after this place in the list any more.",
		Links: []views.Link{{Text: "the first page", Href: filter.Href(l.Name, terms)}}}
}

// firstSyncs names what is not listed before its first sync ends, as far as the terms let it through.
// Which of a loop whose owned objects are not listed will have no owner, nobody knows.
func (s *Pages) firstSyncs(l *decision.Loop, terms []filter.Term) views.Text {
	if l.ListsUnowned() {
		return nil
	}
	var list []telemetry.Object
	for key, k := range s.KeysLately(l.Name) {
		o := telemetry.Object{Loop: l.Name}
		o.Namespace, o.Name = telemetry.SplitKey(key)
		if words.ComingOf(k, nil).None() || !filter.Holds(terms, filter.Values{Namespace: o.Namespace, Name: o.Name, Is: []string{words.Queue(k)}}) {
			continue
		}
		if _, listed := s.Journal.Board().Row(o); !listed {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return nil
	}
	first := slices.MinFunc(list, func(a, b telemetry.Object) int { return strings.Compare(a.Key(), b.Key()) })
	more := len(list) - 1
	text := views.Say(prose.Plural(len(list), "The first sync of ", "The first syncs of ")).Link(first.Key(), address.Of(first))
	if more == 0 {
		return text.Plain(" has not ended yet: it is listed then.")
	}
	return text.Plain(" and " + prose.Thousands(more) + " more " + prose.Plural(more, l.One(), l.Many()) + " have not ended yet: they are listed then.")
}

// none says why there is nothing to list.
func (s *Pages) none(l *decision.Loop, terms []filter.Term) *views.Problem {
	if idle := s.Idle(l.Name); idle != nil {
		return idle
	}
	if s.Hides(l.Name) {
		return &views.Problem{Code: "none-seen", Heading: "There is no " + l.One() + s.which(l.Name) + ".", Lines: []views.Text{s.Rights(l.Name)}}
	}
	if l.ListsUnowned() {
		owners := s.Loops.Of(l.Owner)
		return &views.Problem{Code: "all-owned", Heading: "The page of a " + owners.One() + " shows its " + l.Many() + ".",
			Lines: []views.Text{views.Say("One that no " + owners.One() + " controls appears here.")}, Links: []views.Link{s.ListLink(owners)}}
	}
	if first := s.firstSyncs(l, terms); len(first) > 0 {
		return &views.Problem{Code: "first-sync", Heading: "No " + l.One() + " is listed yet.", Lines: []views.Text{first}}
	}
	return &views.Problem{Code: "first-run", Heading: "Change something, and watch the loop decide.",
		Lines: []views.Text{views.Say("No " + l.One() + " has been synced since ").Clock(s.Window().Since).Plain(" UTC. The first one appears here within a second.")},
		Try:   l.FirstSteps}
}
