package about

import (
	"net/http"
	"strings"

	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/answer"
	"github.com/loopscope/loopscope/web/page"
	"github.com/loopscope/loopscope/web/words"
)

// Decisions is the whole algorithm of a loop as its catalogue declares it, with
// how often each answer was given: drawn, and as a list. An answer leads to the
// syncs that gave it.
func (s *Pages) Decisions(q *page.Query) (*page.Page, error) {
	loop, first := q.Loop, s.First().Name
	if loop == "" {
		loop = first
	}
	if !s.Loops.Has(loop) {
		return nil, answer.NewProblem(http.StatusNotFound, "unknown-loop", "There is no loop "+prose.Clip(loop, 60)+".",
			views.Say("Valid values: ").Code(strings.Join(s.Loops.Names(), ", ")).Plain(".")).Link("Decisions of the "+s.KindOf(first)+" loop", "/decisions/"+first)
	}
	c := s.Catalogue(loop)
	v := views.Decisions{Headline: "The " + s.KindOf(loop) + " loop asks " + prose.Count(len(c.Questions), "question") + ".", Then: s.tallied(loop)}
	for _, other := range s.Loops.Names() {
		v.Loops = append(v.Loops, views.LoopTab{Link: views.Link{Text: s.KindOf(other), Href: "/decisions/" + other}, Current: other == loop})
	}
	graph := c.Graph()
	v.Branches = s.branches(c, graph)
	v.Flow = s.countedFlow(loop, graph, v)
	p := &page.Page{Status: http.StatusOK, Frame: s.Frame(q, "Decisions of the "+s.KindOf(loop)+" loop"), Body: views.DecisionsBody(v), Data: v}
	p.Frame.Tab, p.Frame.Twin, p.Frame.Keys = "decisions", q.TwinHref(), page.DecisionsKeys
	p.Frame.Crumbs = []views.Link{{Text: "Decisions", Href: "/decisions/" + first}, {Text: s.KindOf(loop)}}
	p.GoLive(q, liveDecisions(v)...)
	p.Touches = func(*telemetry.Trace) bool { return false } // Counts change with every sync: they are looked at every few seconds.
	return p, nil
}

// branches are the questions in their order, those of a branch together.
func (s *Pages) branches(c decision.Catalogue, g decision.Graph) (list []views.Branch) {
	for _, q := range c.Questions {
		n := len(list)
		if n == 0 || list[n-1].Name != q.Branch {
			list = append(list, views.Branch{Part: "f-asks-" + words.Digits(n), Name: q.Branch, Note: "asked only on this branch"})
			n++
		}
		list[n-1].Questions = append(list[n-1].Questions, s.questionView(c.Loop, g, q))
	}
	return list
}

// liveDecisions are the parts that show counts.
func liveDecisions(v views.Decisions) []page.Part {
	parts := []page.Part{{ID: "f-then", View: views.TalliedPart(v)}, {ID: "f-flow", View: views.FlowPart(v.Flow)}}
	for _, b := range v.Branches {
		parts = append(parts, page.Part{ID: b.Part, View: views.BranchPart(b)})
	}
	return parts
}

// tallied says what the counts are of.
func (s *Pages) tallied(loop string) views.Text {
	text := views.Say("Counted in " + prose.Count(s.Opts.Tally.Syncs(loop), "sync") + s.ofAll(loop) + " since ").Clock(s.Window().Since).Plain(" UTC")
	if n := s.Opts.Tally.Missed(); n > 0 {
		text = text.Plain("; " + prose.Count(n, "sync") + " of all loops went by uncounted")
	}
	return text.Plain(". A number leads to the kept syncs" + s.Seen(loop) + ".")
}

// ofAll qualifies what is counted of more objects than the reader may see.
func (s *Pages) ofAll(loop string) string {
	if s.Hides(loop) {
		return " of all objects"
	}
	return ""
}

func (s *Pages) questionView(loop string, g decision.Graph, q decision.Question) views.Question {
	v := views.Question{ID: q.ID, Text: q.Text, Rule: address.Rule(q.Tag), Doc: q.Doc, Upstream: q.Upstream, Asked: s.Opts.Tally.Asked(loop, q.ID)}
	for _, a := range q.Answers {
		w := views.Way{Answer: a.Is, Then: a.Then, Passes: a.Passes, Count: s.Opts.Tally.Count(loop, q.ID, a.Is)}
		if a.Is == decision.Any {
			w.Answer, w.Count = "a number or name", v.Asked
			for _, named := range q.Answers {
				if named.Is != decision.Any {
					w.Count -= min(w.Count, s.Opts.Tally.Count(loop, q.ID, named.Is))
				}
			}
		}
		for i, kind := range a.Writes {
			if i > 0 {
				w.Writes += ", "
			}
			w.Writes += string(kind)
		}
		if v.Asked > 0 {
			w.Share = 100 * float64(w.Count) / float64(v.Asked)
		}
		w.Next = ledTo(g, q.ID, a.Is)
		w.To = strings.NewReplacer(decision.ToReport, "the report", decision.ToEnd, "the end").Replace(strings.Join(w.Next, ", "))
		w.Href = address.Asked(loop, q.ID, a.Is)
		v.Answers = append(v.Answers, w)
	}
	return v
}

// ledTo are the places that an answer may lead to, the usual one first.
func ledTo(g decision.Graph, id, is string) (next []string) {
	for _, w := range g.From(id) {
		if w.Answer.Is == is {
			next = append(next, w.To)
		}
	}
	return next
}
