package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/controllers/decision"
)

// withNews adds to what is said of a Deployment at rest what others did to it lately.
func (p *speaker) withNews(lead decision.Words) decision.Words {
	n := p.s.News
	if n == nil || !p.stands(n) {
		return lead
	}
	until := n.Until(p.unchangedSince())
	if !p.now.Before(until) {
		return lead
	}
	p.turns(until)
	return p.fit(append(lead.Say("; "), newsWords(n)...))
}

// stands reports whether nothing has happened since that would make the clause a riddle.
func (p *speaker) stands(n *decision.News) bool {
	switch n.Kind {
	case decision.ScaledBack:
		return slices.ContainsFunc(p.children, func(rs *ReplicaSet) bool { return rs.Name == n.Object && rs.Replicas == n.To })
	case decision.WentBack:
		return p.fresh != nil && p.fresh.Name == n.Object
	default:
		return n.Kind == decision.Adopted
	}
}

func newsWords(n *decision.News) decision.Words {
	switch n.Kind {
	case decision.ScaledBack:
		return by(n, "somebody").Say(" had scaled ReplicaSet ").Name(n.Object).Say(" to ").Count(decision.FactNewsFrom, n.From).
			Say(", so it was scaled back to ").Count(decision.FactNewsTo, n.To)
	case decision.WentBack:
		w := words("it went back")
		if n.By != "" {
			w = by(n, "").Say(" took it back")
		}
		return w.Say(" from revision ").Count(decision.FactNewsFrom, n.From).Say(" to the template of revision ").
			Count(decision.FactNewsTo, n.To).Say(", which is revision ").Count(decision.FactNewsBecame, n.Became).Say(" now")
	default:
		w := words("it adopted ReplicaSet ").Name(n.Object)
		if more := n.Others(); more > 0 {
			return w.Say(" and ").Count(decision.FactNewsOthers, more).Say(" more that matched its selector")
		}
		return w.Say(", which matched its selector")
	}
}

// by is who did it. A manager may call itself what it likes, at any length.
func by(n *decision.News, nobody string) decision.Words {
	if n.By == "" {
		return words(nobody)
	}
	return decision.Words{}.Quote(n.By)
}
