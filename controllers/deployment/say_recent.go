package deployment

import (
	"slices"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// withRecentChange adds what others lately did to a settled Deployment, which has its
// new ReplicaSet.
func (p *teller) withRecentChange(lead decision.Words) decision.Words {
	n := p.s.Recent
	if n == nil || !p.stillApplies(n) {
		return lead
	}
	until := n.Until(p.unchangedSince())
	if !p.now.Before(until) {
		return lead
	}
	p.out.NoteChange(until, p.now)
	return p.fit(append(lead.Say("; "), recentChangeWords(n)...))
}

// stillApplies reports whether the clause still describes what is there now.
func (p *teller) stillApplies(n *decision.RecentChange) bool {
	switch n.Kind {
	case decision.ScaledBack:
		return slices.ContainsFunc(p.children, func(rs *ReplicaSet) bool { return rs.Name == n.Object && rs.Replicas == n.To })
	case decision.WentBack:
		return p.newSet.Name == n.Object
	default:
		return n.Kind == decision.Adopted
	}
}

func recentChangeWords(n *decision.RecentChange) decision.Words {
	switch n.Kind {
	case decision.ScaledBack:
		return by(n, "somebody").Say(" scaled ReplicaSet ").Name(n.Object).Say(" to ").Count(decision.FactRecentFrom, n.From).
			Say(", and it was scaled back to ").Count(decision.FactRecentTo, n.To)
	case decision.WentBack:
		w := words("it was rolled back")
		if n.By != "" {
			w = by(n, "").Say(" rolled it back")
		}
		return w.Say(" from revision ").Count(decision.FactRecentFrom, n.From).Say(" to the template of revision ").
			Count(decision.FactRecentTo, n.To).Say(", now revision ").Count(decision.FactRecentBecame, n.Became)
	default:
		w := words("it adopted ReplicaSet ").Name(n.Object)
		if more := n.Others(); more > 0 {
			return w.Say(" and ").Count(decision.FactRecentOthers, more).Say(" more that matched its selector")
		}
		return w.Say(", which matched its selector")
	}
}

// by is who did it. A manager may call itself what it likes, at any length.
func by(n *decision.RecentChange, nobody string) decision.Words {
	if n.By == "" {
		return words(nobody)
	}
	return decision.Words{}.Quote(n.By)
}
