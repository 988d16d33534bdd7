package syncs

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/telemetry/decision"
	"github.com/loopscope/loopscope/views"
	"github.com/loopscope/loopscope/web/address"
	"github.com/loopscope/loopscope/web/flow"
	"github.com/loopscope/loopscope/web/words"
)

// Way draws the loop of a sync with the way that it went. One that decided
// nothing has none.
func (s *Teller) Way(t *telemetry.Trace) views.Flow {
	hops := decision.Hops(t.Rounds, t.Report)
	g := s.Catalogue(t.Loop).Graph()
	if len(hops) == 0 || len(g.Edges) == 0 {
		return views.Flow{}
	}
	return flow.Draw(g, flow.Notes{
		Name: "way", Title: "The path of sync " + words.Digits(t.Seq) + " through the " + s.KindOf(t.Loop) + " loop",
		Desc: "The questions that it was asked, and the answers, stand under Path and Report above.", Hops: hops,
		Question: func(q decision.Question) flow.Note { return flow.Note{Href: s.QuestionHref(t.Loop, q.ID)} },
		Answer: func(q decision.Question, a decision.Answer) flow.Note {
			return flow.Note{Href: address.Asked(t.Loop, q.ID, a.Is)}
		},
	})
}
