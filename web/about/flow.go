package about

import (
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/telemetry/prose"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/flow"
)

// countedFlow draws a loop with the counts of its list.
func (s *Pages) countedFlow(loop string, g decision.Graph, v views.Decisions) views.Flow {
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
		Name: "loop", Title: "The " + s.KindOf(loop) + " loop as a diagram",
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
