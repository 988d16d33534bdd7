package web

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/flow"
	"github.com/loopscope/loopscope/web/words"
)

// countedFlow draws a loop with the counts of its list.
func (s *Server) countedFlow(loop string, g decision.Graph, v views.Decisions) views.Flow {
	questions, answers := map[string]views.Question{}, map[[2]string]views.Way{}
	for _, b := range v.Branches {
		for _, q := range b.Questions {
			questions[q.ID] = q
			for _, w := range q.Answers {
				answers[[2]string{q.ID, w.Href}] = w
			}
		}
	}
	return flow.Draw(g, flow.Notes{
		Name: "loop", Title: "The " + s.src.KindOf(loop) + " loop as a diagram",
		Desc: prose.Count(len(questions), "question") + " from top to bottom, branches to the right of them. The list below it has the same questions, answers, numbers and links.",
		Question: func(q decision.Question) flow.Note {
			n := questions[q.ID].Asked
			return flow.Note{Text: prose.Thousands(n), Href: address.Asked(loop, q.ID, decision.Any), Never: n == 0}
		},
		Answer: func(q decision.Question, a decision.Answer) flow.Note {
			w := answers[[2]string{q.ID, address.Asked(loop, q.ID, a.Is)}]
			return flow.Note{Text: prose.Thousands(w.Count), Href: w.Href, Never: w.Count == 0}
		},
	})
}

// wayOf draws the loop of a sync with the way that it went. One that decided
// nothing has none.
func (s *Server) wayOf(t *telemetry.Trace) views.Flow {
	hops := decision.Hops(t.Rounds, t.Report)
	g := s.src.Catalogue(t.Loop).Graph()
	if len(hops) == 0 || len(g.Edges) == 0 {
		return views.Flow{}
	}
	return flow.Draw(g, flow.Notes{
		Name: "way", Title: "The path of sync " + words.Digits(t.Seq) + " through the " + s.src.KindOf(t.Loop) + " loop",
		Desc: "The questions that it was asked, and the answers, stand under Path and Report above.", Hops: hops,
		Question: func(q decision.Question) flow.Note { return flow.Note{Href: s.src.QuestionHref(t.Loop, q.ID)} },
		Answer: func(q decision.Question, a decision.Answer) flow.Note {
			return flow.Note{Href: address.Asked(t.Loop, q.ID, a.Is)}
		},
	})
}
